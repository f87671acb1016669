//! Ends a run: scripts, the last commit of progress and plan, the report, and the last lines.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::fault;
use ralph_base::linux::Process;
use ralph_base::state::{self, Event, plan_name};
use ralph_core::git::Repo;
use ralph_project::checks::one_line;
use ralph_project::config::{Mode, PullRequests};
use ralph_project::install::quoted;
use run_history::{RunHistory, Situation};
use sandbox::Descendants;

use super::attempt::release;
use super::choose::report_changes_by_others;
use super::context::update_loop_progress;
use super::decide::{Ending, Finish};
use super::notify::notify_end;
use super::records::{record_progress, show_receipts};
use super::state::Conductor;
use super::{scripts, settle, wait};
use crate::exit::Failure;
use crate::forge::pull_request;
use crate::report::{situation, write};
use crate::saved;
use crate::terminal::{self, Tone, in_words};
use crate::{here, housekeeping};

/// The exit code if stories wait for a person on a branch of the loop's own or, with `--strict`, for a
/// review; the same as for a blocked run.
const NEEDS_A_PERSON: u8 = 8;

/// Ends a run. If one step fails, that is shown, and the others still run.
pub(super) fn finish(mut run: Conductor, finish: Finish) -> ExitCode {
    let (status, goodbye) = match finish {
        Finish::Complete => ("COMPLETE", "COMPLETE: all stories are done"),
        Finish::MaxIterations => ("REACHED_LIMIT", "REACHED_LIMIT: no iterations left"),
        _ => ("STOPPED", "the run has ended"),
    };
    wait::end(&mut run);
    let released = release_agents(&mut run, goodbye);
    show_failure(&run, released);
    run.take_over(true);
    let recorded = record_progress(&mut run);
    show_failure(&run, recorded);
    if let (Ok(plan), false) = (run.books.load(&run.board), run.record.planning) {
        report_changes_by_others(&mut run, &plan);
    }
    run.save();
    let (mut history, situation) = history_at_end(&run, &finish);
    let request = match open_pull_request(&run, &history, &situation) {
        Ok(address) => address.map(|address| (Some(address), None)),
        Err(why) => Some((None, Some(why.to_string()))),
    };
    if let Some((address, why)) = request {
        let event = Event::PullRequest { address, why };
        run.note(&event);
        history.take(&run.context.journal(&run.context.run, None).record(&event));
    }
    let report = write_report(&run, &history, &situation);
    run_finished(&run, &finish, report.as_deref());
    notify_end(&run, &finish, report.as_deref());
    let interrupts = &run.context.interrupts;
    sandbox::end(&|| others(&run), Duration::from_secs(2), &|| interrupts.count() > 1);
    let desks = run.slots.iter().filter_map(|slot| slot.desk.as_ref());
    desks.for_each(|desk| desk.copy.doors.remove_tmp());
    fault::point("loop.finishing");
    if !run.record.planning {
        let counts = (run.record.tally.run.iteration, run.context.config.run.max_iterations);
        if let Ok(plan) = run.books.load(&run.board) {
            let updated = update_loop_progress(&plan, counts, status);
            show_failure(&run, updated.map_err(Into::into));
        }
    }
    let git = run.source.git();
    if run.slots.iter().all(|slot| slot.work.is_none()) {
        show_failure(&run, saved::release(&git).map_err(Into::into));
    }
    // One of several runs under this name does not end them all.
    let is_last = run.context.config.finish.pr != PullRequests::Story;
    if is_last {
        let removed = state::remove_if_there(run.context.run_dir.stop_request());
        show_failure(&run, removed.map_err(Into::into));
    }
    let pruned = housekeeping::prune(&git, run.context.state(), false);
    show_failure(&run, pruned.map(drop));
    if is_last {
        run.note(&finish.event());
    }
    let reason = finish.reason().map(str::to_owned);
    (run.record.finish, run.record.reason) = (Some(finish.word().to_owned()), reason);
    run.save();
    end_observers(&run);
    close(&run, finish, (&history, &situation), report.as_deref())
}

fn end_observers(run: &Conductor) {
    for listener in run.context.audience.iter() {
        listener.end(&|| run.context.interrupts.count() > 1);
        listener.trouble().iter().for_each(|trouble| run.view.warn(trouble));
    }
}

