//! Every process that descends from us, and how all of them are ended.
//!
//! The agent's tools start sessions of their own, so a process group does not reach them: we make
//! ourselves the parent of orphans and find the rest where the system tells; elsewhere the group must do.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getppid};
use ralph_base::linux::{self, Process};
use ralph_project::checks::RUN_MARK;
use ralph_project::install::HOOK_NAMES;

/// The name of this program.
const PROGRAM: &str = env!("CARGO_BIN_NAME");

/// How often we look whether they are gone.
const PULSE: Duration = Duration::from_millis(10);

/// How long a process may take to be gone after KILL, which it cannot refuse; longer only if it
/// hangs in the kernel.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// How long what outlived another loop has to end by itself.
const LEFTOVER_GRACE: Duration = Duration::from_secs(3);

/// Held while a thread of ours waits for children of its own, and while descendants are ended.
static CHILDREN: Mutex<()> = Mutex::new(());

/// Until this is dropped, no descendant is ended: a thread has children that are not the agent's.
pub(crate) fn hold_children() -> MutexGuard<'static, ()> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which descendants are meant.
#[derive(Debug, Default)]
pub(crate) struct Descendants {
    /// The child that leads a group of its own, and that somebody else waits for.
    leader: Option<Pid>,
    /// Those that were there before: a server that the script `started` began, for instance.
    spared: Vec<i32>,
}

impl Descendants {
    /// All of them.
    pub(crate) fn all() -> Self {
        Self::default()
    }

    /// Those that come from now on.
    pub(crate) fn from_now_on() -> Self {
        let spared = descendants(&[]).into_iter().map(|process| process.pid).collect();
        Self { leader: None, spared }
    }

    /// The same, with the child that is started for us now.
    #[must_use]
    pub(crate) fn led_by(self, leader: u32) -> Self {
        Self { leader: i32::try_from(leader).ok().map(Pid::from_raw), ..self }
    }

    /// Ends them: TERM, then KILL after `grace` or as soon as `now` says so.
    pub(crate) fn end(&self, grace: Duration, now: &dyn Fn() -> bool) {
        let _held = hold_children();
        end(self.leader, &|| self.living(), grace, now);
    }

    /// Whether one of our own programs is at work among them: a hook, or `ralph-loop complete`. The
    /// MCP server lives as long as the agent, and is at work while it runs something itself.
    pub(crate) fn include_ours(&self) -> bool {
        let all = descendants(&self.spared);
        let is_busy = |server: &Process| all.iter().any(|process| process.parent == server.pid);
        let is_ours = |process: &&Process| {
            let program = linux::program(process.pid);
            let name = program.as_deref().and_then(Path::file_name).and_then(OsStr::to_str);
            name.is_some_and(|name| name == PROGRAM || HOOK_NAMES.contains(&name))
        };
        all.iter().filter(is_ours).any(|process| !is_server(process.pid) || is_busy(process))
    }

    /// Those that have not ended; the others are taken note of, so that they vanish.
    fn living(&self) -> Vec<Pid> {
        let (dead, living): (Vec<Process>, Vec<Process>) =
            descendants(&self.spared).into_iter().partition(|process| process.is_dead);
        for process in dead.iter().filter(|process| process.parent == here()) {
            let pid = Pid::from_raw(process.pid);
            if Some(pid) != self.leader {
                let _ = waitpid(pid, Some(WaitPidFlag::WNOHANG));
            }
        }
        living.iter().map(|process| Pid::from_raw(process.pid)).collect()
    }
}

/// Whether a program of ours is the MCP server.
fn is_server(pid: i32) -> bool {
    linux::arguments(pid).get(1).is_some_and(|first| first == b"mcp")
}

fn here() -> i32 {
    Pid::this().as_raw()
}

fn end(
    leader: Option<Pid>,
    living: &dyn Fn() -> Vec<Pid>,
    grace: Duration,
    now: &dyn Fn() -> bool,
) {
    let send = |signal: Signal| {
        // The group first: it is reached at once.
        leader.map(|leader| killpg(leader, signal));
        for pid in living() {
            let _ = kill(pid, signal);
        }
    };
    if living().is_empty() {
        return;
    }
    send(Signal::SIGTERM);
    let begun = Instant::now();
    while !living().is_empty() && begun.elapsed() < grace && !now() {
        std::thread::sleep(PULSE);
    }
    let begun = Instant::now();
    // What is killed may have started others meanwhile.
    while !living().is_empty() && begun.elapsed() < KILL_PATIENCE {
        send(Signal::SIGKILL);
        std::thread::sleep(PULSE);
    }
}

/// The processes that outlived the loop of a run, and would go on changing the tree under our hands:
/// known by the run's name in their environment, as the agent, checks, scripts and git hooks have it.
pub(crate) fn left_by(run: &str) -> Vec<Pid> {
    let marks = [format!("RALPH_RUN={run}"), format!("{RUN_MARK}={run}")];
    let mut pids: Vec<i32> = processes().iter().map(|process| process.pid).collect();
    // Whoever started us inside that run is not to be ended by us.
    pids.retain(|pid| *pid != here() && *pid != getppid().as_raw());
    pids.retain(|pid| {
        let mut variables = linux::variables(*pid).into_iter();
        variables.any(|variable| marks.iter().any(|mark| is_marked(&variable, mark)))
    });
    pids.into_iter().map(Pid::from_raw).collect()
}

/// Whether a variable names the run, or one of its workers.
fn is_marked(variable: &[u8], mark: &str) -> bool {
    let rest = variable.strip_prefix(mark.as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"."))
}

/// Ends them; returns how many there were.
pub(crate) fn end_left_by(run: &str) -> usize {
    let count = left_by(run).len();
    end(None, &|| left_by(run), LEFTOVER_GRACE, &|| false);
    count
}

/// All that descend from us, but for those that are spared and theirs; none where the system does not
/// tell.
fn descendants(spared: &[i32]) -> Vec<Process> {
    let all = processes();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![here()];
    while let Some(parent) = parents.pop() {
        let children =
            all.iter().filter(|process| process.parent == parent && !spared.contains(&process.pid));
        for child in children {
            parents.push(child.pid);
            found.push(*child);
        }
    }
    found
}

fn processes() -> Vec<Process> {
    linux::processes().unwrap_or_default()
}
