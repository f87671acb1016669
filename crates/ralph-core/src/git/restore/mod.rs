//! How a saved state comes back: the order of steps that keeps work safe is `procedure.rs`, the rest
//! are the steps.

pub(super) mod as_they_were;
pub(super) mod changed;
pub(super) mod diff;
pub(super) mod moved;
pub(super) mod nested;
pub(super) mod note;
pub(super) mod on_disk;
pub(super) mod procedure;
pub(super) mod staged;
pub(super) mod worktree;
