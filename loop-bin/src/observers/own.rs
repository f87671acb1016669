//! The user's own observers: programs that get every event of a run as a line of JSON on stdin.
//!
//! Each has a thread that writes to it. What it does not read in time is left out, so a slow or dead one
//! holds nothing up.

use std::io::{self, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::linux::own_program;
use ralph_base::supervised;
use ralph_project::config::Config;
use ralph_project::diagnosis::Diagnosis;
use ralph_project::project::Project;

use crate::run::observe::{Listener, Observer};
use crate::run::{program, programs_in};

/// How many events wait for a program that is busy.
const MOST_WAITING: usize = 1000;

/// How long a program has to exit after its last event.
const GRACE: Duration = Duration::from_secs(2);

/// How often we check whether it has.
const PULSE: Duration = Duration::from_millis(25);

#[derive(Debug)]
pub(super) struct Own;

impl Observer for Own {
    fn before(&self, project: &Project, _: &Config) -> Vec<Diagnosis> {
        let (programs, others) = programs_in(&project.own_state().observers());
        let used = |path| Diagnosis::Good(format!("{path} gets every event of a run"));
        let unused = |path| {
            Diagnosis::Note(format!(
                "{path} is not executable, so it gets no events; run `chmod +x {path}`"
            ))
        };
        programs.iter().map(used).chain(others.iter().map(unused)).collect()
    }

    fn begin(&self, project: &Project, _: &Config, run: &str) -> Vec<Box<dyn Listener>> {
        let (programs, _) = programs_in(&project.own_state().observers());
        let start = |path: Utf8PathBuf| {
            let name = path.file_name().unwrap_or_default().to_owned();
            let log = project.own_state().logs().join(format!("{run}-observer-{name}.out"));
            let started = start(project, run, &path, &log);
            Box::new(match started {
                Ok((child, stdin)) => Program::of(name, child, stdin),
                Err(error) => Program::broken(name, &format!("cannot be started: {error}")),
            }) as Box<dyn Listener>
        };
        programs.into_iter().map(start).collect()
    }
}

/// Starts a program in the project, below a keeper: it ends with the loop, whatever ends that.
fn start(
    project: &Project,
    run: &str,
    path: &Utf8Path,
    log: &Utf8Path,
) -> io::Result<(Child, ChildStdin)> {
    log.parent().map_or(Ok(()), fs_err::create_dir_all)?;
    let log = fs_err::File::create(log)?.into_parts().0;
    let door = sandbox::door(&own_program()?, None, sandbox::Limits::default());
    let mut command = program(&door, path);
    command.current_dir(project.root()).env("RALPH_RUN", run);
    command.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log);
    let mut child = supervised::patiently(|| command.spawn())?;
    let stdin = child.stdin.take().ok_or_else(|| io::Error::other("it has no standard input"))?;
    Ok((child, stdin))
}

/// A program of the user's that listens.
#[derive(Debug)]
struct Program {
    name: String,
    child: Mutex<Option<Child>>,
    /// The way to its thread; `None` once it gets no more events.
    events: Mutex<Option<SyncSender<Vec<u8>>>>,
    /// What is wrong with it, and whether that has been said.
    trouble: Mutex<(Option<String>, bool)>,
}

impl Program {
    fn of(name: String, child: Child, mut stdin: ChildStdin) -> Self {
        let (events, waiting) = sync_channel::<Vec<u8>>(MOST_WAITING);
        let thread = std::thread::Builder::new().name(format!("observer-{name}"));
        let started = thread.spawn(move || {
            // It may close its input whenever it wants.
            while let Ok(line) = waiting.recv()
                && stdin.write_all(&line).is_ok()
            {}
        });
        let listener = Self {
            name,
            child: Mutex::new(Some(child)),
            events: Mutex::new(Some(events)),
            trouble: Mutex::default(),
        };
        if let Err(error) = started {
            listener.say(&format!("gets no events: {error}"));
        }
        listener
    }

    fn broken(name: String, why: &str) -> Self {
        let (child, events) = (Mutex::default(), Mutex::default());
        let listener = Self { name, child, events, trouble: Mutex::default() };
        listener.say(why);
        listener
    }

    /// Notes what is wrong, unless something was before.
    fn say(&self, what: &str) {
        let (trouble, was_said) = &mut *locked(&self.trouble);
        if trouble.is_none() && !*was_said {
            *trouble = Some(format!("the observer {} {what}", self.name));
        }
    }
}

impl Listener for Program {
    fn hear(&self, line: &[u8]) {
        let mut events = locked(&self.events);
        let Some(way) = &*events else { return };
        match way.try_send([line, b"\n"].concat()) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.say("is slow: it misses events"),
            Err(TrySendError::Disconnected(_)) => {
                *events = None;
                self.say("has ended: it gets no more events");
            }
        }
    }

    fn trouble(&self) -> Option<String> {
        let (trouble, was_said) = &mut *locked(&self.trouble);
        let said = if *was_said { None } else { trouble.take() };
        *was_said |= said.is_some();
        said
    }

    fn pid(&self) -> u32 {
        locked(&self.child).as_ref().map_or(0, Child::id)
    }

    fn end(&self, is_hurried: &dyn Fn() -> bool) {
        // Its thread writes what waits, then closes its input.
        *locked(&self.events) = None;
        let Some(mut child) = locked(&self.child).take() else { return };
        let begun = Instant::now();
        while begun.elapsed() < GRACE && !is_hurried() {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(PULSE);
        }
        self.say("did not end within 2 s of the run, and was killed");
        // An error means that it has ended.
        let _ = supervised::kill(&mut child, true);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
