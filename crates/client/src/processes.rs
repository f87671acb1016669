//! Finds our programs at work below an agent, and what outlived an earlier run.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use camino::Utf8PathBuf;
use nix::unistd::{Pid, getppid};
use ralph_base::linux::Process;
use ralph_project::checks::RUN_MARK;
use ralph_project::install::HOOK_NAMES;
use sandbox::system;

/// The name of this program.
const PROGRAM: &str = run_history::LOOP;

/// How long processes that outlived another loop have to exit after SIGTERM.
const LEFTOVER_GRACE: Duration = Duration::from_secs(3);

/// Returns whether one of our programs is at work among them: a hook, or `ralph-loop complete`. The
/// MCP server lives as long as the agent, and counts only while it has a child process.
pub(super) fn include_ours(all: &[Process]) -> bool {
    let is_busy = |server: &Process| all.iter().any(|process| process.parent == server.pid);
    let is_ours = |process: &&Process| {
        let program = system::program(process.pid);
        let name = program.as_deref().and_then(Path::file_name).and_then(OsStr::to_str);
        name.is_some_and(|name| name == PROGRAM || HOOK_NAMES.contains(&name))
    };
    all.iter().filter(is_ours).any(|process| !is_server(process.pid) || is_busy(process))
}

/// Whether one of our processes is the MCP server.
fn is_server(pid: i32) -> bool {
    system::arguments(pid).get(1).is_some_and(|first| first == b"mcp")
}

fn here() -> i32 {
    Pid::this().as_raw()
}

/// Returns the processes that outlived a run's loop and could still change the tree: with the run's
/// name in their environment, as the agent, checks, scripts and git hooks have it, or at work in
/// one of its copies. A process with a terminal may belong to the user, who inspects a copy.
pub fn processes_of(run: &str, copies: &[Utf8PathBuf]) -> Vec<Process> {
    let marks = [format!("RALPH_RUN={run}"), format!("{RUN_MARK}={run}")];
    let mut found = system::processes().unwrap_or_default();
    // We must not end our parent, which may have started us inside that run.
    found.retain(|one| one.pid != here() && one.pid != getppid().as_raw() && !one.is_dead);
    found.retain(|Process { pid, has_terminal, .. }| {
        let mut variables = system::variables(*pid).into_iter();
        let is_in = |copy: &Utf8PathBuf| system::is_at_work_in(*pid, copy.as_std_path());
        variables.any(|variable| marks.iter().any(|mark| is_marked(&variable, mark)))
            || (!has_terminal && copies.iter().any(is_in))
    });
    found
}

/// Whether a variable names the run or one of its workers.
fn is_marked(variable: &[u8], mark: &str) -> bool {
    let rest = variable.strip_prefix(mark.as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"."))
}

/// Ends the processes that [`processes_of`] finds; returns how many there were.
pub fn end_processes_of(run: &str, copies: &[Utf8PathBuf]) -> usize {
    let count = processes_of(run, copies).len();
    sandbox::end(&|| processes_of(run, copies), LEFTOVER_GRACE, &|| false);
    count
}
