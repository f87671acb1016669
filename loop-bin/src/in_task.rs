//! Runs the loop as a child process for one story, and lets that child find out its task.

use std::io;
use std::process::Command;
use std::time::Duration;

use camino::Utf8Path;
use client::signals::Interrupts;
use nix::sys::signal::{Signal, raise};
use nix::unistd::getppid;
use ralph_base::env::Env;
use ralph_base::linux::own_program;
use ralph_base::state::keep_tag;
use ralph_base::supervised;
use ralph_project::config::Flag;

/// Set for such a child: the parent's process id and, if it works in the project, the run's name, the branch to land
/// on, Task Master's tag, and the story, separated by spaces.
const IN_TASK: &str = "RALPH_INTERNAL__IN_TASK";

/// How often the child checks that its parent is alive.
const PULSE: Duration = Duration::from_millis(200);

/// Runs such a child with our own options; returns its exit code, or `None` if it was killed.
#[expect(clippy::disallowed_methods, reason = "our own program, as the user started it")]
pub(crate) fn run_loop(
    interrupts: &Interrupts,
    task: &[&str],
    change: impl FnOnce(&mut Command),
) -> io::Result<Option<u8>> {
    let mut command = Command::new(own_program()?);
    command.args(std::env::args_os().skip(1));
    let process = std::process::id().to_string();
    command.env(IN_TASK, [&[&*process], task].concat().join(" "));
    change(&mut command);
    let mut child = command.spawn()?;
    while child.try_wait()?.is_none() {
        if interrupts.wait(Duration::from_millis(50)).is_some() {
            supervised::signal("TERM", &[child.id().to_string()]);
            break;
        }
    }
    Ok(child.wait()?.code().and_then(|code| u8::try_from(code).ok()))
}

/// In such a child: sends itself SIGTERM once its parent has ended. The variable also reaches loops that an agent
/// starts, which have another parent.
pub(crate) fn end_with_task(env: &Env) -> bool {
    let started_by = getppid();
    if started_by_task(env).is_some() {
        let _ = std::thread::Builder::new().spawn(move || {
            while getppid() == started_by {
                std::thread::sleep(PULSE);
            }
            raise(Signal::SIGTERM)
        });
    }
    env.get(IN_TASK).is_some()
}

/// The run's name, if the parent gave one.
pub(crate) fn run_of_task(env: &Env) -> Option<String> {
    Some(started_by_task(env)?.first()?.clone())
}

/// The branch and the story of such a run, as flags. Restores the Task Master tag of the parent's start.
pub(crate) fn flags(env: &Env, root: &Utf8Path) -> Vec<Flag> {
    match started_by_task(env).as_deref() {
        Some([_, branch, tag, story]) => {
            keep_tag(root, tag);
            vec![Flag::new("loop.branch", branch), Flag::new("loop.story", story)]
        }
        _ => Vec::new(),
    }
}

fn started_by_task(env: &Env) -> Option<Vec<String>> {
    let task = env.get(IN_TASK)?;
    let mut words = task.splitn(5, ' ').map(str::to_owned);
    words.next().filter(|process| *process == getppid().to_string())?;
    Some(words.collect())
}
