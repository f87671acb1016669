//! The hooks as the client runs them, with real processes, files and failures.
#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests fail loudly")]

mod agents;
mod client;
mod copy;
mod disk_trouble;
mod every_hint;
mod failure_policy;
mod keys;
mod killed;
mod links;
mod on_stop;
mod other_spelling;
mod own_sessions;
mod pipes;
mod post_tool;
mod pre_prompt;
mod pre_tool;
mod run;