/// The processes that are left, but for those of observers, who have yet to hear of the end.
fn others(run: &Conductor) -> Vec<Process> {
    let pids: Vec<u32> = run.context.audience.iter().map(|listener| listener.pid()).collect();
    let below = pids.iter().flat_map(|pid| Descendants::of(*pid).living());
    let spared: BTreeSet<i32> =
        below.map(|one| one.pid).chain(pids.iter().map(|pid| pid.cast_signed())).collect();
    let mut living = Descendants::all().living();
    living.retain(|one| !spared.contains(&one.pid));
    living
}

fn show_failure(run: &Conductor, result: Result<(), Failure>) {
    if let Err(failure) = result {
        run.view.warn(failure.to_string());
    }
}

/// Releases agents that are paused in their stop hooks.
fn release_agents(run: &mut Conductor, goodbye: &str) -> Result<(), Failure> {
    let context = Arc::clone(&run.context);
    for slot in 0..run.slots.len() {
        let Ok(desk) = run.desk_mut(slot) else { continue };
        if let Some(used) = release(&context, desk, goodbye)? {
            settle::book(run, slot, None, used);
        }
    }
    Ok(())
}

/// The history including this run's end, and the facts that only files and git know.
fn history_at_end(run: &Conductor, finish: &Finish) -> (RunHistory, Situation) {
    let (mut history, situation) = history_now(run);
    history.take(&run.context.journal(&run.context.run, None).record(&finish.event()));
    (history, Situation { is_running: false, ..situation })
}

/// Writes the report on the run so far.
pub(super) fn report_so_far(run: &Conductor) {
    let (history, situation) = history_now(run);
    write_report(run, &history, &situation);
}

fn history_now(run: &Conductor) -> (RunHistory, Situation) {
    let plan = if run.record.planning { None } else { run.books.load(&run.board).ok() };
    let mut history = run.history.borrow().clone();
    let _ = history.read_on();
    let looked = situation(&run.context.project, &mut history, plan.as_slice());
    let situation = looked.unwrap_or_else(|error| {
        run.view.warn(error.to_string());
        Situation::default()
    });
    (history, situation)
}

/// Opens a pull request, if that is wanted and something landed.
fn open_pull_request(
    run: &Conductor,
    history: &RunHistory,
    situation: &Situation,
) -> Result<Option<String>, Failure> {
    // The branch may contain the work of earlier runs.
    let found = history.find(&format!("on {}", run.record.target));
    let wanted = pull_request::is_wanted(&run.context.config) && run.record.tally.run.commits > 0;
    let Some(found) = found.filter(|_| wanted) else { return Ok(None) };
    let (git, plan) = (run.source.git(), run.books.load(&run.board)?);
    let report = history.report(&found, situation, &git)?;
    let repo = Repo::open(run.context.project.root())?;
    let address = pull_request::open(&repo, &run.record.target, &plan, &report, false)?;
    run.view.line(format!("pull request: {address}"));
    Ok(Some(address))
}

fn write_report(
    run: &Conductor,
    history: &RunHistory,
    situation: &Situation,
) -> Option<Utf8PathBuf> {
    let found = history.find(&run.context.run)?;
    let report = history.report(&found, situation, &run.source.git()).map_err(Failure::from);
    match report.and_then(|report| write(&run.context.project, &report, None)) {
        Ok(path) => Some(path),
        Err(error) => {
            run.view.warn(format!("the report could not be written: {error}"));
            None
        }
    }
}

fn run_finished(run: &Conductor, finish: &Finish, report: Option<&Utf8Path>) {
    let tally = &run.record.tally;
    let plan = plan_name(run.context.project.root(), &run.books.plan);
    let blocked: Vec<String> = tally.set_aside_in(&plan).into_iter().collect();
    let vars = vec![
        ("ITERATION", tally.run.iteration.to_string()),
        ("FINISH_TYPE", finish.word().to_owned()),
        ("TOTAL_ITERATIONS", tally.run.completed.to_string()),
        ("TOTAL_COMMITS", tally.run.commits.to_string()),
        ("DURATION", run.context.elapsed().as_secs().to_string()),
        ("REASON", finish.reason().unwrap_or_default().to_owned()),
        ("COST", tally.cost_for_scripts()),
        ("BLOCKED", blocked.join(" ")),
        ("REPORT", report.map(Utf8Path::to_string).unwrap_or_default()),
    ];
    scripts::script(run, usize::MAX, scripts::FINISHED, vars);
}

