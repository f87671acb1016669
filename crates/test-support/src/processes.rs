//! Finds, signals and waits for processes that a test started, directly or not.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::linux;

/// Long enough for a busy machine; only reached if something hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for a condition that another process fulfils.
#[track_caller]
pub fn until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal, given by name, to one process.
pub fn signal(name: &str, pid: u32) {
    let pid = pid.to_string();
    Command::new("kill").args(["-s", name, &pid]).status().expect("kill runs");
}

/// Returns the living processes that were started with this variable, `NAME=value`. Whatever a
/// process does to hide, its children inherit its environment.
pub fn started_with(variable: &str) -> Vec<u32> {
    let has_it = |pid: &u32| linux::environment(*pid).iter().any(|each| each == variable);
    let pids = linux::pids().into_iter().filter(has_it);
    pids.filter(|pid| linux::is_alive(&pid.to_string())).collect()
}
