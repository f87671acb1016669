//! An agent, check, script or git hook that outlived a loop that was killed: it would go on changing the tree
//! under our hands. It is known by the run's name in its environment.

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getppid};
use ralph_core::checks::RUN_MARK;

use std::time::{Duration, Instant};

/// How long they have to end by themselves.
const GRACE: Duration = Duration::from_secs(3);

/// How many processes of a run are still alive.
pub(crate) fn left_by(run: &str) -> usize {
    belonging_to(&marks(run)).len()
}

/// What the environment says of the agent and what it started, and of checks, scripts and git hooks.
fn marks(run: &str) -> [String; 2] {
    [format!("RALPH_RUN={run}"), format!("{RUN_MARK}={run}")]
}

/// Ends the processes of a run that is no more; returns how many there were.
pub(crate) fn end_leftovers(run: &str) -> usize {
    let wanted = marks(run);
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
