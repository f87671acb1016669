//! Whether this is the loop of a fleet's task, what the run is called then, and how it ends with the task.

use std::time::Duration;

use nix::sys::signal::{Signal, raise};
use nix::unistd::getppid;
use ralph_base::env::Env;

/// Set for the loop of a task, which was given the options of the task: the task's process, and the name that the run
/// is to have, if one.
pub(crate) const IN_TASK: &str = "RALPH_INTERNAL__IN_TASK";

/// How often the loop of a task looks whether the task is still there.
const PULSE: Duration = Duration::from_millis(200);

/// In the loop of a task: asks us to end as soon as the task that started us has ended. An agent's own loop was
/// started by another process.
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

/// The name of the run, in the loop of a task that gives it one.
pub(crate) fn run_of_task(env: &Env) -> Option<String> {
    started_by_task(env).filter(|run| !run.is_empty())
}

fn started_by_task(env: &Env) -> Option<String> {
    let task = env.get(IN_TASK)?;
    let (process, run) = task.split_once(' ')?;
    (process == getppid().to_string()).then(|| run.to_owned())
}
