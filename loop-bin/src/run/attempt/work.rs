//! The agent's run, from its start to the judgement on it.

use ralph_base::state::{self, Event, Id, LastVerdict, StateDir};
use ralph_core::plan::{AgentsPlan, Plan, State as StoryState, agents_plan};
use ralph_project::claim::{Claim, ClaimStatus};
use ralph_project::gate::StopStatus;
use ralph_project::under_way::{Attempt, Phase};

use super::prompt::{next_story, prompt};
use super::watch::{self, Watched, last_stop, set_phase};
use super::{Around, Assignment, Budget, Course, Desk, Stopped};
use crate::exit::Failure;
use crate::run::decide::{Judged, Outcome, WorkEnd, judge};
use client::{AgentRun, SessionSoFar};

/// Why a fresh session continues a story.
const CONTEXT_FULL: &str = "context full, continuing in a new session";

/// Runs an agent on the story: in the paused session if there is one, else in a new or a resumed one.
pub(super) fn work(
    around: Around<'_>,
    desk: &mut Desk,
    course: &mut Course,
    assignment: Assignment,
    before: &str,
) -> Result<(), Stopped> {
    let allowance = assignment.budget.allowance;
    course.facts.messages.clone_from(&assignment.messages);
    let watched = if desk.session.is_some() {
        let text = next_story(around, &course.attempt, &assignment.plan, &assignment.messages)?;
        watch::go_on(around, desk, course, allowance, text)?
    } else {
        let prompt = prompt(around, desk, &course.attempt, &assignment, before)?;
        let resumed = assignment.session.as_ref();
        let first = watch::start(around, desk, course, allowance, (&prompt, resumed))?;
        let is_lost = first.ended.as_ref().is_some_and(AgentRun::has_lost_session);
        match resumed.filter(|_| is_lost) {
            None => first,
            Some(session) => {
                around.reporter.warn(format!(
                    "{}: the client no longer has the session {}; starting a new one",
                    course.attempt.story, session.id
                ));
                course.used.push(first.used);
                watch::start(around, desk, course, allowance, (&prompt, None))?
            }
        }
    };
    conclude(around, desk, course, watched, assignment.budget)
}

/// Tells the paused agent what is missing, and lets it go on.
pub(super) fn send_back(
    around: Around<'_>,
    desk: &mut Desk,
    course: &mut Course,
    text: String,
    budget: Budget,
) -> Result<(), Stopped> {
    let watched = watch::go_on(around, desk, course, budget.allowance, text)?;
    conclude(around, desk, course, watched, budget)
}

/// What the agent's turn is worth: nothing if it may land, else why it does not.
fn conclude(
    around: Around<'_>,
    desk: &mut Desk,
    course: &mut Course,
    watched: Watched,
    budget: Budget,
) -> Result<(), Stopped> {
    let Watched { ended, session, totals, said, used } = watched;
    let Course { attempt, facts, .. } = course;
    course.used.push(used);
    let (context, state) = (around.context, desk.state().clone());
    show_hook_error(around, &attempt.began);
    let session = session.or_else(|| working_session(&state));
    facts.session = session.map(|id| SessionSoFar { id, totals });
    let claim = Claim::load(&state, &attempt.story);
    let agents = read_agents_plan(around, desk, attempt)?;
    report_findings(around, agents.findings.clone());
    let last_verdict = last_verdict(&state, &desk.run, &attempt.began);
    let (base, ours, copy) = (attempt.base.as_deref(), around.books.ours(), &desk.copy);
    let mut end = judge(&Judged {
        run: ended.as_ref(),
        claim: claim.as_ref(),
        agents: Some(&agents),
        last_verdict: last_verdict.as_ref(),
        took: facts.duration.unwrap_or_default(),
        has_changed: &|| copy.looks_changed(base, ours),
        allowance: budget.allowance,
        limits: &context.config.limits,
        time_left: context.time_left(),
        quota_streak: budget.quota_streak,
        signal: context.interrupts.signal(),
    });
    facts.claimed = claim.as_ref().is_some_and(|claim| claim.status == ClaimStatus::Success);
    facts.is_handed_over = ended.as_ref().is_some_and(|run| {
        let last = last_stop(&state, facts.session.as_ref().map(|session| &*session.id));
        run.is_context_full() || last == Some(StopStatus::Handoff)
    });
    let is_unclaimed = !facts.claimed && agents.claimed != Some(StoryState::Done);
    if end == WorkEnd::Well && facts.is_handed_over && is_unclaimed && budget.may_hand_over {
        // Checks that pass would only show that what was there before still works.
        end = WorkEnd::Failed(Outcome::Handoff, CONTEXT_FULL.to_owned());
    }
    log::info!("{}: the agent's run is worth {end:?}", attempt.story);
    facts.summary = summary(claim.as_ref(), &said);
    facts.exit_code = ended.as_ref().map_or(Some(0), AgentRun::exit_code);
    facts.agents = Some(agents);
    if end != WorkEnd::Well {
        return Err(end.into());
    }
    // From here on a crash does not cost the work.
    set_phase(desk, attempt, Phase::Checking)?;
    Ok(())
}

