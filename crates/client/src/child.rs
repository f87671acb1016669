//! Runs the agent: passes the prompt, follows the output, watches deadline and silence, and ends
//! everything that the agent started.

use std::io::{self, Write};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use camino::Utf8Path;
use jiff::Timestamp;
use nix::sys::signal::{Signal as Sent, kill};
use nix::unistd::Pid;
use ralph_base::fault;
use ralph_base::supervised::{Door, patiently};
use ralph_project::client::SCRUBBED_VARS;
use ralph_project::mailbox::{Mailbox, Question};
use sandbox::{Descendants, is_tidying};
use wait_timeout::ChildExt;

use super::output::{self, Log};
use super::processes::include_ours;
use super::stream::{Said, Stream, Verdict};
use super::{Refusal, Totals};
use crate::signals::{Interrupts, Signal};

/// How often deadline, silence and signals are checked.
const PULSE: Duration = Duration::from_millis(25);

/// The longest time between two refreshes of the display.
const CLOCK: Duration = Duration::from_millis(500);

/// How long the pipes are read after everything that could write to them was killed.
const DRAIN: Duration = Duration::from_secs(2);

/// How long an agent that has finished, or its background processes, may take to exit.
const TIDY_GRACE: Duration = Duration::from_secs(2);

/// How long a keeper may take to kill what it keeps.
const KEEPER_GRACE: Duration = Duration::from_secs(6);

/// Why an agent is ended whose processes cannot be stopped.
const UNSTOPPABLE: &str = "it starts processes faster than they can be stopped";

/// The number of bytes of a megabyte.
pub const MEGABYTE: u64 = 1_000_000;

/// Messages of agents that do not know a session.
const LOST: &str = "\
    no conversation found|no rollout found|session not found|no session found|\
    invalid session identifier";

/// The limits and callbacks for watching an agent.
pub struct Supervision<'a> {
    /// How long the agent may run.
    pub deadline: Option<Duration>,
    /// How much longer than that it may run, because it waited for its service.
    pub waited: &'a dyn Fn(&Stream) -> Duration,
    /// How long it may print nothing while none of our hooks is running.
    pub silence: Option<Duration>,
    /// How long it has to exit after SIGTERM.
    pub grace: Duration,
    /// How many bytes it may print; 0 means any number.
    pub most_output: u64,
    /// Signals that ask us to terminate.
    pub interrupts: &'a Interrupts,
    /// Called repeatedly while the agent works.
    pub beat: &'a dyn Fn(),
    /// Whether an agent that has been silent since its result still waits for its own background
    /// work, and not only for a command that it forgot.
    pub awaits_work: &'a dyn Fn(&Stream) -> bool,
    /// Returns why the agent must be ended at once, if it must.
    pub forbids: &'a dyn Fn(&Stream) -> Option<RunEnd>,
}

/// How the agent's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// It exited by itself.
    Exited(ExitStatus),
    /// Its turn was over, and only background commands were left.
    Finished,
    /// It ran too long.
    Overdue(Duration),
    /// It printed nothing for too long.
    Silent(Duration),
    /// We were asked to terminate.
    Signalled(Signal),
    /// It did something forbidden.
    Forbidden(String),
    /// No hook judges what it does.
    Unguarded(String),
    /// It used more than it may, or could not be paused.
    Unruly(String),
}

/// An agent that has ended.
#[derive(Debug, Clone)]
pub struct AgentRun {
    /// How it ended.
    pub end: RunEnd,
    /// What was seen in its output.
    pub seen: Stream,
}

impl AgentRun {
    /// Returns the exit code, if there is one.
    pub fn exit_code(&self) -> Option<i32> {
        match self.end {
            RunEnd::Exited(status) => status.code(),
            RunEnd::Finished => Some(0),
            _ => None,
        }
    }

    /// Returns whether the agent ended because its budget was exhausted.
    pub fn is_over_budget(&self) -> bool {
        let reason = self.seen.verdict.as_ref().and_then(|verdict| verdict.reason.as_deref());
        matches!(reason, Some("budget_exhausted" | "error_max_budget_usd"))
    }

    /// Returns whether the client no longer knows the session to resume.
    pub fn has_lost_session(&self) -> bool {
        let Stream { verdict, said: Said { text, complaints }, .. } = &self.seen;
        let said = verdict.as_ref().map_or("", |verdict| &verdict.text);
        let said = [said, text, complaints].join("\n").to_lowercase();
        self.exit_code() != Some(0) && LOST.split('|').any(|words| said.contains(words))
    }

