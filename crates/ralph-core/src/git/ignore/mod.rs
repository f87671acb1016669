//! What ignore rules say: those of a tree that is not checked out, those that no commit holds, and the
//! files that a change of rules would show or hide.

pub(super) mod hidden;
pub(super) mod own_rules;
pub(super) mod rules;
pub(super) mod uncovered;
