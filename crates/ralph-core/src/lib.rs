//! What a loop that runs a coding agent unattended needs to know and to do.
//!
//! Pure decisions sit in the middle: text and values in, values out, no disk and no processes.
//! Effects sit at the rim, one door for each dangerous act.
//!
//! | module | what it answers |
//! | --- | --- |
//! | [`guard`] | is this command line one that an unattended agent must not run? |
//! | [`install`] | which hooks does this client need registered, and how does that leave the rest alone? |
//! | [`plan`] | which story is next, and how is it ticked without touching another byte? |
//! | [`shell`] | which programs would this command line run? |
//! | [`verdict`] | did this command run tests, and how did they end? |

pub mod attempt;
pub mod config;
pub mod env;
pub mod git;
pub mod guard;
pub mod hook;
pub mod install;
pub mod plan;
pub mod project;
pub mod shell;
pub mod state;
pub mod verdict;