    /// Returns the service's refusal, if that ended the agent.
    pub fn refusal(&self) -> Option<Refusal> {
        let Stream { verdict, said: Said { text, complaints }, rejected, refused, .. } = &self.seen;
        let now = Timestamp::now();
        let said = match verdict {
            Some(verdict) => vec![&verdict.text],
            None => vec![text, complaints],
        };
        let mut said = said.into_iter().filter(|text| !text.trim().is_empty());
        let failed =
            verdict.as_ref().map_or(self.exit_code() != Some(0), |verdict| verdict.is_error);
        let known = |refusal: Refusal| match (refusal, rejected) {
            (Refusal::Later(known), Some(reset)) => Refusal::Later(reset.or(known)),
            (refusal, _) => refusal,
        };
        if !failed {
            return Refusal::alone(said.next()?, now).map(known);
        }
        let Verdict { reason, api_status, .. } = verdict.clone().unwrap_or_default();
        let reason = reason.as_deref();
        // With another reason, the text is about something else.
        let is_services = matches!(
            reason,
            None | Some("api_error" | "blocking_limit" | "error_during_execution")
        );
        let in_text =
            || said.find_map(|text| Refusal::at_the_end(text, now)).filter(|_| is_services);
        let full = (reason == Some("prompt_too_long")).then_some(Refusal::Full);
        full.or_else(|| rejected.map(Refusal::Later))
            .or_else(|| refused.clone())
            .or_else(in_text)
            .or_else(|| Refusal::in_error("", api_status, now))
            .or_else(|| Refusal::of_exit_code(self.exit_code()?))
    }

    /// Returns whether the context was too full to continue.
    pub fn is_context_full(&self) -> bool {
        self.refusal() == Some(Refusal::Full)
    }
}

