//! Runs the agent, judges the result, and stages its work.

use ralph_base::listing::named_files;
use ralph_base::state::{self, Event, Id, LastVerdict, StateDir};
use ralph_core::plan::{AgentsPlan, Plan, State as StoryState, agents_plan};
use ralph_project::claim::{Claim, ClaimStatus};
use ralph_project::gate::StopStatus;
use ralph_project::progress::agents_lines;
use ralph_project::under_way::{Attempt, Phase};

use super::prepare::{next_story, prepare_copy, prompt, working_session};
use super::watch::{self, Watched, last_stop, set_phase, unmet};
use super::{Assignment, Budget, Course, Desk, Ended, Job, Left, Stopped};
use crate::exit::Failure;
use crate::receipts::sha256;
use crate::record::Outcome;
use crate::run::decide::{
    Allowance, Judged, Patience, WorkEnd, judge, last_test_run, without_changes,
};
use crate::terminal::counted;
use client::{AgentRun, SessionSoFar};
use work_copy::in_place::restore_protected;
use work_copy::{Imported, Start, import};

/// The reason for continuing a story in a new session.
const CONTEXT_FULL: &str = "context full, continuing in a new session";

/// Runs an agent on the story: in the paused session if there is one, else in a new or a resumed one.
pub(super) fn work(
    job: &Job,
    desk: &mut Desk,
    course: &mut Course,
    assignment: Assignment,
    before: &str,
) -> Result<(), Stopped> {
    let allowance = assignment.budget.allowance;
    course.facts.messages.clone_from(&assignment.messages);
    let mut watched = if desk.session.is_some() {
        let text = next_story(job, &course.attempt, &assignment)?;
        course.facts.prompt_sha256 = sha256(&text);
        watch::go_on(job, desk, course, allowance, text)?
    } else {
        let prompt = prompt(job, desk, &course.attempt, &assignment, before)?;
        course.facts.prompt_sha256 = sha256(&prompt);
        let resumed = assignment.session.as_ref();
        let first = watch::start(job, desk, course, allowance, (&prompt, resumed))?;
        let is_lost = first.ended.as_ref().is_some_and(AgentRun::has_lost_session);
        match resumed.filter(|_| is_lost) {
            None => first,
            Some(session) => {
                job.reporter.warn(format!(
                    "{}: the client no longer has the session {}; starting a new one",
                    course.attempt.story, session.id
                ));
                course.used.push(first.used);
                watch::start(job, desk, course, allowance, (&prompt, None))?
            }
        }
    };
    while let Some((session, reason)) = unmet(job, desk, course, &watched)? {
        course.used.push(watched.used);
        watched = watch::start(job, desk, course, allowance, (&reason, Some(&session)))?;
    }
    conclude(job, desk, course, watched, assignment.budget)
}

/// Sends the paused agent on with a message about what is missing.
pub(super) fn send_back(
    job: &Job,
    desk: &mut Desk,
    course: &mut Course,
    text: String,
    budget: Budget,
) -> Result<(), Stopped> {
    let watched = watch::go_on(job, desk, course, budget.allowance, text)?;
    conclude(job, desk, course, watched, budget)
}

/// Judges the agent's turn; an error says why the work may not land.
fn conclude(
    job: &Job,
    desk: &mut Desk,
    course: &mut Course,
    watched: Watched,
    budget: Budget,
) -> Result<(), Stopped> {
    let Watched { ended, session, totals, said, used } = watched;
    let Course { attempt, facts, .. } = course;
    course.used.push(used);
    desk.copy.doubt_files();
    let (context, state) = (&job.context, desk.state().clone());
    show_hook_error(job, &state, &attempt.began);
    let session = session.or_else(|| working_session(&state));
    let agent = context.agent_name(attempt).unwrap_or_default().to_owned();
    facts.session = session.map(|id| SessionSoFar { id, totals, agent });
    if let Some(code) = ended.as_ref().and_then(|run| run.seen.unsaved.as_ref()) {
        let story = &attempt.story;
        job.reporter.warn(format!(
            "{story}: the client could not save its session ({code}), so nothing can resume it; is the \
             disk full?"
        ));
        facts.session = None;
    }
    let claim = Claim::load(&state, &attempt.story);
    let agents = read_agents_plan(job, desk, attempt)?;
    report_findings(job, agents.findings.clone());
    let mut last_verdict = last_verdict(&state, &desk.run, &attempt.began);
    if let Some(run) = &ended {
        let tests = &context.config.tests.commands;
        last_verdict = last_test_run(&run.seen, tests, last_verdict);
    }
    let (base, ours, copy) = (attempt.base.as_deref(), &job.books.ours, &desk.copy);
    let mut end = judge(&Judged {
        run: ended.as_ref(),
        claim: claim.as_ref(),
        agents: Some(&agents),
        last_verdict: last_verdict.as_ref(),
        took: facts.duration.unwrap_or_default(),
        has_changed: &|| copy.looks_changed(base, ours),
        allowance: budget.allowance,
        patience: patience(job, budget),
        signal: context.interrupts.signal(),
    });
    facts.claimed = claim.as_ref().is_some_and(|claim| claim.status == ClaimStatus::Success);
    facts.is_handed_over = ended.as_ref().is_some_and(|run| {
        let last = last_stop(&state, facts.session.as_ref().map(|session| &*session.id));
        run.is_context_full() || last == Some(StopStatus::Handoff)
    });
    let is_unclaimed = !facts.claimed && agents.claimed != Some(StoryState::Done);
    if end.is_none() && facts.is_handed_over && is_unclaimed && budget.may_hand_over {
        // Passing checks would only show that the earlier code still works.
        end = Some(WorkEnd::Failed(Outcome::Handoff, CONTEXT_FULL.to_owned()));
    }
    log::info!("{}: the agent's run was judged: {end:?}", attempt.story);
    facts.summary = summary(claim.as_ref(), &said);
    facts.exit_code = ended.as_ref().map_or(Some(0), AgentRun::exit_code);
    facts.agents = Some(agents);
    if let Some(end) = end {
        return Err(end.into());
    }
    // From here on, the next run keeps the work even after a crash.
    set_phase(desk, attempt, Phase::Checking)?;
    Ok(())
}

