//! The hooks as the client runs them: real processes, real files, real trouble.
#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests fail loudly")]

mod client;
mod disk_trouble;
mod failure_policy;
mod killed;
mod post_tool;
mod pre_tool;
