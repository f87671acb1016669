//! Reads a shell command line: which programs would it run, with what, and how are they reached?

mod script;

pub use script::{Command, Fate, Reach, Redirect, RedirectKind, Script, Word};
