//! What a loop that runs a coding agent unattended needs to know and to do.
//!
//! Pure decisions sit in the middle: text and values in, values out, no disk and no processes.
//! Effects sit at the rim, one door for each dangerous act.
//!
//! | module | what it answers |
//! | --- | --- |
//! | [`gate`] | may the session stop, and if not, what is left to do? |
//! | [`leftovers`] | which added lines hold a marker, a placeholder or debugging? |
//! | [`plan`] | which story is next, and how is it ticked without touching another byte? |
//! | [`prompt`] | what is the agent told about its story? |
//! | [`secrets`] | how is a text kept without the keys in it? |
//! | [`settle`] | how does an attempt become a commit and a tick, or neither? |
//! | [`shell`] | which programs would this command line run? |
//! | [`transcript`] | what does the end of a session's transcript say? |
//! | [`verdict`] | did this command run tests, and how did they end? |

pub mod config;
pub mod env;
pub mod gate;
pub mod git;
pub mod hook;
pub mod leftovers;
pub mod plan;
pub mod project;
pub mod prompt;
pub mod secrets;
pub mod settle;
pub mod shell;
pub mod state;
pub mod transcript;
pub mod verdict;
