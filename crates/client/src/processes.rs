//! Finds and ends all descendants of a process.
//!
//! The agent's tools start their own sessions, so signals to a process group do not reach them: the
//! keeper (`keeper.rs`) adopts orphans, and the rest are found in the system's list of processes;
//! without such a list, only the group is signalled.

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getppid};
use ralph_base::linux::{self, Process};
use ralph_project::checks::{RUN_MARK, mark};
use ralph_project::install::HOOK_NAMES;

/// The name of this program.
const PROGRAM: &str = run_history::LOOP;

/// How often we check whether they are gone.
const PULSE: Duration = Duration::from_millis(10);

/// How long a process may take to disappear after SIGKILL, which it cannot refuse; it takes longer
/// only if it hangs in the kernel.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// How long processes that outlived another loop have to exit after SIGTERM.
const LEFTOVER_GRACE: Duration = Duration::from_secs(3);

/// The descendants of a process.
#[derive(Debug, Clone, Copy)]
pub struct Descendants {
    root: i32,
    /// Whether the root leads a process group that is ended with them.
    is_leader: bool,
}

impl Descendants {
    /// Returns the descendants of this process.
    pub fn all() -> Self {
        Self { root: here(), is_leader: false }
    }

    /// Returns the descendants of a keeper, which leads its own group.
    pub fn of_keeper(pid: u32) -> Self {
        Self { root: pid.cast_signed(), is_leader: true }
    }

    /// Ends them with SIGTERM, then with SIGKILL after `grace` or as soon as `now` returns true.
    pub fn end(&self, grace: Duration, now: &dyn Fn() -> bool) {
        let group = if self.is_leader { Some(Pid::from_raw(self.root)) } else { None };
        end(group, &|| self.living(), grace, now);
    }

    /// Returns whether one of our programs is at work among them: a hook, or `ralph-loop complete`.
    /// The MCP server lives as long as the agent, and counts only while it has a child process.
    pub fn include_ours(&self) -> bool {
        let all = descendants(self.root);
        let is_busy = |server: &Process| all.iter().any(|process| process.parent == server.pid);
        let is_ours = |process: &&Process| {
            let program = linux::program(process.pid);
            let name = program.as_deref().and_then(Path::file_name).and_then(OsStr::to_str);
            name.is_some_and(|name| name == PROGRAM || HOOK_NAMES.contains(&name))
        };
        all.iter().filter(is_ours).any(|process| !is_server(process.pid) || is_busy(process))
    }

    /// Returns those that are alive.
    fn living(&self) -> Vec<Pid> {
        let living = descendants(self.root).into_iter().filter(|process| !process.is_dead);
        living.map(|process| Pid::from_raw(process.pid)).collect()
    }
}

/// Whether one of our processes is the MCP server.
fn is_server(pid: i32) -> bool {
    linux::arguments(pid).get(1).is_some_and(|first| first == b"mcp")
}

fn here() -> i32 {
    Pid::this().as_raw()
}

fn end(group: Option<Pid>, living: &dyn Fn() -> Vec<Pid>, grace: Duration, now: &dyn Fn() -> bool) {
    let send = |signal: Signal| {
        // The group first: it is reached at once. Its keeper must outlive what it has adopted.
        if signal == Signal::SIGTERM {
            group.map(|group| killpg(group, signal));
        }
        for pid in living() {
            let _ = kill(pid, signal);
        }
    };
    if let (Some(group), None) = (group, linux::processes()) {
        return end_group(group, grace, now);
    }
    if living().is_empty() {
        return;
    }
    send(Signal::SIGTERM);
    let begun = Instant::now();
    while !living().is_empty() && begun.elapsed() < grace && !now() {
        std::thread::sleep(PULSE);
    }
    let begun = Instant::now();
    // Killed processes may have started others in the meantime.
    while !living().is_empty() && begun.elapsed() < KILL_PATIENCE {
        send(Signal::SIGKILL);
        std::thread::sleep(PULSE);
    }
}

/// Ends a group, including its keeper, if the system does not list processes.
fn end_group(group: Pid, grace: Duration, now: &dyn Fn() -> bool) {
    let begun = Instant::now();
    let _ = killpg(group, Signal::SIGTERM);
    while killpg(group, None).is_ok() && begun.elapsed() < grace && !now() {
        std::thread::sleep(PULSE);
    }
    let _ = killpg(group, Signal::SIGKILL);
}

/// Returns the processes that outlived a run's loop and could still change the tree: with the run's
/// name in their environment, as the agent, checks, scripts and git hooks have it, or at work in
/// one of its copies. A process with a terminal may belong to the user, who inspects a copy.
pub fn processes_of(run: &str, copies: &[Utf8PathBuf]) -> Vec<Pid> {
    let marks = [format!("RALPH_RUN={run}"), format!("{RUN_MARK}={run}")];
    let mut found = processes();
    // We must not end our parent, which may have started us inside that run.
    found.retain(|one| one.pid != here() && one.pid != getppid().as_raw() && !one.is_dead);
    found.retain(|Process { pid, has_terminal, .. }| {
        let mut variables = linux::variables(*pid).into_iter();
        let is_in = |copy: &Utf8PathBuf| linux::is_at_work_in(*pid, copy.as_std_path());
        variables.any(|variable| marks.iter().any(|mark| is_marked(&variable, mark)))
            || (!has_terminal && copies.iter().any(is_in))
    });
    found.into_iter().map(|process| Pid::from_raw(process.pid)).collect()
}

/// Whether a variable names the run or one of its workers.
fn is_marked(variable: &[u8], mark: &str) -> bool {
    let rest = variable.strip_prefix(mark.as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"."))
}

/// Ends the processes that [`processes_of`] finds; returns how many there were.
pub fn end_processes_of(run: &str, copies: &[Utf8PathBuf]) -> usize {
    let count = processes_of(run, copies).len();
    end(None, &|| processes_of(run, copies), LEFTOVER_GRACE, &|| false);
    count
}

/// Ends what a run's checks, set-up commands or git hooks left behind; only a paused agent may
/// still work in a copy. A process without our variables is found by its copy and its parent.
pub fn end_left_by_checks(run: &str, copy: Option<&Utf8Path>) {
    let of_agent = format!("RALPH_RUN={run}");
    let is_orphan = |one: &Process| {
        let is_in = copy.is_some_and(|copy| linux::is_at_work_in(one.pid, copy.as_std_path()));
        let mut variables = linux::variables(one.pid).into_iter();
        is_in && !one.is_dead && !variables.any(|variable| is_marked(&variable, &of_agent))
    };
    let living = || {
        let mut found = processes_of(&mark(run), &[]);
        let children = processes().into_iter().filter(|one| one.parent == here());
        found.extend(children.filter(is_orphan).map(|one| Pid::from_raw(one.pid)));
        found
    };
    end(None, &living, LEFTOVER_GRACE, &|| false);
}

/// Returns all descendants of a process; empty if the system does not list processes.
fn descendants(root: i32) -> Vec<Process> {
    let all = processes();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for child in all.iter().filter(|process| process.parent == parent) {
            parents.push(child.pid);
            found.push(*child);
        }
    }
    found
}

fn processes() -> Vec<Process> {
    linux::processes().unwrap_or_default()
}
