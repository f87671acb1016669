//! An agent, check or script that outlived a loop that was killed: it would go on changing the tree
//! under our hands. It is known by the run's name in its environment.

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getppid};
use ralph_core::checks::RUN_MARK;

use std::time::{Duration, Instant};

/// How long they have to end by themselves.
const GRACE: Duration = Duration::from_secs(3);

/// The agent of a run and what it started, as far as they live.
pub(crate) fn agent_left_by(run: &str) -> Vec<u32> {
    let found = belonging_to(&[agents_mark(run)]);
    let mut pids: Vec<u32> = found.iter().filter_map(|pid| pid.as_raw().try_into().ok()).collect();
    pids.sort_unstable();
    pids
}

/// What the environment of an agent says.
fn agents_mark(run: &str) -> String {
    format!("RALPH_RUN={run}")
}

/// Ends the processes of a run that is no more; returns how many there were.
pub(crate) fn end_leftovers(run: &str) -> usize {
    // The agent and what it started, then checks and lifecycle scripts.
    let wanted = [agents_mark(run), format!("{RUN_MARK}={run}")];
    let found = belonging_to(&wanted);
    for pid in &found {
        let _ = kill(*pid, Signal::SIGTERM);
    }
    let begun = Instant::now();
    while begun.elapsed() < GRACE && !belonging_to(&wanted).is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    for pid in belonging_to(&wanted) {
        let _ = kill(pid, Signal::SIGKILL);
    }
    found.len()
}

fn belonging_to(wanted: &[String]) -> Vec<Pid> {
    let Ok(entries) = fs_err::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .map(Pid::from_raw)
        // Whoever started us inside that run is not to be ended by us.
        .filter(|pid| *pid != Pid::this() && *pid != getppid())
        .filter(|pid| {
            let environment = fs_err::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|variable| wanted.iter().any(|wanted| variable == wanted.as_bytes()))
        })
        .collect()
}
