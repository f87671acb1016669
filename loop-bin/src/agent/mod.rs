//! The agent: started, watched, understood and ended, together with everything it started.

mod broken_result;
mod child;
mod client;
mod command;
mod kept_by_client;
mod leftovers;
mod options;
mod output;
mod processes;
mod stream;
mod usage_limit;

pub(crate) use child::{Run, RunEnd, Session, Supervision, Turn};
pub(crate) use client::Client;
pub(crate) use command::{AgentCommand, flaw_in, is_found, program_of};
pub(crate) use leftovers::{end_leftovers, left_by};
pub(crate) use options::ClientOptions;
pub(crate) use processes::{Descendants, adopt_orphans};
pub(crate) use stream::Seen;
