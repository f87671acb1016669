//! Scratch folders, real repositories and case walkers for the tests of this workspace.
//!
//! Nothing here stands in for the real thing: repositories are made by the real git and programs
//! are really started, with an environment of their own.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "test code starts programs and fails loudly"
)]

mod repo;
mod scratch;

pub use repo::{Fingerprint, TestRepo};
pub use scratch::{Scratch, fixtures};
