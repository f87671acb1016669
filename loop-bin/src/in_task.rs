//! Whether another process of ours started this loop for one story, what it is to do then, and how it ends with it.

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

/// Set for such a loop: the process that started it and, where it works in the project, the name of the run, the branch
/// on which the work lands, Task Master's tag, and the story, with a space between them.
const IN_TASK: &str = "RALPH_INTERNAL__IN_TASK";

/// How often the loop looks whether the process that started it is still there.
const PULSE: Duration = Duration::from_millis(200);

/// Runs such a loop, with the options that we were given; returns its exit code, none if it was killed.
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

/// In such a loop: asks us to end as soon as the process that started us has ended. An agent's own loop was started
/// by another one.
pub(crate) fn end_with_task(env: &Env) -> bool {
    let started_by = getppid();
    if started_by_task(env).is_some() {
        std::thread::spawn(move || {
            while getppid() == started_by {
                std::thread::sleep(PULSE);
            }
            raise(Signal::SIGTERM)
        });
    }
    env.get(IN_TASK).is_some()
}

/// The name of the run, where it is one of several for a process of ours.
pub(crate) fn run_of_task(env: &Env) -> Option<String> {
    Some(started_by_task(env)?.first()?.clone())
}

/// The branch and the story of such a run, as flags. It goes on with the tag that was current before.
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