/// Starts an agent below its keeper.
fn spawn(line: &str, root: &Utf8Path, vars: &[(String, String)], door: &Door) -> io::Result<Child> {
    let mut command = door.command("sh");
    for name in SCRUBBED_VARS.split(' ') {
        command.env_remove(name);
    }
    command.arg("-c").arg(line).current_dir(root).envs(vars.iter().cloned());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// A running agent.
pub struct Session {
    child: Child,
    /// Whether everything below its keeper is stopped.
    is_frozen: bool,
    seen: Arc<Mutex<Stream>>,
    ticks: Receiver<()>,
}

/// Why watching an agent ended.
#[derive(Debug)]
pub enum Turn {
    /// It has ended, together with everything that it started.
    Ended(Box<AgentRun>),
    /// It wants to stop, and its stop hook waits for our answer.
    Asks(Question),
}

impl Session {
    /// Starts an agent with a prompt; its output goes to the log. `earlier` is the usage of the
    /// session that it resumes.
    pub fn start(
        line: &str,
        root: &Utf8Path,
        (vars, door): (&[(String, String)], &Door),
        (prompt, earlier): (&str, Totals),
        log: Log,
    ) -> io::Result<Self> {
        fault::start()?;
        let mut child = patiently(|| spawn(line, root, vars, door))?;
        let seen = Arc::new(Mutex::new(Stream::of_agent_in(root.as_str(), earlier)));
        match feed(&mut child, prompt).and_then(|()| follow(&mut child, log, &seen)) {
            Ok(ticks) => Ok(Self { child, is_frozen: false, seen, ticks }),
            Err(error) => {
                // Nobody would see what it does.
                end_at_once(&mut child)?;
                Err(error)
            }
        }
    }

    /// Returns what was seen so far.
    pub fn seen(&self) -> Stream {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn below(&self) -> Descendants {
        Descendants::of(self.child.id())
    }

    /// Watches the agent until it ends or, with a mailbox, asks whether it may stop. Then everything
    /// that it started is stopped until it is watched again.
    pub fn watch(
        &mut self,
        watch: &Supervision<'_>,
        mailbox: Option<&Mailbox>,
        look: &mut dyn FnMut(&Stream),
    ) -> io::Result<Turn> {
        if std::mem::take(&mut self.is_frozen) {
            self.below().send(Sent::SIGCONT);
        }
        let begun = Instant::now();
        let (mut shown, mut hook_seen) = (begun, begun);
        let end = loop {
            match self.ticks.recv_timeout(PULSE) {
                Ok(()) => look(&self.seen()),
                // The display includes a clock, which runs even while the agent is silent.
                Err(RecvTimeoutError::Timeout) if shown.elapsed() >= CLOCK => {
                    shown = Instant::now();
                    look(&self.seen());
                }
                Err(RecvTimeoutError::Timeout) => {}
                // Both pipes are closed; only the exit code is missing.
                Err(RecvTimeoutError::Disconnected) => drop(self.child.wait_timeout(PULSE)?),
            }
            (watch.beat)();
            if let Some(status) = self.child.try_wait()? {
                break RunEnd::Exited(status);
            }
            if let Some(question) = mailbox.and_then(Mailbox::waiting) {
                // Until it goes on, nothing of it may change what is staged, checked and committed.
                self.is_frozen = true;
                if self.below().freeze() {
                    return Ok(Turn::Asks(question));
                }
                break RunEnd::Unruly(UNSTOPPABLE.to_owned());
            }
            let reason = {
                let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                watch.reason_to_end(begun, seen.heard.unwrap_or(begun).max(hook_seen), &seen)
            };
            match reason {
                // The client prints nothing while a hook is running, however long that takes.
                Some(RunEnd::Silent(_) | RunEnd::Finished)
                    if include_ours(&self.below().living()) =>
                {
                    hook_seen = Instant::now();
                }
                // The agent itself has ended in time.
                Some(RunEnd::Overdue(_)) if is_tidying(self.child.id()) => {}
                Some(end) => break end,
                None => {}
            }
        };
        // A signal may have come since the last beat, and ending the agent takes time.
        (watch.beat)();
        if !matches!(end, RunEnd::Exited(_)) {
            end_everything(&mut self.child, watch)?;
        }
        drain(&self.ticks);
        look(&self.seen());
        Ok(Turn::Ended(Box::new(AgentRun { end, seen: self.seen() })))
    }
}

impl Supervision<'_> {
    fn reason_to_end(&self, begun: Instant, heard: Instant, seen: &Stream) -> Option<RunEnd> {
        if let Some(signal) = self.interrupts.signal() {
            return Some(RunEnd::Signalled(signal));
        }
        if let Some(end) = (self.forbids)(seen) {
            return Some(end);
        }
        if self.most_output > 0 && seen.printed > self.most_output {
            let most = self.most_output / MEGABYTE;
            return Some(RunEnd::Unruly(format!(
                "it printed more than {most} MB ([limits] output)"
            )));
        }
        // Finished work must not be lost because of what follows it.
        let has_result = seen.verdict.is_some();
        let spent = |limit: &Duration| begun.elapsed() >= *limit + (self.waited)(seen);
        if let Some(limit) = self.deadline.filter(spent) {
            return Some(if has_result { RunEnd::Finished } else { RunEnd::Overdue(limit) });
        }
        let patience = self.grace.max(TIDY_GRACE);
        if has_result && heard.elapsed() >= patience && !(self.awaits_work)(seen) {
            return Some(RunEnd::Finished);
        }
        if seen.waits.is_waiting() {
            return None;
        }
        let silent = self.silence.filter(|limit| heard.elapsed() >= *limit)?;
        Some(if has_result { RunEnd::Finished } else { RunEnd::Silent(silent) })
    }
}

/// Writes the prompt in a separate thread: an agent that does not read must not block us, and it is not an
/// error if it exits without reading everything.
fn feed(child: &mut Child, prompt: &str) -> io::Result<()> {
    let (Some(mut stdin), prompt) = (child.stdin.take(), prompt.to_owned()) else { return Ok(()) };
    let write = move || drop(stdin.write_all(prompt.as_bytes()));
    std::thread::Builder::new().spawn(write).map(drop)
}

fn follow(child: &mut Child, log: Log, seen: &Arc<Mutex<Stream>>) -> io::Result<Receiver<()>> {
    let (tick, ticks) = mpsc::sync_channel(1);
    let log = Arc::new(Mutex::new(log));
    if let Some(out) = child.stdout.take() {
        output::follow(out, Stream::line, Arc::clone(&log), Arc::clone(seen), tick.clone())?;
    }
    if let Some(err) = child.stderr.take() {
        output::follow(err, Stream::complaint, log, Arc::clone(seen), tick)?;
    }
    Ok(ticks)
}

/// Ends everything that the agent started: its keeper asks it to end, and kills what is left after
/// the grace period.
fn end_everything(keeper: &mut Child, watch: &Supervision<'_>) -> io::Result<()> {
    let pid = Pid::from_raw(keeper.id().cast_signed());
    let begun = Instant::now();
    let _ = kill(pid, Sent::SIGTERM);
    while begun.elapsed() < watch.grace && watch.interrupts.count() < 2 {
        if keeper.wait_timeout(PULSE)?.is_some() {
            return Ok(());
        }
    }
    end_at_once(keeper)
}

/// Has the keeper kill everything that the agent started.
fn end_at_once(keeper: &mut Child) -> io::Result<()> {
    let _ = kill(Pid::from_raw(keeper.id().cast_signed()), Sent::SIGQUIT);
    if keeper.wait_timeout(KEEPER_GRACE)?.is_none() {
        keeper.kill()?;
        keeper.wait()?;
    }
    Ok(())
}

/// Waits until the pipes close, as everything that could write to them is gone; the limit is for a
/// process beyond our reach.
fn drain(ticks: &Receiver<()>) {
    let begun = Instant::now();
    while begun.elapsed() < DRAIN {
        if let Err(RecvTimeoutError::Disconnected) = ticks.recv_timeout(PULSE) {
            return;
        }
    }
}

#[cfg(test)]
#[path = "child_tests.rs"]
mod tests;
