//! The names of our own files in the git folder of a work tree.

/// A note in the git folder of a work tree: a restore has begun and is to be finished.
pub const RESTORE_NOTE: &str = "ralph/restoring";

/// Held in the git folder of a work tree by the loop or the undo that works in it: several projects
/// may share one work tree.
pub const TREE_LOCK: &str = "ralph-lock";
