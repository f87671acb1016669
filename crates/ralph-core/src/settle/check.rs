//! The user's own checks: each command under `sh -c`, in a process group of its own, until a
//! deadline, with as much of its output as a person or a prompt can use.

use std::io::{self, PipeReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use camino::Utf8Path;
use wait_timeout::ChildExt;

/// What is kept of the beginning and of the end of the output.
const KEPT_START: usize = 16 * 1024;
const KEPT_END: usize = 48 * 1024;

/// How often the wish to stop is looked at.
const PULSE: Duration = Duration::from_millis(25);

/// How long the pipe is read after the command ended: a process that it left behind may hold it.
const DRAIN: Duration = Duration::from_millis(500);

/// One check that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The command as the user wrote it.
    pub command: String,
    /// How it ended.
    pub end: CheckEnd,
    /// What it printed, cut in the middle.
    pub output: String,
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckEnd {
    /// By itself, with this code; none if a signal ended it.
    Exited(Option<i32>),
    /// It took too long and was killed.
    TimedOut,
    /// We were asked to stop, and it was killed.
    Stopped,
}

impl Check {
    /// Whether it passed.
    pub fn passed(&self) -> bool {
        self.end == CheckEnd::Exited(Some(0))
    }

    /// What became of it, in a few words.
    pub fn verdict(&self) -> String {
        match self.end {
            CheckEnd::Exited(Some(0)) => "passed".to_owned(),
            CheckEnd::Exited(Some(code)) => format!("failed with exit code {code}"),
            CheckEnd::Exited(None) => "was ended by a signal".to_owned(),
            CheckEnd::TimedOut => "took too long".to_owned(),
            CheckEnd::Stopped => "was stopped".to_owned(),
        }
    }
}

/// A variable of the processes that serve a run of the loop without being its agent. They outlive a
/// loop that is killed, and the next start ends them.
pub const RUN_MARK: &str = "RALPH_INTERNAL__RUN";

/// Where checks run.
#[derive(Debug, Clone, Copy)]
pub struct Bench<'a> {
    /// The folder.
    pub dir: &'a Utf8Path,
    /// The loop's run that they serve; empty outside of one.
    pub run: &'a str,
}

/// Runs the checks in order, up to the first that does not pass. `stop` is asked before each of
/// them and all the time.
pub fn run_checks(
    bench: Bench<'_>,
    commands: &[String],
    limit: Option<Duration>,
    stop: &dyn Fn() -> bool,
) -> io::Result<Vec<Check>> {
    let mut checks: Vec<Check> = Vec::new();
    for command in commands {
        let check = match stop() {
            true => {
                Check { command: command.clone(), end: CheckEnd::Stopped, output: String::new() }
            }
            false => run(bench, command, limit, stop)?,
        };
        let passed = check.passed();
        checks.push(check);
        if !passed {
            break;
        }
    }
    Ok(checks)
}

fn run(
    bench: Bench<'_>,
    command: &str,
    limit: Option<Duration>,
    stop: &dyn Fn() -> bool,
) -> io::Result<Check> {
    let (reader, writer) = io::pipe()?;
    let mut child = shell(bench.dir, command)
        .env(RUN_MARK, bench.run)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()?;
    let kept = Arc::new(Mutex::new(Kept::default()));
    let closed = collect(reader, Arc::clone(&kept));
    let end = wait(&mut child, limit, stop)?;
    // Whoever still holds the pipe was left behind by the command, in its group or outside of it.
    if !matches!(end, CheckEnd::Exited(_)) || closed.recv_timeout(PULSE).is_err() {
        kill_group(child.id());
        let _ = closed.recv_timeout(DRAIN);
    }
    let output = kept.lock().unwrap_or_else(PoisonError::into_inner).text();
    Ok(Check { command: command.to_owned(), end, output })
}

#[expect(clippy::disallowed_methods, reason = "this is the door for the user's checks")]
fn shell(dir: &Utf8Path, command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).current_dir(dir).process_group(0);
    shell
}

fn wait(
    child: &mut Child,
    limit: Option<Duration>,
    stop: &dyn Fn() -> bool,
) -> io::Result<CheckEnd> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.wait_timeout(PULSE)? {
            return Ok(CheckEnd::Exited(ExitStatus::code(&status)));
        }
        let end = match limit {
            _ if stop() => CheckEnd::Stopped,
            Some(limit) if begun.elapsed() >= limit => CheckEnd::TimedOut,
            _ => continue,
        };
        kill_group(child.id());
        child.kill()?;
        child.wait()?;
        return Ok(end);
    }
}

/// Through the shell, because the standard library kills single processes only and the hooks are
/// to link no more than they need.
fn kill_group(group: u32) {
    // In this form every shell understands it.
    let kill = format!("kill -s KILL -- -{group}");
    let mut shell = shell(Utf8Path::new("/"), &kill);
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
            count => format!("{start}\n[… {count} bytes left out …]\n{end}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    fn check(command: &str, limit: Option<Duration>, stop: bool) -> Check {
        let scratch = Scratch::new();
        run(Bench { dir: scratch.root(), run: "" }, command, limit, &|| stop).unwrap()
    }

    #[test]
    fn the_exit_code_decides_and_both_outputs_are_kept() {
        let failed = check("echo out; echo err >&2; exit 3", None, false);
        assert_eq!(failed.end, CheckEnd::Exited(Some(3)));
        assert_eq!(failed.output, "out\nerr\n");
        assert!(check("true", None, false).passed());
        assert_eq!(check("kill -9 $$", None, false).end, CheckEnd::Exited(None));
    }

    #[test]
    fn a_check_that_takes_too_long_is_killed_with_its_children() {
        let begun = Instant::now();
        let limit = Some(Duration::from_millis(100));
        let slow = check("sleep 60 & echo $!; sleep 60; true", limit, false);
        assert_eq!(slow.end, CheckEnd::TimedOut);
        test_support::until("its child is gone", || !test_support::is_alive(&slow.output));
        assert_eq!(check("sleep 60", None, true).end, CheckEnd::Stopped);
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_process_left_behind_does_not_hold_us_up() {
        let begun = Instant::now();
        assert!(check("sleep 60 & echo done", None, false).passed());
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn long_output_keeps_its_beginning_and_its_end() {
        let long = check("echo first; yes | head -c 1000000; echo last", None, false);
        assert!(long.output.starts_with("first\n") && long.output.ends_with("last\n"));
        assert!(long.output.len() < 70 * 1024 && long.output.contains("bytes left out"));
    }

    #[test]
    fn checks_end_at_the_first_failure() {
        let scratch = Scratch::new();
        let commands = ["true", "false", "touch ran"].map(str::to_owned);
        let bench = Bench { dir: scratch.root(), run: "" };
        let checks = run_checks(bench, &commands, None, &|| false).unwrap();
        assert_eq!(checks.iter().map(Check::passed).collect::<Vec<_>>(), [true, false]);
        assert!(!scratch.path("ran").exists());
    }
}
