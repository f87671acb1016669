//! The process between the loop and an agent: it adopts what the agent's tools leave behind, and
//! ends all of it when the agent has ended or the loop is gone. So one loop can run several agents,
//! and none of their processes outlives them, whatever signal kills the loop.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getppid, setsid};
use ralph_base::linux::own_program;
use ralph_base::supervised::Door;
use ralph_project::client::SCRUBBED_VARS;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use wait_timeout::ChildExt;

use super::processes::Descendants;
use crate::linux;

/// The first argument that makes this program a keeper; the command line of the agent and the door
/// through which it is started follow.
const KEEP: &str = "keep-agent";

/// The process name of a keeper whose agent has ended.
const TIDYING: &str = "ralph-tidying";

/// How often the keeper checks whether the loop is still running.
const PULSE: Duration = Duration::from_millis(100);

/// How often the keeper reaps orphans that have exited.
const REAPED_EVERY: Duration = Duration::from_secs(5);

/// How long the processes that an agent leaves behind have to exit.
const GRACE: Duration = Duration::from_secs(2);

/// Starts an agent below a keeper, in its own session without a terminal: Ctrl-C reaches only the
/// loop, which decides what to do, and the agent cannot type into the terminal.
#[expect(clippy::disallowed_methods, reason = "this is the door for starting the agent")]
pub(super) fn spawn(
    line: &str,
    root: &Utf8Path,
    vars: &[(String, String)],
    door: &Door,
) -> io::Result<Child> {
    let mut command = Command::new(own_program()?);
    for name in SCRUBBED_VARS.split(' ') {
        command.env_remove(name);
    }
    command.arg0("ralph-loop").args([KEEP, line]).args(&door.by);
    command.envs(door.vars.iter().cloned()).current_dir(root).envs(vars.iter().cloned());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// Runs as a keeper if this process was started as one.
pub fn keep() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != KEEP {
        return None;
    }
    let line = args.next().unwrap_or_default();
    // The variables of the door are in our environment.
    let door = Door { by: args.collect(), vars: Vec::new() };
    Some(match run(&line, &door) {
        Ok(status) => exit_like(status),
        Err(_) => ExitCode::from(126),
    })
}

fn run(line: &OsStr, door: &Door) -> io::Result<ExitStatus> {
    setsid()?;
    linux::adopt_orphans();
    let loop_pid = getppid();
    // Caught, but not obeyed: the agent receives them too, and we exit when it does.
    for signal in [SIGTERM, SIGINT, SIGHUP, SIGQUIT] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let mut child = door.command("sh").arg("-c").arg(line).spawn()?;
    let mut reaped = Instant::now();
    let status = loop {
        if let Some(status) = child.wait_timeout(PULSE)? {
            break status;
        }
        if getppid() != loop_pid {
            Descendants::all().end(GRACE, &|| false);
            let _ = child.kill();
            break child.wait()?;
        }
        if reaped.elapsed() >= REAPED_EVERY {
            reaped = Instant::now();
            reap_orphans(child.id());
        }
    };
    // The loop reads this name and treats the agent as ended; outside of Linux it waits for us.
    linux::rename_process(TIDYING);
    Descendants::all().end(GRACE, &|| false);
    Ok(status)
}

/// Returns whether an agent has ended, and its keeper only ends what it left behind.
pub(super) fn is_tidying(pid: u32) -> bool {
    linux::process_name(pid).as_deref() == Some(TIDYING)
}

/// Exits this process in the same way as another one: by signal or with an exit code.
fn exit_like(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
    ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1))
}

/// Reaps adopted processes that have exited.
fn reap_orphans(agent: u32) {
    let here = std::process::id().cast_signed();
    for process in linux::children_that_ended(here) {
        if process != agent.cast_signed() {
            let _ = waitpid(Pid::from_raw(process), Some(WaitPidFlag::WNOHANG));
        }
    }
}
