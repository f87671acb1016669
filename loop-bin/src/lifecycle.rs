//! Lifecycle scripts: `started`, `next_iteration`, `post_iteration`, `finished`.
//!
//! What their exit codes mean is here; what the loop does about it is `run/mod.rs`. Programs in the
//! folder `custom` beside them are the user's own: a script calls them by name, the loop never does.

mod flaw;

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_core::checks::RUN_MARK;
use ralph_core::config::{FailBehavior, Hooks};
use ralph_core::state::{FOREIGN_LIFECYCLE_DIR, StateDir};

pub(crate) use self::flaw::in_scripts;
use crate::agent::Descendants;
use crate::run::Wish;
use crate::signals::Interrupts;

/// How often timeout and signals are looked at.
const PULSE: Duration = Duration::from_millis(20);

/// How long a script has to end after TERM.
const GRACE: Duration = Duration::from_secs(1);

/// What a script did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ran {
    /// It is not there, or switched off.
    No,
    /// It is there and cannot be run.
    NotExecutable(Utf8PathBuf),
    /// The system cannot start it; told in one line.
    NotStarted(String),
    /// It ended by itself.
    Exited(Option<i32>),
    /// It took too long and was ended.
    TimedOut,
    /// We were asked to end, and so it was ended.
    Interrupted,
}

/// Where scripts run, and how.
pub(crate) struct Scripts<'a> {
    pub(crate) settings: &'a Hooks,
    pub(crate) root: &'a Utf8Path,
    pub(crate) state: &'a StateDir,
    /// The loop's run that they serve.
    pub(crate) run: &'a str,
    pub(crate) interrupts: &'a Interrupts,
    /// Where programs are looked for.
    pub(crate) path: &'a str,
}

