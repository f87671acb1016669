//! The loop as a user sees it: real processes, real git, real signals, scripted agents.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests start programs and fail loudly"
)]

mod access;
mod action;
mod agents;
mod before_the_first_story;
mod checks_do_more;
mod checks_without_settings;
mod client_files;
mod commands;
mod copy_has_what_it_needs;
mod costs;
mod crash_points;
mod doctor;
mod documents;
mod explain;
mod files_git_cannot_add;
mod finds_the_way;
mod fleet;
mod forge;
mod git_hooks;
mod goes_on_after_a_kill;
mod home_folder;
mod in_place;
mod install;
mod iterations;
mod kept_attempts;
mod limits;
mod links;
mod locks;
mod mcp;
mod neighbours;
mod nested;
mod nothing_is_paid_twice;
mod notify;
mod odd_starts;
mod one_bad_act_costs_one_attempt;
mod other_agents;
mod other_plans;
mod outputs;
mod passed_hooks;
mod picture;
mod plan_edits;
mod planning;
mod progress_words;
mod real_projects;
mod refused_at_the_start;
mod report;
mod same_ids;
mod sandbox;
mod says_done_only_when_checked;
mod scripts;
mod second_look;
mod sessions;
mod signals;
mod spec_tools;
mod stage;
mod status;
mod talk_to_a_run;
mod target;
mod tutorial;
mod undo;
mod unruly_agents;
mod unusual_projects;
mod user_work_survives;
mod verified;
mod view;
mod waiting_work;
mod workers;

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
