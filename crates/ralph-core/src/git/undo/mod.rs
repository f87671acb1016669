//! What people can bring back by `ralph-loop undo`, besides what a rollback discarded: drafts of a plan,
//! and work of theirs that a run could not put back or that an agent took out of the tree.

pub(super) mod bring_back;
pub(super) mod brought;
pub(super) mod draft;
pub(super) mod kept_files;
pub(super) mod safe_copy;
pub(super) mod taken_out;
pub(super) mod unreturned;
