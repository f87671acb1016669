//! Tests with real files, git repositories and processes.
#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests start programs, touch files and fail loudly"
)]

mod child;
mod git_commit;
mod git_damaged;
mod git_full_disk;
mod git_ignored;
mod git_killed;
mod git_large;
mod git_names;
mod git_nested;
mod git_restore;
mod git_restore_properties;
mod git_rollback;
mod git_undo;
mod guard;
mod shell;
mod verdicts;
