//! The loop as a user sees it: real processes, real git, real signals, scripted agents.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests start programs and fail loudly"
)]

mod action;
mod agents;
mod before_the_first_story;
mod checks_do_more;
mod checks_without_settings;
mod client_files;
mod commands;
mod costs;
mod doctor;
mod documents;
mod finds_the_way;
mod forge;
mod github;
mod install;
mod iterations;
mod mcp;
mod notify;
mod other_agents;
mod other_plans;
mod picture;
mod probe;
mod receipts;
mod refused_at_the_start;
mod report;
mod sandbox;
mod says_done_only_when_checked;
mod script_templates;
mod sessions;
#[cfg(feature = "slow-tests")]
mod slow;
mod spec_tools;
mod stage;
mod status;
mod talk_to_a_run;
mod tutorial;
mod undo;
mod verified;

use std::process::Output;

use camino::Utf8Path;
use test_support::program;

const BINARY: &str = env!("CARGO_BIN_EXE_ralph-loop");

/// Runs `ralph-loop` in a folder; returns its exit code and what it printed.
fn ralph_loop(folder: &Utf8Path, args: &[&str]) -> (i32, String, String) {
    let output: Output = program(BINARY, folder).args(args).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}