/// The summary of the run, and what remains.
fn close(
    run: &Conductor,
    finish: Finish,
    (history, situation): (&RunHistory, &Situation),
    report: Option<&Utf8Path>,
) -> ExitCode {
    let (context, view, tally) = (&run.context, &run.view, &run.record.tally);
    view.close();
    if context.config.finish.pr != PullRequests::Story {
        show_receipts(run);
    }
    let most = context.config.limits.max_cost_usd;
    let spent = tally.run.spent.cost_usd;
    match &finish {
        Finish::Budget(why) => view.line(why),
        Finish::Blocked(why) | Finish::Error(why) | Finish::RedBaseline(why) => {
            terminal::complain(why);
        }
        _ if most > 0.0 && spent > most => view.warn(format!(
            "budget exceeded: spent ${spent:.2} of ${most:.2}; a session's cost is only known when \
             it ends"
        )),
        _ => {}
    }
    let mut tone = if finish == Finish::Complete { Tone::Good } else { Tone::Warning };
    // For work that has yet to be pushed, the parent process reports the result.
    if context.config.finish.pr != PullRequests::Story {
        for line in ending(run, &finish, history, situation).last_lines() {
            view.toned(std::mem::replace(&mut tone, Tone::Plain), line);
        }
        if let Some(report) = report {
            view.line(format!("report: {}", here::shown(report)));
        }
    }
    let stories = history.counts();
    let remain = stories.open + stories.blocked > 0;
    let incomplete = context.config.run.fail_if_incomplete && remain;
    // A signal during the last script still decides the exit code.
    let finish = context.interrupts.signal().map(Finish::Manual).unwrap_or(finish);
    match finish.exit_code(incomplete) {
        // Nothing failed, but the user's branch lacks what is done.
        0 if history.waiting_stories(situation).is_some() => ExitCode::from(NEEDS_A_PERSON),
        0 if context.config.run.strict && has_doubts(run, history) => {
            ExitCode::from(NEEDS_A_PERSON)
        }
        code => ExitCode::from(code),
    }
}

/// Whether a person should look at a story that the run landed.
fn has_doubts(run: &Conductor, history: &RunHistory) -> bool {
    history.find(&run.context.run).is_some_and(|found| !history.review(&found).stories.is_empty())
}

/// Everything for the last lines.
fn ending<'a>(
    run: &Conductor,
    finish: &'a Finish,
    history: &RunHistory,
    situation: &Situation,
) -> Ending<'a> {
    let context = &run.context;
    let found = history.find(&context.run).unwrap_or_default();
    let done = match context.config.run.mode {
        Mode::Planning => "planning".to_owned(),
        Mode::Building => found.account(),
    };
    let red = run.record.failed_before.keys().map(|check| format!("`{}`", one_line(check)));
    let (needs, review) = (history.needs(Some(&found), situation), history.review(&found));
    let (took, spent) = (in_words(context.elapsed()), history.cost(&found).receipt());
    Ending {
        finish,
        account: format!("{done}, {took} total; {spent}"),
        remains: history.has_plans().then(|| history.what_remains(&needs, &review, situation)),
        open: history.counts().open,
        needs,
        to_review: review.stories.len(),
        review: review.story_lines(),
        still_red: red.collect(),
        changes: history.changes(&found),
        again: typed(),
    }
}

/// The command that started this run, as far as one line can repeat it.
fn typed() -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:{}".contains(c);
    let quoted = |word: &str| format!(" {}", quoted(word.into()));
    let shown =
        |word: &str| if word.chars().all(is_plain) { format!(" {word}") } else { quoted(word) };
    let words = std::env::args_os().skip(1);
    let typed: String = words.map(|word| shown(&word.to_string_lossy())).collect();
    if typed.len() > 120 || typed.contains(['`', '\n']) {
        return "`ralph-loop` with the same options".to_owned();
    }
    format!("`ralph-loop{typed}`")
}
