//! Every process that descends from another one, and how all of them are ended.
//!
//! The agent's tools start sessions of their own, so a process group does not reach them: the keeper
//! (`keeper.rs`) adopts orphans, and the rest are found where the system lists processes; elsewhere the
//! group has to do.

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

/// How often we look whether they are gone.
const PULSE: Duration = Duration::from_millis(10);

/// How long a process may take to be gone after KILL, which it cannot refuse; longer only if it
/// hangs in the kernel.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// How long what outlived another loop has to end by itself.
const LEFTOVER_GRACE: Duration = Duration::from_secs(3);

/// The processes below one process.
#[derive(Debug, Clone, Copy)]
pub struct Descendants {
    root: i32,
    /// Whether the root leads a process group that is ended with them.
    is_leader: bool,
}

impl Descendants {
    /// All that descend from this process.
    pub fn all() -> Self {
        Self { root: here(), is_leader: false }
    }

    /// Those of a keeper, which leads a group of its own.
    pub fn of_keeper(pid: u32) -> Self {
        Self { root: pid.cast_signed(), is_leader: true }
    }

    /// Ends them: TERM, then KILL after `grace` or as soon as `now` says so.
    pub fn end(&self, grace: Duration, now: &dyn Fn() -> bool) {
        let group = if self.is_leader { Some(Pid::from_raw(self.root)) } else { None };
        end(group, &|| self.living(), grace, now);
    }

    /// Whether one of our own programs is at work among them: a hook, or `ralph-loop complete`. The
    /// MCP server lives as long as the agent, and is at work while it runs something itself.
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

    /// Those that have not ended.
    fn living(&self) -> Vec<Pid> {
        let living = descendants(self.root).into_iter().filter(|process| !process.is_dead);
        living.map(|process| Pid::from_raw(process.pid)).collect()
    }
}

/// Whether a program of ours is the MCP server.
fn is_server(pid: i32) -> bool {
    linux::arguments(pid).get(1).is_some_and(|first| first == b"mcp")
}

fn here() -> i32 {
    Pid::this().as_raw()
}

fn end(group: Option<Pid>, living: &dyn Fn() -> Vec<Pid>, grace: Duration, now: &dyn Fn() -> bool) {
    let send = |signal: Signal| {
        // The group first: it is reached at once. Its keeper has to outlive what it has adopted.
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
    // What is killed may have started others in the meantime.
    while !living().is_empty() && begun.elapsed() < KILL_PATIENCE {
        send(Signal::SIGKILL);
        std::thread::sleep(PULSE);
    }
}

/// Ends a group where the system lists no processes, with its keeper.
fn end_group(group: Pid, grace: Duration, now: &dyn Fn() -> bool) {
    let begun = Instant::now();
    let _ = killpg(group, Signal::SIGTERM);
    while killpg(group, None).is_ok() && begun.elapsed() < grace && !now() {
        std::thread::sleep(PULSE);
    }
    let _ = killpg(group, Signal::SIGKILL);
}

/// The processes that outlived the loop of a run, and would go on changing the tree under our hands:
/// known by the run's name in their environment, as the agent, checks, scripts and git hooks have it, or
/// by one of its copies. A process at a terminal may be the user's, who looks at a copy.
pub fn left_by(run: &str, copies: &[Utf8PathBuf]) -> Vec<Pid> {
    let marks = [format!("RALPH_RUN={run}"), format!("{RUN_MARK}={run}")];
    let mut found = processes();
    // Whoever started us inside that run is not to be ended by us.
    found.retain(|one| one.pid != here() && one.pid != getppid().as_raw() && !one.is_dead);
    found.retain(|Process { pid, has_terminal, .. }| {
        let mut variables = linux::variables(*pid).into_iter();
        let is_in = |copy: &Utf8PathBuf| linux::is_at_work_in(*pid, copy.as_std_path());
        variables.any(|variable| marks.iter().any(|mark| is_marked(&variable, mark)))
            || (!has_terminal && copies.iter().any(is_in))
    });
    found.into_iter().map(|process| Pid::from_raw(process.pid)).collect()
}

/// Whether a variable names the run, or one of its workers.
fn is_marked(variable: &[u8], mark: &str) -> bool {
    let rest = variable.strip_prefix(mark.as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"."))
}

/// Ends them; returns how many there were.
pub fn end_left_by(run: &str, copies: &[Utf8PathBuf]) -> usize {
    let count = left_by(run, copies).len();
    end(None, &|| left_by(run, copies), LEFTOVER_GRACE, &|| false);
    count
}

/// Ends what checks, setup commands or git hooks of a run left behind: nothing works in a copy but what we wait for and
/// a paused agent. What has cleared its environment is known by the copy, and by us as its parent.
pub fn end_left_by_checks(run: &str, copy: Option<&Utf8Path>) {
    let of_agent = format!("RALPH_RUN={run}");
    let is_orphan = |one: &Process| {
        let is_in = copy.is_some_and(|copy| linux::is_at_work_in(one.pid, copy.as_std_path()));
        let mut variables = linux::variables(one.pid).into_iter();
        is_in && !one.is_dead && !variables.any(|variable| is_marked(&variable, &of_agent))
    };
    let living = || {
        let mut found = left_by(&mark(run), &[]);
        let children = processes().into_iter().filter(|one| one.parent == here());
        found.extend(children.filter(is_orphan).map(|one| Pid::from_raw(one.pid)));
        found
    };
    end(None, &living, LEFTOVER_GRACE, &|| false);
}

/// All that descend from a process; none where the system does not list them.
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
