//! Reads what the gates judge, and nothing that they do not need.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ralph_base::state::{LastVerdict, SessionDir};
use ralph_core::git::Status;
use ralph_project::checks::{CheckContext, CheckRules, run_checks};
use ralph_project::gate::{self, LoopState, Orchestrator, QualityGate, Tasks, Unmet};

use super::review;
use super::session::Session;

/// What all gates say.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) unmet: Vec<Unmet>,
    /// Worth saying along with a block, but no reason for one.
    pub(super) advice: Vec<String>,
}

/// Judges all gates that concern the session.
pub(super) fn judge(session: &Session<'_>) -> Judged {
    let mut judged = Judged::default();
    let orchestrator = session.load::<Orchestrator>();
    let is_orchestrated = orchestrator.is_some();
    judged.unmet.extend(orchestrator.and_then(|(state, file)| state.gate(&file)));
    judged.unmet.extend(session.load::<LoopState>().and_then(|(state, file)| state.gate(&file)));
    judged.unmet.extend(session.load::<QualityGate>().and_then(|(state, file)| state.gate(&file)));
    judged.unmet.extend(session.dirs().iter().filter_map(|dir| tasks(session, dir)));
    if session.is_bound() {
        judged.unmet.extend(last_tests(session).and_then(|last| gate::last_verdict(&last)));
        judged.unmet.extend(current_story(session));
    }
    if session.call.config().stop.verify {
        judged.unmet.extend(verify(session));
    }
    // Nobody is paid for a review while something else is unmet.
    if judged.unmet.is_empty() {
        judged.unmet.extend(review::judge(session));
    }
    // Git is asked last and only if its answer is needed: a process costs more than all the rest.
    if is_orchestrated && !session.call.is_of_our_loop() {
        judged.unmet.extend(gate::uncommitted(&changed(session)));
    } else if !judged.unmet.is_empty() && session.is_bound() {
        judged.advice.extend(gate::uncommitted_advice(&changed(session)));
    }
    judged
}

/// Judges the gates that concern a subagent: its work. Conditions, rounds, tasks, story and commits
/// are the session's, and the subagent is not asked to see to them.
pub(super) fn judge_subagent(session: &Session<'_>) -> Judged {
    let mut judged = Judged::default();
    judged.unmet.extend(session.load::<QualityGate>().and_then(|(state, file)| state.gate(&file)));
    if session.is_bound() {
        let own = |last: &LastVerdict| last.agent == session.call.input.agent_id;
        let last = last_tests(session).filter(own);
        judged.unmet.extend(last.and_then(|last| gate::last_verdict(&last)));
    }
    if session.call.config().stop.verify {
        judged.unmet.extend(verify(session));
    }
    judged
}

fn last_tests(session: &Session<'_>) -> Option<LastVerdict> {
    session.dirs().iter().find_map(LastVerdict::load)
}

fn tasks(session: &Session<'_>, dir: &SessionDir) -> Option<Unmet> {
    let tasks = Tasks::load(dir);
    for broken in &tasks.broken {
        session.call.record("gate", &broken.to_string());
    }
    tasks.gate(&dir.tasks())
}

fn current_story(session: &Session<'_>) -> Option<Unmet> {
    let id = session.own_story()?;
    let story = session.known_story(&id)?;
    let reported = session.call.project().own_state().claim().exists();
    gate::current_story(&story, reported)
}

fn verify(session: &Session<'_>) -> Option<Unmet> {
    let config = session.call.config();
    let verify = &config.verify;
    let rules = Some(CheckRules { config, failed_before: &BTreeMap::new() });
    let context = CheckContext { dir: session.call.work_root(), run: "", left: None, rules };
    let checks = run_checks(context, &verify.commands, verify.timeout.limit(), &|| false);
    let checks = checks.unwrap_or_else(|error| {
        session.call.record("gate", &format!("the verify commands could not be run: {error}"));
        Vec::new()
    });
    gate::verify(&checks)
}

/// Files that are not committed, ours left out; none where there is no repository.
fn changed(session: &Session<'_>) -> Vec<PathBuf> {
    let Ok(repo) = session.call.repo() else { return Vec::new() };
    match Status::read(&repo) {
        Ok(status) => status.changed.into_iter().filter(|path| !repo.is_untouched(path)).collect(),
        Err(error) => {
            session.call.record("gate", &error.to_string());
            Vec::new()
        }
    }
}
