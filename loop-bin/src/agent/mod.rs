//! The agent: started, watched, understood and ended, together with everything it started.

mod calls;
mod child;
mod command;
mod keeper;
mod options;
mod output;
mod processes;
mod readable;
mod stream;
mod usage_limit;

pub(crate) use child::{AgentRun, RunEnd, Session, Supervision, Turn};
pub(crate) use command::{flaw_in, is_found, program_of, script_of, with_files_of};
pub(crate) use keeper::keep;
pub(crate) use options::{ClientOptions, ResumedSession};
pub(crate) use output::{each_line_of_log, seen_in_log};
pub(crate) use processes::{Descendants, end_left_by, left_by};
pub(crate) use readable::Readable;
pub(crate) use stream::{Said, Seen};
