//! Processes that a test started, directly or not: found, signalled, waited for.

use std::process::Command;
use std::time::{Duration, Instant};

/// Long enough for a busy machine; reached only when something hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for a condition that another process brings about.
#[track_caller]
pub fn until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal by its name to one process.
pub fn signal(name: &str, pid: u32) {
    let pid = pid.to_string();
    Command::new("kill").args(["-s", name, &pid]).status().expect("kill runs");
}

/// Whether a process is there and not merely waiting to be noticed as ended.
pub fn is_alive(pid: &str) -> bool {
    let stat = fs_err::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// The processes that were started with this variable, `NAME=value`, and still live. Whatever a
/// process does to hide, its children inherit its environment.
pub fn started_with(variable: &str) -> Vec<u32> {
    let Ok(entries) = fs_err::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has_it = |pid: &u32| {
        let environment = fs_err::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|each| each == variable.as_bytes())
    };
    pids.filter(has_it).filter(|pid| is_alive(&pid.to_string())).collect()
}
