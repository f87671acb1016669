//! Runs a user's program of unknown duration in its own process group until it exits, a time limit
//! is reached or we are asked to stop, and keeps as much of its output as a person or a prompt can
//! use.

use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind::WouldBlock;
use std::io::{self, PipeReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicU32;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use wait_timeout::ChildExt;

use crate::secrets::mask;
use crate::state;

/// How many bytes of the start and of the end of the output are kept.
const KEPT_START: usize = 16 * 1024;
const KEPT_END: usize = 48 * 1024;

/// How many bytes are kept where the whole output is wanted; more of it goes into a file.
const KEPT_WHOLE: usize = 10 * 1000 * 1000;

/// How often the stop request is polled.
const PULSE: Duration = Duration::from_millis(25);

/// How long the pipe may bring nothing after the program exited: a leftover process may hold it open.
const DRAIN: Duration = Duration::from_millis(500);

/// How long such a process is listened to.
const LONGEST_DRAIN: Duration = Duration::from_secs(10);

/// How long a program has to exit after SIGTERM, so that git can remove its locks.
const GRACE: Duration = Duration::from_secs(1);

/// How long we wait for room for another process.
const NO_ROOM: Duration = Duration::from_secs(20);

/// How often this process was asked to terminate. Waits for idle programs are shortened after that.
pub static INTERRUPTS: AtomicU32 = AtomicU32::new(0);

/// How long a keeper may take to kill what it keeps.
const KEEPER_GRACE: Duration = Duration::from_secs(6);

/// The first argument that makes our program a keeper, which ends everything that it started: the
/// command line to run follows. It is the wrapper program of a [`Door`].
pub const KEEP: &str = "keep";

/// The variable that makes a keeper start its own session (`setsid`).
pub const OWN_SESSION: &str = "RALPH_INTERNAL__SESSION";

/// The variable with the process id of the loop: a keeper ends when the loop is gone.
pub const LOOP: &str = "RALPH_INTERNAL__LOOP";

/// How programs are started: directly, or through the keeper in `by`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Door {
    /// The wrapper and its first arguments, followed by the command line to run; empty for none.
    pub by: Vec<OsString>,
    /// The wrapper's environment variables.
    pub vars: Vec<(String, String)>,
}

impl Door {
    /// Returns a command that starts `program` in its own process group, because Ctrl-C in a
    /// terminal signals our whole group. A keeper starts its own session instead.
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

/// How a user's program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckEnd {
    /// It exited with this code; `None` if a signal killed it.
    Exited(Option<i32>),
    /// It exceeded the time limit and was killed.
    TimedOut,
    /// It was killed because we were asked to stop.
    Stopped,
}

/// Starts a program, again while the machine has no room for another process: whoever fills it is
/// ended soon.
pub fn patiently<T>(mut start: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let begun = Instant::now();
    loop {
        match start() {
            Err(error) if error.kind() == WouldBlock && begun.elapsed() < NO_ROOM => {
                thread::sleep(PULSE);
            }
            done => return done,
        }
    }
}

/// Runs a command; returns how it ended and what it printed. Leftover processes of its group that
/// still hold its output are killed. With a file for its `whole` output, nothing is left out, and
/// the command may leave a server behind.
pub fn run(
    mut command: Command,
    input: &[u8],
    limit: Option<Duration>,
    stop: &dyn Fn() -> bool,
    whole: Option<&Utf8Path>,
) -> io::Result<(CheckEnd, String)> {
    let is_kept = command.get_args().next().is_some_and(|first| first == KEEP);
    let (reader, writer) = io::pipe()?;
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    command.stdin(stdin).stdout(writer.try_clone()?).stderr(writer);
    let mut child = patiently(|| command.spawn())?;
    // The command holds the write end of the pipe, which must be closed for the output to end.
    drop(command);
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        // It is not an error if the program exits without reading all of its input.
        thread::Builder::new().spawn(move || drop(stdin.write_all(&input)))?;
    }
    let kept = Kept { whole: whole.map(Utf8Path::to_owned), ..Kept::default() };
    let kept = Arc::new(Mutex::new(kept));
    let closed = collect(reader, Arc::clone(&kept))?;
    let end = wait(&mut child, is_kept, limit, stop)?;
    // A process that still holds the pipe was left behind, in the program's group or outside of it.
    let is_over = matches!(end, CheckEnd::Exited(_)) && whole.is_some();
    if closed.recv_timeout(PULSE).is_err() {
        if !is_over {
            signal("KILL", &[format!("-{}", child.id())]);
        }
        // On a busy machine the reader thread may not have run yet.
        let reads = || kept.lock().unwrap_or_else(PoisonError::into_inner).reads;
        let (begun, mut before) = (Instant::now(), None);
        while closed.recv_timeout(DRAIN).is_err() && begun.elapsed() < LONGEST_DRAIN {
            let now = Some(reads());
            if before == now {
                break;
            }
            before = now;
        }
    }
    let output = kept.lock().unwrap_or_else(PoisonError::into_inner).text();
    Ok((end, output))
}

