//! The names of our own files in the git folder of a work tree.

/// A note in the git folder of a work tree: a restore has begun and is to be finished.
pub const RESTORE_NOTE: &str = "ralph/restoring";
