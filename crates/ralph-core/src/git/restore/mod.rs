//! How a saved state comes back: the order of steps that keeps work safe is `procedure.rs`, the rest
//! are the steps.

pub(super) mod changed;
pub(super) mod diff;
pub(super) mod head;
pub(super) mod note;
pub(super) mod procedure;
pub(super) mod worktree;
