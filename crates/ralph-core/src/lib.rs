//! What a loop that runs a coding agent unattended needs to know and to do.
//!
//! Pure decisions sit in the middle: text and values in, values out, no disk and no processes.
//! Effects sit at the rim, one door for each dangerous act.
//!
//! | module | what it answers |
//! | --- | --- |
//! | [`git`] | how is a work tree saved, and returned to a saved state without losing anything? |
//! | [`guard`] | is this a command or an edit that an unattended agent must not make? |
//! | [`hook`] | what does the client send to a hook, and what does it obey? |
//! | [`plan`] | which story is next, and how is it ticked without touching another byte? |
//! | [`verdict`] | did this command run tests, and how did they end? |

pub mod git;
pub mod guard;
pub mod hook;
pub mod plan;
pub mod verdict;

pub use camino::{Utf8Path, Utf8PathBuf};
pub use ralph_base::state::StateDir;

/// The examples of `docs/embedding.md`, compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct Embedding;
