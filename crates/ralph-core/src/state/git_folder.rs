//! The names of our own files in the git folder of a work tree.

/// A note in the git folder of a work tree: a restore has begun and is to be finished.
pub const RESTORE_NOTE: &str = "ralph-restoring";

/// The ledger of saved states in the git folder of a work tree.
pub const SAVED_LEDGER: &str = "ralph-saved";

/// A copy of `.ralph/` in the git folder of a work tree, for as long as an agent is at work.
pub const REFUGE: &str = "ralph-kept";

/// A copy of the stash's list in the git folder of a work tree, for as long as an agent is at work.
pub const STASH_SEEN: &str = "ralph-stash";

/// Held in the git folder of a work tree by the loop or the undo that works in it: several projects
/// may share one work tree.
pub const TREE_LOCK: &str = "ralph-lock";

/// A note in the git folder of a work tree: where HEAD was while an agent was at work.
pub const HEAD_SEEN: &str = "ralph-head";

/// Where repositories are kept that were moved out of the tree, in the git folder.
pub const NESTED_DIR: &str = "ralph-nested";
