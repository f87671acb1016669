//! The process between the loop and a program that it starts for an attempt: it adopts whatever the
//! program leaves behind, however that hides, and ends all of it when the program has ended or the
//! loop is gone. So nothing of a step outlives the step, whatever signal kills the loop.
//!
//! SIGTERM asks everything below the keeper to end, in the time that the sender gives it; SIGQUIT
//! kills all of it at once. The keeper itself exits when nothing is left, as the program did.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fork::Fork;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid, getppid};
use ralph_base::linux::IS_LINUX;
use signal_hook::consts::{SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};

use crate::door::not_started;
use crate::{Descendants, Limits, linux};

/// The process name of a keeper whose program has ended.
const TIDYING: &str = "ralph-tidying";

/// How often the keeper checks whether the loop is still running.
const PULSE: Duration = Duration::from_millis(100);

/// How often it looks at what the program has started, where orphans do not come to it.
const LOOK: Duration = Duration::from_millis(500);

/// How long the processes that a program leaves behind have to exit.
const GRACE: Duration = Duration::from_secs(2);

/// The exit code for a program that was ended because of its limits.
const BEYOND_LIMITS: i32 = 125;

/// Starts a program in a child process, which `become_program` replaces with it, and returns when
/// nothing of it is left. In that child, returns if the program cannot be started. Call it before
/// this process has other threads.
pub(crate) fn keep(
    become_program: impl FnOnce() -> crate::Error,
    limits: Limits,
    loop_pid: Option<i32>,
    is_confined: bool,
) -> ExitCode {
    linux::adopt_orphans();
    limits.apply();
    // Before any signal is handled: the child would handle it too.
    let child = match fork::fork() {
        Ok(Fork::Child) => return not_started(&become_program()),
        Ok(Fork::Parent(pid)) => Pid::from_raw(pid),
        Err(error) => return not_started(&error),
    };
    match run(child, limits, loop_pid, is_confined) {
        Ok(WaitStatus::Signaled(_, signal, _)) => {
            let _ = signal_hook::low_level::emulate_default_handler(signal as i32);
            ExitCode::FAILURE
        }
        Ok(WaitStatus::Exited(_, code)) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            kill_all(is_confined);
            not_started(&error)
        }
    }
}

fn run(
    child: Pid,
    limits: Limits,
    loop_pid: Option<i32>,
    is_confined: bool,
) -> io::Result<WaitStatus> {
    let (asked, killed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let ignored = Arc::new(AtomicBool::new(false));
    let (mut bell, ringer) = UnixStream::pair()?;
    bell.set_read_timeout(Some(PULSE))?;
    // What the terminal sends is for the program: it decides what that means.
    let for_program = [SIGINT, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH];
    let for_program = for_program.map(|signal| (signal, Arc::new(AtomicBool::new(false))));
    let signals = [(SIGTERM, &asked), (SIGQUIT, &killed), (SIGCHLD, &ignored)];
    let passed_on = for_program.iter().map(|(signal, seen)| (*signal, seen));
    for (signal, seen) in signals.into_iter().chain(passed_on) {
        signal_hook::flag::register(signal, Arc::clone(seen))?;
        signal_hook::low_level::pipe::register(signal, ringer.try_clone()?)?;
    }
    let is_loop_gone = watch_for_loop(loop_pid);
    let (mut status, mut is_passed_on, mut deadline) = (None, false, None);
    let mut looked_at = Instant::now();
    while is_left(child, &mut status) {
        if !IS_LINUX && looked_at.elapsed() >= LOOK {
            // Whoever is seen now is still known after it has left its parent.
            Descendants::all().living();
            looked_at = Instant::now();
        }
        let is_asked = asked.load(Ordering::SeqCst);
        // Whoever asks also decides how long that may take.
        if is_loop_gone() || status.is_some() && !is_asked {
            deadline.get_or_insert_with(|| Instant::now() + GRACE);
        }
        if status.is_some() {
            // The loop reads this name and treats the program as ended.
            linux::rename_process(TIDYING);
        }
        if !is_passed_on && (is_asked || deadline.is_some()) {
            is_passed_on = true;
            Descendants::all().ask_to_end();
        }
        if killed.load(Ordering::SeqCst) || deadline.is_some_and(|end| Instant::now() >= end) {
            kill_all(is_confined);
            is_left(child, &mut status);
            break;
        }
        if let Some(why) = limits.exceeded(Descendants::all()) {
            // While they are stopped, they start no others.
            Descendants::all().freeze();
            kill_all(is_confined);
            let _ = writeln!(io::stderr(), "ended: {why}");
            return Ok(WaitStatus::Exited(child, BEYOND_LIMITS));
        }
        let _ = bell.read(&mut [0; 64]);
        for (signal, seen) in &for_program {
            if seen.swap(false, Ordering::SeqCst) {
                pass_on(child, *signal);
            }
        }
    }
    status.ok_or_else(|| io::Error::other("it cannot be ended"))
}

/// Passes a signal on to a program that left our terminal, and stops when the program is to stop.
fn pass_on(child: Pid, signal: i32) {
    let Ok(signal) = Signal::try_from(signal) else { return };
    let is_stop = signal == Signal::SIGTSTP;
    // A program that leads no group is in ours, and got the signal itself.
    let _ = killpg(child, if is_stop { Signal::SIGSTOP } else { signal });
    if is_stop {
        let _ = kill(getpid(), Signal::SIGSTOP);
    }
}

/// Kills all descendants. One that forks without a pause is gone before its id is read, but cannot
/// fork while a signal for everybody is sent; where signals are confined, everybody is ours.
fn kill_all(is_confined: bool) {
    if is_confined {
        let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
    }
    Descendants::all().kill();
}

/// Reaps whatever has ended; returns whether anything of the program is left. Orphans come to us only on
/// Linux.
fn is_left(child: Pid, status: &mut Option<WaitStatus>) -> bool {
    let has_child = reap(child, status);
    has_child || !IS_LINUX && !Descendants::all().living().is_empty()
}

/// Reaps whatever has ended; returns whether a child is left.
fn reap(child: Pid, status: &mut Option<WaitStatus>) -> bool {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => return true,
            Ok(ended) if ended.pid() == Some(child) => *status = Some(ended),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return false,
        }
    }
}

/// Returns whether the loop has ended. It may not be our parent: git starts the programs that
/// filter files.
fn watch_for_loop(pid: Option<i32>) -> impl Fn() -> bool {
    let parent = getppid();
    let pid = pid.map(Pid::from_raw);
    move || getppid() != parent || pid.is_some_and(|pid| kill(pid, None) == Err(Errno::ESRCH))
}

/// Returns whether a program has ended, and its keeper only ends what it left behind.
pub fn is_tidying(keeper: u32) -> bool {
    linux::process_name(keeper).as_deref() == Some(TIDYING)
}
