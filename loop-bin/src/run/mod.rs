//! A run of the loop.
//!
//! | what | where |
//! | --- | --- |
//! | the core loop and its state | `conductor.rs`, `state.rs` |
//! | all decisions | `decide/` |
//! | before the first story | `start/`, `first.rs`, `recover.rs` |
//! | choosing a story, starting its attempt, and handling the results | `choose.rs`, `settle.rs` |
//! | landing, and attempts that do not land | `land.rs`, `discard.rs` |
//! | the attempt itself, in its copy | `attempt/` |
//! | constants of a run, its clock and journal | `context.rs` |
//! | who hears of each event | `observe.rs` |
//! | lifecycle scripts, which agent or a wait, messages to the user, the end | `scripts.rs`, `wait.rs`, `notify.rs`, `wind_up.rs` |
//! | merging what an attempt's hooks wrote | `take_over.rs` |
//! | commits without a story | `records.rs` |
//! | writing the plan instead of working through it | `planning.rs` |

pub(crate) mod attempt;
mod choose;
mod conductor;
mod context;
pub(crate) mod decide;
mod discard;
mod first;
mod land;
mod notify;
pub(crate) mod observe;
mod planning;
mod records;
mod recover;
pub(crate) mod scripts;
mod settle;
pub(crate) mod start;
mod state;
mod take_over;
mod wait;
mod wind_up;

use std::process::ExitCode;

use ralph_base::env::Env;
use ralph_base::fault;
use ralph_project::config::Mode;

use crate::exit::Failure;
use crate::probe;
use conductor::conduct;
pub(crate) use context::{echo, journal};
use decide::Finish;
pub(crate) use scripts::{program, programs_in};
use start::Preflight;

/// Runs the loop in a project that has been examined.
pub(crate) fn run(env: &Env, mut preflight: Preflight) -> Result<ExitCode, Failure> {
    preflight.findings.extend(probe::at_start(env, &preflight.config, &mut preflight.options));
    let mut run = start::start(env, preflight)?;
    let before = recover::recover(env, &mut run).and_then(|()| {
        fault::point("loop.taken-over");
        // The run's name must be on disk before anything starts that could outlive us.
        run.save();
        match run.context.config.run.mode {
            Mode::Planning => planning::before_planning(&mut run),
            Mode::Building => first::before_first_story(env, &mut run),
        }
    });
    let finish = match before {
        Ok(Some(finish)) => finish,
        Ok(None) => conduct(&mut run, wind_up::report_so_far),
        Err(failure) => {
            run.fail(&failure);
            run.ending.take().unwrap_or(Finish::Complete)
        }
    };
    Ok(wind_up::finish(run, finish))
}
