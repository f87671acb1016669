//! Every process that descends from us, and how all of them are ended.
//!
//! The agent's tools start sessions of their own, so a process group does not reach them: we make
//! ourselves the parent of orphans and find the rest in `/proc`.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getppid};
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

/// Makes us the parent of descendants whose own parent has ended.
pub(crate) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    // Without it a daemon of the agent's could escape; nothing else depends on it.
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// Which descendants are meant.
#[derive(Debug, Default)]
pub(crate) struct Descendants {
    /// The child that leads a group of its own, and that somebody else waits for.
    leader: Option<Pid>,
    /// Those that were there before: a server that the script `started` began, for instance.
    spared: Vec<Pid>,
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
            let program = fs_err::read_link(format!("/proc/{}/exe", process.pid)).ok();
            let name = program.as_deref().and_then(Path::file_name).and_then(OsStr::to_str);
            // The system marks a program whose file was replaced meanwhile.
            let name = name.map(|name| name.trim_end_matches(" (deleted)"));
            name.is_some_and(|name| name == PROGRAM || HOOK_NAMES.contains(&name))
        };
        all.iter().filter(is_ours).any(|process| !is_server(process.pid) || is_busy(process))
    }

    /// Those that have not ended; the others are taken note of, so that they vanish.
    fn living(&self) -> Vec<Pid> {
        let (dead, living): (Vec<Process>, Vec<Process>) =
            descendants(&self.spared).into_iter().partition(|process| process.is_dead);
        for process in dead.iter().filter(|process| process.parent == Pid::this()) {
            if Some(process.pid) != self.leader {
                let _ = waitpid(process.pid, Some(WaitPidFlag::WNOHANG));
            }
        }
        living.iter().map(|process| process.pid).collect()
    }
}

/// Whether a program of ours is the MCP server.
fn is_server(pid: Pid) -> bool {
    let line = fs_err::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).nth(1) == Some(b"mcp")
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
    let mut pids: Vec<Pid> = processes().iter().map(|process| process.pid).collect();
    // Whoever started us inside that run is not to be ended by us.
    pids.retain(|pid| *pid != Pid::this() && *pid != getppid());
    pids.retain(|pid| {
        let environment = fs_err::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| marks.iter().any(|mark| is_marked(variable, mark)))
    });
    pids
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

/// A process as `/proc` shows it.
#[derive(Debug, Clone, Copy)]
struct Process {
    pid: Pid,
    parent: Pid,
    /// Ended, but nobody has asked for its exit code yet.
    is_dead: bool,
}

/// All that descend from us, but for those that are spared and theirs; none where there is no
/// `/proc`.
fn descendants(spared: &[Pid]) -> Vec<Process> {
    let all = processes();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![Pid::this()];
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
    let Ok(entries) = fs_err::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter_map(|number: i32| {
            let stat = fs_err::read_to_string(format!("/proc/{number}/stat")).ok()?;
            parse_stat(Pid::from_raw(number), &stat)
        })
        .collect()
}

/// `<pid> (<name>) <state> <parent> …`; the name may hold spaces and parentheses.
fn parse_stat(pid: Pid, stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    let (state, parent) = (words.next()?, words.next()?.parse().ok()?);
    let is_dead = matches!(state, "Z" | "X" | "x");
    Some(Process { pid, parent: Pid::from_raw(parent), is_dead })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_do_not_confuse() {
        let process = parse_stat(Pid::from_raw(7), "7 (a) b) (c) Z 42 7 7 0").unwrap();
        assert_eq!((process.parent, process.is_dead), (Pid::from_raw(42), true));
        assert!(parse_stat(Pid::from_raw(7), "7 (sh").is_none());
    }
}