/// What decides whether the agent's service is waited for.
pub(super) fn patience(job: &Job, budget: Budget) -> Patience<'_> {
    let Budget { quota_streak, may_switch, .. } = budget;
    let time_left = job.context.time_left();
    Patience { limits: &job.context.config.limits, time_left, quota_streak, may_switch }
}

/// Determines the agent's changes to the plan. In place, restores the user's plan and everything else
/// that controls the run.
pub(in crate::run) fn read_agents_plan(
    job: &Job,
    desk: &Desk,
    attempt: &Attempt,
) -> Result<AgentsPlan, Failure> {
    let (books, copy) = (&job.books, &desk.copy);
    if attempt.phase == Phase::Working {
        // Later, the copy's file also contains entries of the loop's own.
        keep_agents_progress(job, desk)?;
    }
    let given = state::read(desk.dir.plan_given())?;
    // A plan outside the repository is not in the copy, so the agent cannot edit it.
    let has_file = copy.counterpart(&books.plan).is_some();
    let left = if has_file { copy.left(&books.plan) } else { Some(given.clone()) };
    let mut agents = AgentsPlan::default();
    if left.as_ref() != Some(&given) {
        let given = Plan::parse(&books.plan, given, &books.options)?;
        agents = agents_plan(&given, left.as_deref(), &attempt.story);
    }
    if copy.is_in_place {
        restore_protected(copy)?.into_iter().for_each(|said| job.reporter.warn(said));
        // Without its `.gitignore`, git would show our state as the user's files.
        job.context.state().prepare()?;
        let given = state::read(desk.dir.plan_given())?;
        if state::read(&books.plan).ok().as_ref() != Some(&given) {
            if !books.plan.is_file() {
                work_copy::remove_all(books.plan.as_std_path())?;
            }
            state::replace_users(&books.plan, &given)?;
        }
    }
    Ok(agents)
}

/// Reports changes to the plan that the agent was not allowed to make.
pub(in crate::run) fn report_findings(job: &Job, findings: Vec<String>) {
    for finding in &findings {
        job.reporter.warn(format!("plan: the agent {finding}"));
    }
    if !findings.is_empty() {
        job.reporter.note(&job.key, Event::PlanRepaired { findings });
    }
}

/// The last test run of this iteration, in any of the agent's sessions.
fn last_verdict(state: &StateDir, run: &str, began: &str) -> Option<LastVerdict> {
    let sessions = state::names(state.sessions()).into_iter();
    let ids = sessions.filter_map(|name| Id::parse(name.to_str()?).ok());
    let found = ids.filter_map(|id| LastVerdict::load(&state.session(&id)));
    let ours = found.filter(|last| last.run == run && last.at.as_str() >= began);
    ours.max_by(|one, other| one.at.cmp(&other.at))
}

/// Warns about a failed hook, which guards nothing.
fn show_hook_error(job: &Job, state: &StateDir, since: &str) {
    let Ok(text) = state::read(state.hook_error()) else { return };
    let Ok(error) = serde_json::from_slice::<serde_json::Value>(&text) else { return };
    let part = |name: &str| error.get(name).and_then(|value| value.as_str()).unwrap_or_default();
    if part("at") >= since {
        let (source, phase, what) = (part("source"), part("phase"), part("error"));
        job.reporter.warn(format!("{source} failed ({phase}): {what}"));
    }
}

/// The agent's summary of its work.
fn summary(claim: Option<&Claim>, said: &str) -> Option<String> {
    let claimed = claim.map(|claim| claim.summary.clone()).filter(|text| !text.is_empty());
    let summary = claimed.unwrap_or_else(|| said.chars().take(600).collect());
    Some(summary).filter(|summary| !summary.trim().is_empty())
}

