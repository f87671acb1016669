//! Finds, ends and freezes all descendants of a process.
//!
//! Programs start their own sessions, so signals to a process group do not reach them: the keeper
//! (`keeper.rs`) adopts orphans, and the rest are found in the system's list of processes.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ralph_base::linux::Process;

use crate::system;

/// How often we check whether they are gone.
const PULSE: Duration = Duration::from_millis(10);

/// How long a process may take to disappear after SIGKILL, or to stop after SIGSTOP, neither of
/// which it can refuse; it takes longer only if it hangs in the kernel.
const PATIENCE: Duration = Duration::from_secs(5);

/// The descendants of a process.
#[derive(Debug, Clone, Copy)]
pub struct Descendants {
    root: i32,
}

impl Descendants {
    /// Returns the descendants of this process.
    pub fn all() -> Self {
        Self { root: std::process::id().cast_signed() }
    }

    /// Returns the descendants of another process.
    pub fn of(pid: u32) -> Self {
        Self { root: pid.cast_signed() }
    }

    /// Returns those that are alive; empty if the system does not list processes.
    pub fn living(&self) -> Vec<Process> {
        let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
        let all = system::processes().unwrap_or_default();
        let left = system::left_by(self.root, &all);
        for process in all {
            let is_left = left.contains(&process.pid) && process.pid != self.root;
            let parent = if is_left { self.root } else { process.parent };
            children.entry(parent).or_default().push(process);
        }
        let mut found = children.remove(&self.root).unwrap_or_default();
        let mut next = 0;
        while let Some(process) = found.get(next) {
            let of_this = children.remove(&process.pid);
            found.extend(of_this.unwrap_or_default());
            next += 1;
        }
        found.retain(|process| !process.is_dead);
        system::remember(self.root, &found);
        found
    }

    /// Sends them a signal.
    pub fn send(&self, signal: Signal) {
        for process in self.living() {
            let _ = kill(Pid::from_raw(process.pid), signal);
        }
    }

    /// Asks them to terminate; stopped ones have to go on for that.
    pub fn ask_to_end(&self) {
        self.send(Signal::SIGTERM);
        self.send(Signal::SIGCONT);
    }

    /// Ends them with SIGTERM, then with SIGKILL after `grace` or as soon as `now` returns true.
    pub fn end(&self, grace: Duration, now: &dyn Fn() -> bool) {
        end(&|| self.living(), grace, now);
    }

    /// Kills them.
    pub fn kill(&self) {
        self.end(Duration::ZERO, &|| true);
    }

    /// Stops all of them; returns whether none can run any more. Processes that they start in the
    /// meantime are stopped too.
    pub fn freeze(&self) -> bool {
        let stop = |pid: i32| {
            let _ = kill(Pid::from_raw(pid), Signal::SIGSTOP);
        };
        freeze(&|| self.living(), &stop)
    }
}

/// Stops processes until two lists of them agree: one that is started while a list is read, by one
/// that is then found stopped, is only in the next list.
fn freeze(living: &dyn Fn() -> Vec<Process>, stop: &dyn Fn(i32)) -> bool {
    let (begun, mut asked, mut resting) = (Instant::now(), HashSet::new(), None);
    while begun.elapsed() < PATIENCE {
        let living = living();
        let all: HashSet<i32> = living.iter().map(|one| one.pid).collect();
        // One that waits in the kernel, perhaps for a stopped child, does not return from there.
        if living.iter().all(|one| asked.contains(&one.pid) && one.is_stopped) {
            if resting.replace(all.clone()) == Some(all) {
                return true;
            }
            continue;
        }
        resting = None;
        all.iter().for_each(|pid| stop(*pid));
        asked.extend(all);
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

/// Ends processes with SIGTERM, then with SIGKILL after `grace` or as soon as `now` returns true.
pub fn end(living: &dyn Fn() -> Vec<Process>, grace: Duration, now: &dyn Fn() -> bool) {
    let send = |signal: Signal| {
        for one in living() {
            let _ = kill(Pid::from_raw(one.pid), signal);
        }
    };
    if living().is_empty() {
        return;
    }
    let begun = Instant::now();
    if !now() {
        send(Signal::SIGTERM);
        send(Signal::SIGCONT);
    }
    while !living().is_empty() && begun.elapsed() < grace && !now() {
        std::thread::sleep(PULSE);
    }
    let begun = Instant::now();
    // Killed processes may have started others in the meantime.
    while !living().is_empty() && begun.elapsed() < PATIENCE {
        send(Signal::SIGKILL);
        std::thread::sleep(PULSE);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    /// A stopped process has started another one after the system began to list them.
    #[test]
    fn one_that_was_started_while_they_were_listed_is_stopped_too() {
        let (lists, stopped) = (Cell::new(0), RefCell::new(HashSet::new()));
        let one = |pid: i32| {
            let is_stopped = stopped.borrow().contains(&pid);
            Process { pid, parent: 1, started: 1, is_dead: false, is_stopped, has_terminal: false }
        };
        let living = || {
            lists.set(lists.get() + 1);
            if lists.get() < 3 { vec![one(2)] } else { vec![one(2), one(3)] }
        };
        let stop = |pid: i32| {
            stopped.borrow_mut().insert(pid);
        };
        assert!(freeze(&living, &stop));
        assert_eq!(stopped.borrow().len(), 2);
    }
}
