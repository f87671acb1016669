//! The core of a loop that runs a coding agent unattended.
//!
//! The decision logic is pure: values in, values out, without access to disk or processes. Side
//! effects are confined to the outer layers, with one entry point for each dangerous operation.
//!
//! | module | question it answers |
//! | --- | --- |
//! | [`git`] | how is a work tree saved and restored without losing anything? |
//! | [`guard`] | is this a command or an edit that an unattended agent must not make? |
//! | [`hook`] | what does the client send to a hook, and which replies does it act on? |
//! | [`plan`] | which story is next, and how is it ticked without changing any other byte? |
//! | [`verdict`] | did this command run tests, and what was the result? |

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
