//! A run of the loop.
//!
//! | what | where |
//! | --- | --- |
//! | the core loop, and what it owns | `conductor.rs`, `state.rs` |
//! | what follows from what happened | `decide/` |
//! | before the first story | `start/`, `first.rs` |
//! | which story is next; its job; what becomes of it | `choose.rs`, `begin.rs`, `settle.rs` |
//! | landing, and attempts that do not land | `land.rs`, `discard.rs` |
//! | the attempt itself, in its copy | `attempt/`, started by `slots.rs` |
//! | what never changes; what is on disk, and shown | `context.rs`, `record.rs`, `books.rs`, `outlets.rs` |
//! | lifecycle scripts, waits, messages to the user, the end | `scripts.rs`, `wait.rs`, `notify.rs`, `finish.rs` |
//! | writing the plan instead of working through it | `planning.rs` |

mod appended;
mod attempt;
mod begin;
pub(crate) mod books;
mod choose;
mod conductor;
mod context;
mod decide;
mod discard;
mod finish;
mod first;
mod land;
mod leftovers;
mod notify;
mod outlets;
mod plan_files;
mod planning;
mod plans;
pub(crate) mod record;
mod records;
mod recover;
mod scripts;
mod settle;
mod slots;
pub(crate) mod start;
mod state;
mod wait;

use std::process::ExitCode;

use ralph_base::env::Env;
use ralph_base::fault;
use ralph_project::config::Mode;

use crate::exit::Failure;
use conductor::conduct;
use decide::Finish;
pub(crate) use leftovers::look_for_recovery;
pub(crate) use record::RunRecord;
use start::Preflight;
use state::Conductor;

/// Runs the loop in a project that was examined.
pub(crate) fn run(env: &Env, preflight: Preflight) -> Result<ExitCode, Failure> {
    let mut run = start::start(env, preflight)?;
    recover::recover(env, &mut run)?;
    fault::point("loop.taken-over");
    // The run's name is on disk before anything is started that could outlive us.
    run.save();
    let ended = match run.context.config.run.mode {
        Mode::Planning => planning::write_plan(&mut run),
        Mode::Building => work_through_plan(env, &mut run),
    };
    if let Err(failure) = &ended {
        run.fail(failure);
    }
    let finish = ended.ok().or(run.ending.take()).unwrap_or(Finish::Complete);
    Ok(finish::finish(run, finish))
}

fn work_through_plan(env: &Env, run: &mut Conductor) -> Result<Finish, Failure> {
    if let Some(finish) = first::before_first_story(env, run)? {
        return Ok(finish);
    }
    Ok(conduct(run))
}
