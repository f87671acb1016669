//! A program of the user's that may take any time: run in a process group of its own, until it
//! ends, a limit is reached or we are asked to stop, with as much of its output as a person or a
//! prompt can use.

use std::ffi::OsString;
use std::io::{self, PipeReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicU32;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use wait_timeout::ChildExt;

/// What is kept of the beginning and of the end of the output.
const KEPT_START: usize = 16 * 1024;
const KEPT_END: usize = 48 * 1024;

/// How often the wish to stop is looked at.
const PULSE: Duration = Duration::from_millis(25);

/// How long the pipe is read after the program ended: a process that it left behind may hold it.
const DRAIN: Duration = Duration::from_millis(500);

/// How long it has to end after TERM: git removes its locks then.
const GRACE: Duration = Duration::from_secs(1);

/// How often this process was asked to end. Whoever waits for a program that does nothing waits less
/// then.
pub static INTERRUPTS: AtomicU32 = AtomicU32::new(0);

/// The variable that has the program of a door begin a session of its own.
pub const OWN_SESSION: &str = "RALPH_INTERNAL__SESSION";

/// How programs are started: directly or, where it names another program, by way of that one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Door {
    /// The other program and its first arguments; the command line to run follows them.
    pub by: Vec<OsString>,
    /// Its variables.
    pub vars: Vec<(String, String)>,
}

impl Door {
    /// A command that starts a program, in a process group of its own: Ctrl-C in a terminal goes to our whole group.
    /// The other program sees to that itself, by a session of its own.
    #[expect(clippy::disallowed_methods, reason = "this is the door for programs of an attempt")]
    pub fn command(&self, program: &str) -> Command {
        let Some((own, arguments)) = self.by.split_first() else {
            let mut command = Command::new(program);
            command.process_group(0);
            return command;
        };
        let mut command = Command::new(own);
        command.arg0("ralph-loop").args(arguments).arg(program).env(OWN_SESSION, "1");
        command.envs(self.vars.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// How a program of the user's ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckEnd {
    /// By itself, with this code; none if a signal ended it.
    Exited(Option<i32>),
    /// It took too long and was ended.
    TimedOut,
    /// We were asked to stop, and it was ended.
    Stopped,
}

/// Runs it; returns how it ended and what it printed. What it leaves behind in its group is ended,
/// unless it `may_leave` a server there.
pub fn run(
    mut command: Command,
    input: &[u8],
    limit: Option<Duration>,
    stop: &dyn Fn() -> bool,
    may_leave: bool,
) -> io::Result<(CheckEnd, String)> {
    let (reader, writer) = io::pipe()?;
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    let mut child = command.stdin(stdin).stdout(writer.try_clone()?).stderr(writer).spawn()?;
    // It holds the other end of the pipe, which must be closed for the output to end.
    drop(command);
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        // A program that ends without reading all of it is no failure of ours.
        std::thread::spawn(move || drop(stdin.write_all(&input)));
    }
    let kept = Arc::new(Mutex::new(Kept::default()));
    let closed = collect(reader, Arc::clone(&kept));
    let end = wait(&mut child, limit, stop)?;
    // Whoever still holds the pipe was left behind by the program, in its group or outside of it.
    let is_over = matches!(end, CheckEnd::Exited(_)) && may_leave;
    if closed.recv_timeout(PULSE).is_err() {
        if !is_over {
            signal("KILL", &[format!("-{}", child.id())]);
        }
        // On a busy machine the reader may not have had its turn yet.
        let _ = closed.recv_timeout(DRAIN);
    }
    let output = kept.lock().unwrap_or_else(PoisonError::into_inner).text();
    Ok((end, output))
}

fn wait(
    child: &mut Child,
    limit: Option<Duration>,
    stop: &dyn Fn() -> bool,
) -> io::Result<CheckEnd> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.wait_timeout(PULSE)? {
            let code = ExitStatus::code(&status);
            // Ctrl-C may come before it is in a group of its own.
            let is_stopped = code.is_none() && stop();
            return Ok(if is_stopped { CheckEnd::Stopped } else { CheckEnd::Exited(code) });
        }
        let end = match limit {
            _ if stop() => CheckEnd::Stopped,
            Some(limit) if begun.elapsed() >= limit => CheckEnd::TimedOut,
            _ => continue,
        };
        let group = [format!("-{}", child.id())];
        signal("TERM", &group);
        child.wait_timeout(GRACE)?;
        signal("KILL", &group);
        child.kill()?;
        child.wait()?;
        return Ok(end);
    }
}

/// Sends a signal to processes, or to groups with a minus in front. Through the shell, because the
/// standard library kills single processes only and the hooks are to link no more than they need.
#[expect(clippy::disallowed_methods, reason = "this is the door for ending the user's programs")]
pub fn signal(name: &str, processes: &[String]) {
    // In this form every shell understands it.
    let kill = format!("kill -s {name} -- {}", processes.join(" "));
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(kill).current_dir("/");
    let _ = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// Reads in a thread of its own until the pipe is closed, and says when it is.
fn collect(mut reader: PipeReader, kept: Arc<Mutex<Kept>>) -> Receiver<()> {
    let (sender, closed) = mpsc::channel();
    std::thread::spawn(move || {
        let mut part = [0; 16 * 1024];
        while let Ok(count @ 1..) = reader.read(&mut part) {
            let bytes = part.get(..count).unwrap_or_default();
            kept.lock().unwrap_or_else(PoisonError::into_inner).add(bytes);
        }
        let _ = sender.send(());
    });
    closed
}

/// The beginning and the end of an output of any length.
#[derive(Debug, Default)]
struct Kept {
    start: Vec<u8>,
    end: Vec<u8>,
    left_out: usize,
}

impl Kept {
    fn add(&mut self, bytes: &[u8]) {
        let room = KEPT_START.saturating_sub(self.start.len()).min(bytes.len());
        let (first, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.start.extend_from_slice(first);
        self.end.extend_from_slice(rest);
        let excess = self.end.len().saturating_sub(KEPT_END);
        self.end.drain(..excess);
        self.left_out += excess;
    }

    fn text(&self) -> String {
        let start = String::from_utf8_lossy(&self.start);
        let end = String::from_utf8_lossy(&self.end);
        match self.left_out {
            0 => format!("{start}{end}"),
            count => format!("{start}\n[… {count} bytes omitted …]\n{end}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test starts programs as callers do")]
    fn the_output_is_whole_also_on_a_busy_machine() {
        let print = || {
            let mut command = Command::new("sh");
            command.arg("-c").arg("seq 1 2000; echo the end");
            run(command, b"", None, &|| false, true).unwrap().1
        };
        std::thread::scope(|scope| {
            let started: Vec<_> = (0..100).map(|_| scope.spawn(print)).collect();
            for output in started.into_iter().map(|thread| thread.join().unwrap()) {
                assert!(output.ends_with("2000\nthe end\n"), "{output}");
            }
        });
    }
}
