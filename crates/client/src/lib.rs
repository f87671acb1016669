//! Starts, supervises, interprets and ends the agent, together with everything that it started.

mod calls;
mod child;
mod command;
mod count;
pub mod linux;
mod options;
mod other;
mod output;
mod passed;
mod processes;
mod readable;
mod refusal;
pub mod signals;
mod stream;
mod translate;

pub use calls::Ran;
pub use child::{AgentRun, MEGABYTE, RunEnd, Session, Supervision, Turn};
pub use command::{
    flaw_in, folder_of_this_program, is_executable, is_found, path_of_agent, program_of, script_of,
    version_text, with_files_of,
};
pub use count::{SessionSoFar, Totals};
pub use options::{ClientOptions, Start};
pub use output::{Log, each_line_of_log, seen_in_log};
pub use processes::{end_processes_of, processes_of};
pub use readable::Readable;
pub use refusal::{Refusal, said};
pub use stream::{Said, Stream};