/// Stages the work of an agent that ended well, including commits that it made.
pub(super) fn staged_work(job: &Job, desk: &mut Desk, course: &Course) -> Result<Left, Stopped> {
    let attempt = &course.attempt;
    let start = Start::of(attempt);
    let imported = import(&mut desk.copy, start, &attempt.run)?;
    report_not_taken(job, attempt, &imported);
    let staged = desk.copy.stage(start, &job.books.ours, &imported)?;
    if !staged.refused.is_empty() {
        let files = named_files(&staged.refused);
        job.reporter.warn(format!("{}: left out of the commit: {files}", attempt.story));
    }
    if let Some(why) = left_history(desk, attempt, &imported) {
        return Err(WorkEnd::failed(why).into());
    }
    if staged.files.is_empty() && !staged.aside.is_empty() {
        let why = "the agent left all of its work on other branches, tags or stashes";
        return Err(WorkEnd::failed(why).into());
    }
    if staged.files.is_empty() {
        let is_checked = !job.context.config.verify.commands.is_empty();
        let is_claimed = course.facts.claimed && is_checked;
        if let Some(end) =
            without_changes(is_claimed, &course.facts.rollbacks, course.facts.summary.as_deref())
        {
            return Err(end.into());
        }
    }
    Ok(Left { staged: Some(staged), imported })
}

fn report_not_taken(job: &Job, attempt: &Attempt, imported: &Imported) {
    if imported.not_taken > 0 {
        let count = counted(imported.not_taken, "commit", "commits");
        let story = &attempt.story;
        job.reporter.warn(format!(
            "{story}: {count} on other branches, tags or stashes of the agent not kept: there were \
             too many"
        ));
    }
}

/// Stages whatever is in the copy. If the copy is too damaged to be read, only this attempt
/// is lost.
pub(in crate::run) fn left_in(
    job: &Job,
    desk: &mut Desk,
    attempt: &Attempt,
) -> Result<Left, Failure> {
    if desk.copy.is_in_place && desk.dir.plan_given().is_file() {
        read_agents_plan(job, desk, attempt)?;
    }
    if !desk.copy.exists() {
        return Ok(Left::default());
    }
    let start = Start::of(attempt);
    let imported = import(&mut desk.copy, start, &attempt.run)?;
    report_not_taken(job, attempt, &imported);
    match desk.copy.stage(start, &job.books.ours, &imported) {
        Ok(staged) => Ok(Left { staged: Some(staged), imported }),
        // The work is still there; the next start saves it.
        Err(error) if error.is_transient() || job.context.is_interrupted() => Err(error),
        Err(error) => {
            let story = &attempt.story;
            job.reporter.warn(format!("{story}: the copy cannot be read: {error}"));
            Ok(Left { staged: None, imported: Imported { head: None, ..imported } })
        }
    }
}

/// Saves the lines that the agent added to the progress file, patterns with their heading. This must precede
/// any rebase, which brings the lines of other stories.
fn keep_agents_progress(job: &Job, desk: &Desk) -> Result<(), Failure> {
    let Some(left) = desk.copy.left(&job.books.progress) else { return Ok(()) };
    let added = desk.dir.progress_added();
    let given = state::read_if_there(desk.dir.progress_given())?.unwrap_or_default();
    let known = state::read_if_there(&added)?.unwrap_or_default();
    let new = agents_lines(&[&given, b"\n".as_slice(), &known].concat(), &left);
    Ok(state::replace_unsynced(&added, &[known, new].concat())?)
}

/// Refuses the work of an agent that moved back in history or made its checkout sparse: its commit would
/// remove the work of others.
fn left_history(desk: &Desk, attempt: &Attempt, imported: &Imported) -> Option<String> {
    if imported.is_sparse {
        return Some(
            "the agent made its checkout sparse, so files are missing that it did not delete; keep \
             the full checkout"
                .to_owned(),
        );
    }
    let (base, head) = (attempt.base.as_deref()?, imported.head.as_deref()?);
    if !board::is_ancestor(&desk.copy.source.git(), head, base).unwrap_or(false) {
        return None;
    }
    Some(format!(
        "the agent moved back to {head:.8}, which does not contain its starting commit {base:.8}; \
         stay on the branch, and only add commits"
    ))
}

/// Has an agent write the plan.
pub(super) fn plan(
    job: &Job,
    desk: &mut Desk,
    course: &mut Course,
    before: Option<Vec<u8>>,
    (prompt, allowance): (&str, Allowance),
) -> Result<Ended, Stopped> {
    let (context, books) = (&job.context, &job.books);
    prepare_copy(job, &mut desk.copy, Start::of(&course.attempt))?;
    if let Some(before) = &before {
        desk.copy.give(&books.plan, before)?;
    }
    let Watched { ended, used: turn, .. } =
        watch::start(job, desk, course, allowance, (prompt, None))?;
    course.used.push(turn);
    let facts = &mut course.facts;
    facts.exit_code = ended.as_ref().and_then(AgentRun::exit_code);
    let left = desk.copy.left(&books.plan);
    let end = judge(&Judged {
        run: ended.as_ref(),
        claim: None,
        agents: None,
        last_verdict: None,
        took: facts.duration.unwrap_or_default(),
        has_changed: &|| left != before,
        allowance,
        patience: patience(job, Budget::default()),
        signal: context.interrupts.signal(),
    });
    Ok(Ended::Planned { before, left, end })
}