fn wait(
    child: &mut Child,
    is_kept: bool,
    limit: Option<Duration>,
    stop: &dyn Fn() -> bool,
) -> io::Result<CheckEnd> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.wait_timeout(PULSE)? {
            let code = ExitStatus::code(&status);
            // Ctrl-C may arrive before the child is in its own group.
            let is_stopped = code.is_none() && stop();
            return Ok(if is_stopped { CheckEnd::Stopped } else { CheckEnd::Exited(code) });
        }
        let end = match limit {
            _ if stop() => CheckEnd::Stopped,
            Some(limit) if begun.elapsed() >= limit => CheckEnd::TimedOut,
            _ => continue,
        };
        // A keeper passes it on.
        let whom = if is_kept { child.id().to_string() } else { format!("-{}", child.id()) };
        signal("TERM", &[whom]);
        child.wait_timeout(GRACE)?;
        kill(child, is_kept)?;
        return Ok(end);
    }
}

/// Kills a program and its group, or everything that a keeper keeps.
pub fn kill(child: &mut Child, is_kept: bool) -> io::Result<()> {
    if is_kept {
        signal("QUIT", &[child.id().to_string()]);
        child.wait_timeout(KEEPER_GRACE)?;
    }
    signal("KILL", &[format!("-{}", child.id())]);
    child.kill()?;
    child.wait().map(drop)
}

/// Sends a signal to processes, or to groups (ids with a leading minus), through the shell: the
/// standard library only kills single processes, and the hooks should link as little as possible.
#[expect(clippy::disallowed_methods, reason = "this is the door for ending the user's programs")]
pub fn signal(name: &str, processes: &[String]) {
    // Every shell supports this form.
    let kill = format!("kill -s {name} -- {}", processes.join(" "));
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(kill).current_dir("/");
    let _ = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// Reads the pipe in a separate thread; the receiver gets a message when the pipe is closed.
fn collect(mut reader: PipeReader, kept: Arc<Mutex<Kept>>) -> io::Result<Receiver<()>> {
    let (sender, closed) = mpsc::channel();
    let read = move || {
        let mut part = [0; 16 * 1024];
        while let Ok(count @ 1..) = reader.read(&mut part) {
            let bytes = part.get(..count).unwrap_or_default();
            kept.lock().unwrap_or_else(PoisonError::into_inner).add(bytes);
        }
        let _ = sender.send(());
    };
    thread::Builder::new().spawn(read)?;
    Ok(closed)
}

/// Returns the beginning and the end of a long output.
pub fn shortened(output: &str) -> String {
    let mut kept = Kept::default();
    kept.add(output.as_bytes());
    kept.text()
}

/// An output of any length: its beginning and its end, or its beginning and a file with all of it.
#[derive(Debug, Default)]
struct Kept {
    start: Vec<u8>,
    end: Vec<u8>,
    left_out: usize,
    whole: Option<Utf8PathBuf>,
    file: Option<File>,
    /// How many parts came.
    reads: usize,
}

impl Kept {
    fn add(&mut self, bytes: &[u8]) {
        self.reads += 1;
        let most = if self.whole.is_some() { KEPT_WHOLE } else { KEPT_START };
        let room = most.saturating_sub(self.start.len()).min(bytes.len());
        let (first, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.start.extend_from_slice(first);
        if let (Some(path), None, false) = (&self.whole, &self.file, rest.is_empty()) {
            self.file = state::open_log(path).ok();
            self.file.take_if(|file| file.write_all(&self.start).is_err());
            // Without the file, the end is kept as for other programs.
            self.whole.take_if(|_| self.file.is_none());
        }
        if let Some(file) = &mut self.file {
            // A full disk ends the file, not the program.
            let _ = file.write_all(rest);
            return;
        }
        self.end.extend_from_slice(rest);
        let excess = self.end.len().saturating_sub(KEPT_END);
        self.end.drain(..excess);
        self.left_out += excess;
    }

    fn text(&self) -> String {
        let start = String::from_utf8_lossy(&self.start);
        let end = String::from_utf8_lossy(&self.end);
        // Before anybody quotes a part of it: half of a secret is not recognised any more.
        mask(&match (self.left_out, &self.whole) {
            (_, Some(path)) if self.file.is_some() => {
                format!("{start}\n[… the whole output is in {path} …]\n")
            }
            (0, _) => format!("{start}{end}"),
            (count, _) => format!("{start}\n[… {count} bytes omitted …]\n{end}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test starts programs as callers do")]
    fn output_is_complete_even_on_a_busy_machine() {
        let print = || {
            let mut command = Command::new("sh");
            command.arg("-c").arg("seq 1 2000; echo the end");
            run(command, b"", None, &|| false, Some("/no/such/folder/out".into())).unwrap().1
        };
        std::thread::scope(|scope| {
            let started: Vec<_> = (0..100).map(|_| scope.spawn(print)).collect();
            for output in started.into_iter().map(|thread| thread.join().unwrap()) {
                assert!(output.ends_with("2000\nthe end\n"), "{output}");
            }
        });
    }
}
