//! What touches disk, git and processes, tested with the real ones.
#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests start programs, touch files and fail loudly"
)]

mod docs;
mod gates;
mod git_nested;
mod git_restore;
mod git_restore_properties;
mod git_rollback;
mod git_undo;
mod guard;
mod shell;
mod shell_second_parser;
mod verdicts;
