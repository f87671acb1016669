//! The process of a worker, as the run's process sees it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use nix::sys::signal::{Signal as Sent, kill};
use nix::unistd::Pid;
use ralph_base::state::name_of_worker;
use ralph_project::checks::RUN_MARK;

use super::part::Part;
use crate::exit::Failure;
use crate::linux;
use crate::run::context::Context;
use crate::signals::Signal;
use crate::terminal::{Relayed, complain, say};

/// A worker at work.
pub(super) struct Process {
    pub(super) part: Part,
    child: Child,
    /// Open for as long as we live; the worker ends when it is closed.
    _input: Option<ChildStdin>,
    said: Receiver<String>,
    /// How often it died so far.
    pub(super) deaths: u32,
    /// Whether a signal ended it.
    pub(super) was_killed: bool,
    is_json: bool,
    prefix: String,
}

impl Process {
    /// Starts it in a process group of its own: Ctrl-C in a terminal reaches us, and we pass it on.
    #[expect(clippy::disallowed_methods, reason = "this is the door for starting a worker")]
    pub(super) fn start(context: &Context, part: Part) -> Result<Self, Failure> {
        let mut command = Command::new(linux::own_program()?);
        command.arg0("ralph-loop");
        command.arg("worker").env(RUN_MARK, &part.run).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let mut input = child.stdin.take();
        if let Some(input) = &mut input {
            writeln!(input, "{}", serde_json::to_string(&part)?)?;
        }
        let (sender, said) = mpsc::channel();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        let prefix = if part.workers > 1 { format!("[{}] ", part.worker) } else { String::new() };
        let is_json = context.config.run.json_events;
        let new = Self {
            part,
            child,
            _input: input,
            said,
            deaths: 0,
            was_killed: false,
            is_json,
            prefix,
        };
        Ok(new)
    }

    /// The name under which it works.
    pub(super) fn run(&self) -> String {
        self.part
            .id()
            .map_or_else(|_| self.part.run.clone(), |id| name_of_worker(&self.part.run, &id))
    }

    /// Passes a signal on.
    pub(super) fn interrupt(&self, signal: Option<Signal>) {
        let sent = match signal {
            Some(Signal::Interrupt) => Sent::SIGINT,
            _ => Sent::SIGTERM,
        };
        if let Ok(pid) = i32::try_from(self.child.id()) {
            let _ = kill(Pid::from_raw(pid), sent);
        }
    }

    /// The next thing that it said, for the run's own view; what is not for that is printed as it is.
    pub(super) fn said(&mut self, wait: Duration) -> Option<Relayed> {
        while let Ok(line) = self.said.recv_timeout(wait) {
            match serde_json::from_str::<Relayed>(&line) {
                Ok(relayed) => {
                    return Some(Relayed {
                        text: format!("{}{}", self.prefix, relayed.text),
                        ..relayed
                    });
                }
                Err(_) if self.is_json => say(line),
                Err(_) => complain(&line),
            }
        }
        None
    }

    /// How it ended, in words, if it has.
    pub(super) fn has_ended(&mut self) -> Result<Option<String>, Failure> {
        let Some(status) = self.child.try_wait()? else { return Ok(None) };
        self.was_killed = status.signal().is_some();
        Ok(Some(match (status.signal(), status.code()) {
            (Some(signal), _) => format!("was killed by signal {signal}"),
            (_, code) => format!("ended with exit code {}", code.unwrap_or(-1)),
        }))
    }
}
