//! What a loop that runs a coding agent unattended needs to know and to do.
//!
//! Pure decisions sit in the middle: text and values in, values out, no disk and no processes.
//! Effects sit at the rim, one door for each dangerous act.
//!
//! | module | what it answers |
//! | --- | --- |
//! | [`plan`] | which story is next, and how is it ticked without touching another byte? |
//! | [`prompt`] | what is the agent told about its story? |
//! | [`settle`] | how does an attempt become a commit and a tick, or neither? |
//! | [`shell`] | which programs would this command line run? |
//! | [`verdict`] | did this command run tests, and how did they end? |

pub mod config;
pub mod env;
pub mod git;
pub mod hook;
pub mod plan;
pub mod project;
pub mod prompt;
pub mod settle;
pub mod shell;
pub mod state;
pub mod verdict;
