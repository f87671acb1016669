//! Processes that leave their parents are ended with the step that began them, on every system.

use std::process::Command;
use std::time::{Duration, Instant};

use sandbox::Limits;
use test_support::{Scratch, is_alive, until};

/// Runs a script below a keeper, without a sandbox, until nothing of it is left; returns the ids that it
/// wrote.
fn kept(script: &str) -> Vec<String> {
    let scratch = Scratch::new();
    let door = sandbox::door(env!("CARGO_BIN_EXE_sandbox-door").as_ref(), None, Limits::default());
    let mut command: Command = door.command("sh");
    command.args(["-c", script]).current_dir(scratch.root());
    let begun = Instant::now();
    assert!(command.status().unwrap().success());
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    scratch.read("pids").lines().map(str::to_owned).collect()
}

#[test]
fn one_that_leaves_its_parent_and_its_session_at_once_is_ended() {
    let pids = kept(
        "setsid sh -c 'sleep 600 & echo $! >>pids'; setsid -f sh -c 'echo $$ >>pids; exec sleep 600'; sleep 0.3",
    );
    assert_eq!(pids.len(), 2);
    pids.iter().for_each(|pid| until("it is gone", || !is_alive(pid)));
}

#[test]
fn one_that_clears_its_environment_is_ended_if_it_was_seen_before() {
    let script = "(env -i sh -c 'echo $$ >>pids; sleep 2; setsid sh -c \"echo \\$\\$ >>pids; exec sleep 600\" & exec sleep 600') & sleep 4; kill $!";
    let pids = kept(script);
    assert_eq!(pids.len(), 2);
    pids.iter().for_each(|pid| until("it is gone", || !is_alive(pid)));
}
