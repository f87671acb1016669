//! What touches disk, git and processes, tested with the real ones.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail loudly"
)]

mod gates;
mod git_restore;
mod git_restore_properties;
mod settle;
