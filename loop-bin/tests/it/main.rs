//! The loop as a user sees it: real processes, real git, real signals, scripted agents.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests start programs and fail loudly"
)]

mod agents;
mod commands;
mod crashes;
mod dirty;
mod documents;
mod limits;
mod scripts;
mod signals;
mod stage;