/// What the agent did to its file of the plan. In place that is the user's own file, which is restored,
/// and with it whatever else steers the run.
pub(in crate::run) fn read_agents_plan(
    around: Around<'_>,
    desk: &Desk,
    attempt: &Attempt,
) -> Result<AgentsPlan, Failure> {
    let (books, copy) = (around.books, &desk.copy);
    let given = fs_err::read(desk.dir.plan_given())?;
    let given = Plan::parse(&books.plan, given, &books.options)?;
    let left = match copy.counterpart(&books.plan) {
        Some(_) => copy.left(&books.plan),
        // A plan outside of the repository is not the agent's to edit: it has no file of it.
        None => Some(given.bytes().to_vec()),
    };
    let agents = agents_plan(&given, left.as_deref(), &attempt.story);
    if copy.is_in_place {
        if left.as_deref() != Some(given.bytes()) {
            state::replace_users(&books.plan, given.bytes())?;
        }
        // Without its list of files, git would show the state as the user's.
        let state = around.context.state();
        state.prepare()?;
        for path in desk.protected.restore(state)? {
            around.reporter.warn(format!("restored {path} (changed by the agent)"));
        }
    }
    Ok(agents)
}

/// Reports what the agent did to the plan that it may not do.
fn report_findings(around: Around<'_>, findings: Vec<String>) {
    for finding in &findings {
        around.reporter.warn(format!("plan: the agent {finding}"));
    }
    if !findings.is_empty() {
        around.reporter.note(around.key, Event::PlanRepaired { findings });
    }
}

/// The last test run of this iteration, in whichever session of the agent's it was.
fn last_verdict(state: &StateDir, run: &str, began: &str) -> Option<LastVerdict> {
    let sessions = fs_err::read_dir(state.sessions()).ok()?.flatten();
    let ids = sessions.filter_map(|entry| Id::parse(entry.file_name().to_str()?).ok());
    let found = ids.filter_map(|id| LastVerdict::load(&state.session(&id)));
    let ours = found.filter(|last| last.run == run && last.at.as_str() >= began);
    ours.max_by(|one, other| one.at.cmp(&other.at))
}

/// An agent that prints plain text does not name its session, but its hook notes it.
fn working_session(state: &StateDir) -> Option<String> {
    let text = fs_err::read_to_string(state.working_session()).ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}

/// A hook that failed guards nothing, so the user should know.
fn show_hook_error(around: Around<'_>, since: &str) {
    let Ok(text) = fs_err::read(around.context.state().hook_error()) else { return };
    let Ok(error) = serde_json::from_slice::<serde_json::Value>(&text) else { return };
    let part = |name: &str| error.get(name).and_then(|value| value.as_str()).unwrap_or_default();
    if part("at") >= since {
        let (source, phase, what) = (part("source"), part("phase"), part("error"));
        around.reporter.warn(format!("{source} failed ({phase}): {what}"));
    }
}

/// The agent's account of its work.
fn summary(claim: Option<&Claim>, said: &str) -> Option<String> {
    let claimed = claim.map(|claim| claim.summary.clone()).filter(|text| !text.is_empty());
    let summary = claimed.unwrap_or_else(|| said.chars().take(600).collect());
    Some(summary).filter(|summary| !summary.trim().is_empty())
}
