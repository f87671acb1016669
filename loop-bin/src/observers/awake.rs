//! Keeps the machine from falling asleep for want of a user, for as long as a run lasts: no event
//! matters to it. A closed lid still puts a laptop to sleep; `run/wait.rs` notices that afterwards.

use std::process::{Child, Stdio};
use std::sync::{Mutex, PoisonError};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ralph_base::linux::own_program;
use ralph_project::config::Config;
use ralph_project::diagnosis::Diagnosis;
use ralph_project::project::Project;

use crate::run::observe::{Listener, Observer};

/// The programs that do it on macOS and on Linux with systemd; `{}` is our process.
const PROGRAMS: [&str; 2] = [
    "caffeinate -i -w {}",
    "systemd-inhibit --what=idle --who=ralph-loop --why=run --mode=block sleep infinity",
];

#[derive(Debug)]
pub(super) struct Awake;

impl Observer for Awake {
    fn before(&self, _: &Project, config: &Config) -> Vec<Diagnosis> {
        let words = command(config).unwrap_or_default();
        let said =
            |name| Diagnosis::Good(format!("this machine stays awake during a run ({name})"));
        words.first().map(said).into_iter().collect()
    }

    fn begin(&self, _: &Project, config: &Config, _: &str) -> Vec<Box<dyn Listener>> {
        let started = command(config).and_then(|words| start(&words));
        let listener = |child| Box::new(Inhibitor(Mutex::new(child))) as Box<dyn Listener>;
        started.map(listener).into_iter().collect()
    }
}

/// The command line, if it is wanted and the program is there.
#[expect(clippy::disallowed_methods, reason = "the PATH of a program that is started")]
fn command(config: &Config) -> Option<Vec<String>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let pid = std::process::id().to_string();
    let lines = PROGRAMS.into_iter().filter(|_| config.machine.keep_awake);
    let mut lines = lines.map(|line| line.replace("{}", &pid));
    let is_there = |line: &String| {
        let name = line.split(' ').next().unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
    };
    Some(lines.find(is_there)?.split(' ').map(str::to_owned).collect())
}

/// Starts it below a keeper, which ends it with the loop, whatever ends that.
fn start(words: &[String]) -> Option<Child> {
    let (name, args) = words.split_first()?;
    let door = sandbox::door(&own_program().ok()?, None, sandbox::Limits::default());
    let mut command = door.command(name);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().ok()
}

#[derive(Debug)]
struct Inhibitor(Mutex<Child>);

impl Listener for Inhibitor {
    fn hear(&self, _: &[u8]) {}

    /// Where it may not keep the machine awake, nothing is lost.
    fn trouble(&self) -> Option<String> {
        None
    }

    fn pid(&self) -> u32 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).id()
    }

    fn end(&self, _: &dyn Fn() -> bool) {
        let mut child = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGQUIT);
        let _ = child.wait();
    }
}