impl Scripts<'_> {
    /// Runs a script; each of `vars` is given as `RALPH_…` and `FRESHER_…`.
    pub(crate) fn run(
        &self,
        name: &str,
        vars: &[(&str, String)],
        each_line: &mut dyn FnMut(&str),
    ) -> io::Result<Ran> {
        if !self.has(name) {
            return Ok(Ran::No);
        }
        let path = self.folder().join(name);
        if fs_err::metadata(&path)?.permissions().mode() & 0o111 == 0 {
            return Ok(Ran::NotExecutable(path));
        }
        let descendants = Descendants::from_now_on();
        let mut child = match self.command(&path, vars).spawn() {
            Ok(child) => child,
            Err(error) => {
                let why = flaw::of_script(&path).unwrap_or_else(|| error.to_string());
                return Ok(Ran::NotStarted(format!("{path} cannot be started: {why}")));
            }
        };
        let descendants = descendants.led_by(child.id());
        let lines = lines_of(child.stdout.take(), child.stderr.take());
        let (begun, signals) = (Instant::now(), self.interrupts.count());
        loop {
            match lines.recv_timeout(PULSE) {
                Ok(line) => each_line(&line),
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(Duration::from_millis(1)),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(status) = child.try_wait()? {
                // Until both outputs are closed, or held by a server that the script left behind.
                while let Ok(line) = lines.recv_timeout(PULSE) {
                    each_line(&line);
                }
                return Ok(Ran::Exited(status.code()));
            }
            let late = self.settings.timeout.limit().is_some_and(|limit| begun.elapsed() >= limit);
            if late || self.interrupts.count() > signals {
                descendants.end(GRACE, &|| self.interrupts.count() > signals + 1);
                child.kill()?;
                child.wait()?;
                return Ok(if late { Ran::TimedOut } else { Ran::Interrupted });
            }
        }
    }

    /// Whether there is such a script, and it is not switched off.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.is_enabled(name) && self.folder().join(name).is_file()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the door for lifecycle scripts")]
    fn command(&self, path: &Utf8Path, vars: &[(&str, String)]) -> Command {
        let mut command = Command::new(path);
        for (name, value) in vars {
            command.env(format!("RALPH_{name}"), value).env(format!("FRESHER_{name}"), value);
        }
        command
            .env(RUN_MARK, self.run)
            .current_dir(self.root)
            .env("PATH", self.search_path())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The user's own programs come first.
    fn search_path(&self) -> String {
        let custom = StateDir::custom_programs(&self.folder());
        match self.path {
            "" => custom.into_string(),
            path => format!("{custom}:{path}"),
        }
    }

    fn folder(&self) -> Utf8PathBuf {
        folder(self.state, self.root)
    }

    fn is_enabled(&self, name: &str) -> bool {
        let settings = self.settings;
        settings.enabled
            && match name {
                "started" => settings.started,
                "next_iteration" => settings.next_iteration,
                "post_iteration" => settings.post_iteration,
                _ => settings.finished,
            }
    }

    /// What a script wants, and what to tell the user about it.
    pub(crate) fn wish(&self, name: &str, ran: &Ran) -> (Wish, Option<String>) {
        let broken = match self.settings.fail_behavior {
            FailBehavior::Abort => Wish::Stop,
            FailBehavior::Continue => Wish::GoOn,
        };
        match ran {
            Ran::No | Ran::Interrupted | Ran::Exited(Some(0)) => (Wish::GoOn, None),
            Ran::NotExecutable(path) => {
                let advice = format!("{path} is not executable; run `chmod +x {path}`");
                (Wish::GoOn, Some(advice))
            }
            Ran::NotStarted(why) => (broken, Some(why.clone())),
            Ran::Exited(Some(1)) if name == "next_iteration" => {
                (Wish::Skip, Some(format!("{name} skips this iteration")))
            }
            Ran::Exited(Some(1)) => (Wish::GoOn, Some(format!("{name} warns (exit code 1)"))),
            Ran::Exited(Some(2)) => (Wish::Stop, Some(format!("{name} stops the loop"))),
            Ran::Exited(Some(code)) => (broken, Some(format!("{name} failed (exit code {code})"))),
            Ran::Exited(None) => (broken, Some(format!("{name} was ended by a signal"))),
            Ran::TimedOut => (broken, Some(format!("{name} took too long and was ended"))),
        }
    }
}

/// Where the scripts are.
fn folder(state: &StateDir, root: &Utf8Path) -> Utf8PathBuf {
    let (own, foreign) = (state.lifecycle(), root.join(FOREIGN_LIFECYCLE_DIR));
    if !own.is_dir() && foreign.is_dir() { foreign } else { own }
}

/// Both outputs as lines; closed when both are.
fn lines_of(
    out: Option<impl Read + Send + 'static>,
    err: Option<impl Read + Send + 'static>,
) -> Receiver<String> {
    let (sender, lines) = mpsc::sync_channel(256);
    let other = sender.clone();
    let follow = |pipe: Box<dyn Read + Send>, sender: mpsc::SyncSender<String>| {
        std::thread::spawn(move || {
            // Bounded, so that a script without newlines cannot fill the memory.
            let mut reader = BufReader::new(pipe);
            let mut line = Vec::new();
            while let Ok(1..) = (&mut reader).take(4096).read_until(b'\n', &mut line) {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                line.clear();
                if sender.send(text).is_err() {
                    return;
                }
            }
        });
    };
    if let Some(out) = out {
        follow(Box::new(out), sender);
    }
    if let Some(err) = err {
        follow(Box::new(err), other);
    }
    lines
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    fn wish(name: &str, ran: Ran, fail_behavior: FailBehavior) -> Wish {
        let scratch = Scratch::new();
        let settings = Hooks { fail_behavior, ..Hooks::default() };
        let scripts = Scripts {
            settings: &settings,
            root: scratch.root(),
            state: &StateDir::of_project(scratch.root()),
            run: "",
            interrupts: &Interrupts::default(),
            path: "",
        };
        scripts.wish(name, &ran).0
    }

    #[test]
    fn exit_codes_mean_what_is_documented() {
        use FailBehavior::{Abort, Continue};
        let exited = |code| Ran::Exited(Some(code));
        for (name, ran, behavior, expected) in [
            ("started", exited(0), Abort, Wish::GoOn),
            ("started", exited(1), Abort, Wish::GoOn),
            ("started", exited(2), Continue, Wish::Stop),
            ("started", exited(3), Continue, Wish::GoOn),
            ("started", exited(3), Abort, Wish::Stop),
            ("next_iteration", exited(1), Continue, Wish::Skip),
            ("next_iteration", Ran::TimedOut, Continue, Wish::GoOn),
            ("next_iteration", Ran::TimedOut, Abort, Wish::Stop),
            ("next_iteration", Ran::Interrupted, Abort, Wish::GoOn),
            ("post_iteration", Ran::NotExecutable("x".into()), Abort, Wish::GoOn),
            ("post_iteration", Ran::NotStarted("x".into()), Abort, Wish::Stop),
            ("post_iteration", Ran::NotStarted("x".into()), Continue, Wish::GoOn),
            ("finished", Ran::No, Abort, Wish::GoOn),
        ] {
            assert_eq!(wish(name, ran.clone(), behavior), expected, "{name} {ran:?}");
        }
    }
}
