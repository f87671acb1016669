//! What a run does before its first story.

use std::sync::Arc;

use ralph_base::env::Env;
use ralph_base::state::{Event, Id, StoryKey};
use ralph_project::checks::Check;
use ralph_project::config::Baseline;
use ralph_project::verification::{CommandFacts, tests_of};
use run_history::Forecast;

use super::attempt::prepare_copy;
use super::choose::show_position;
use super::decide::Finish;
use super::recover;
use super::scripts::{self, STARTED, ScriptRequest};
use super::start::{desk, failed_before, findings, hooks_that_fail, run_baseline, take_waiting};
use super::state::{Conductor, Slot};
use crate::exit::Failure;
use crate::terminal::counted;
use board::{Tip, trouble_with_signing};
use ralph_project::diagnosis::Diagnosis;
use work_copy::{Start, doors, linked_by_files};

/// Prepares the run; returns the reason if no story can start.
pub(super) fn before_first_story(
    env: &Env,
    run: &mut Conductor,
) -> Result<Option<Finish>, Failure> {
    let in_sandbox = doors::in_words(&run.context.config);
    run.note_start("building", &in_sandbox);
    let plan = run.books.load(&run.board)?;
    show_position(run, &plan);
    let open_count = plan.counts().open;
    let open = counted(open_count, "open story", "open stories");
    let (shown, target) = (run.shown_plan(), &run.board.branch);
    let words = format!("working on {shown}, landing on {target}: {open}; sandbox {in_sandbox}");
    run.view.line(words);
    if scripts::started(run) == ScriptRequest::Stop {
        return Ok(Some(Finish::stopped_by(STARTED)));
    }
    take_waiting(run)?;
    recover::settle_leftovers(run)?;
    if run.ending.is_some() {
        return Ok(run.ending.take());
    }
    add_slots(env, run, 1)?;
    if open_count > 0 {
        if let Some(finish) = prepare_first(run)? {
            return Ok(Some(finish));
        }
        show_forecast(run, open_count);
    }
    let workers = run.context.config.run.workers;
    if workers > 1 {
        add_slots(env, run, workers)?;
    }
    Ok(None)
}

/// Shows the forecast of time and cost.
fn show_forecast(run: &Conductor, stories: usize) {
    let forecast = run.context.forecast.of_stories(stories);
    let most = run.context.config.limits.max_cost_usd;
    run.view.line(forecast.line(most));
    let Forecast { stories, based_on, seconds, cost_usd } = forecast;
    run.note(&Event::Forecast { stories, based_on, seconds, cost_usd });
}

/// Prepares the copy, looks for links that lead out of it, and runs the checks. Returns the reason if
/// no story can start.
fn prepare_first(run: &mut Conductor) -> Result<Option<Finish>, Failure> {
    let Tip { commit: tip, branch, .. } = run.board.tip()?;
    let (plan, progress) = (run.books.plan.clone(), run.books.progress.clone());
    let books = [&plan, &progress];
    let start = Start { tip: tip.as_deref(), branch: &branch, books };
    let job = run.job(0, &StoryKey::default())?;
    prepare_copy(&job, &mut run.desk_mut(0)?.copy, start)?;
    // Show its reports before anything that follows.
    run.show_reports();
    let context = Arc::clone(&run.context);
    let config = &context.config;
    for found in linked_by_files(&run.desk(0)?.copy, &config.verify.commands) {
        match found {
            Diagnosis::Problem(text) => return Err(Failure::because(text)),
            Diagnosis::Note(text) | Diagnosis::Good(text) | Diagnosis::Later(text) => {
                run.view.warn(text);
            }
        }
    }
    let hooks = hooks_that_fail(&context.options, config, &run.desk(0)?.copy.doors)?;
    for found in hooks {
        match found {
            Diagnosis::Problem(text) => return Err(Failure::because(text)),
            Diagnosis::Note(text) | Diagnosis::Good(text) | Diagnosis::Later(text) => {
                run.view.warn(text)
            }
        }
    }
    if let Some(trouble) = trouble_with_signing(&run.desk(0)?.copy)? {
        return Err(Failure::because(trouble));
    }
    if config.verify.baseline == Baseline::Skip {
        return Ok(None);
    }
    run.view.doing(0, "running the checks before the first story");
    let stop = || context.is_interrupted();
    let copy = &mut run.desk_mut(0)?.copy;
    let (checks, restored) = run_baseline(copy, books, (config, &context.run), &stop)?;
    restored.into_iter().for_each(|said| run.view.warn(said));
    if let Some(signal) = context.interrupts.signal() {
        return Ok(Some(Finish::Manual(signal)));
    }
    for check in &checks {
        run.note(&CommandFacts::of(check, config).event());
    }
    let mut problems = Vec::new();
    for found in findings(&checks, config, &run.desk(0)?.copy.doors) {
        match found {
            Diagnosis::Good(text) | Diagnosis::Later(text) => run.view.line(text),
            Diagnosis::Note(text) => run.view.warn(text),
            Diagnosis::Problem(text) => problems.push(text),
        }
    }
    if !problems.is_empty() {
        return Ok(Some(Finish::RedBaseline(problems.join("\n"))));
    }
    let known = |check: &Check| Some((check.command.clone(), failed_before(check, config)?));
    let failing = checks.iter().filter_map(known).collect();
    run.record.failed_before = failing;
    run.record.tests_before = tests_of(checks.iter().map(|check| CommandFacts::of(check, config)));
    run.save();
    Ok(None)
}

/// Creates a slot for each worker, replacing the existing slots.
fn add_slots(env: &Env, run: &mut Conductor, workers: u64) -> Result<(), Failure> {
    let context = run.context.clone();
    run.slots.clear();
    run.record.slots.clear();
    for number in 1..=workers {
        let name = Id::parse(&number.to_string()).map_err(Failure::usage)?;
        let name = if workers > 1 { Some(&name) } else { None };
        let desk = desk(env, &context, name)?;
        let prefix = name.map_or_else(String::new, |name| format!("[{name}] "));
        run.slots.push(Slot::new(run.slots.len(), desk, prefix, &run.reports));
    }
    Ok(())
}
