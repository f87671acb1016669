//! Reads the state that the gates judge, and only what they need.

use std::collections::BTreeMap;
use std::path::PathBuf;

use camino::Utf8PathBuf;
use ralph_base::state::{LastVerdict, SessionDir};
use ralph_base::supervised::Door;
use ralph_core::git::Status;
use ralph_project::checks::{CheckContext, CheckRules, run_checks};
use ralph_project::gate::{
    self, Cause, LoopState, Orchestrator, QualityGate, Reading, StateFile, StopStatus, Tasks,
    Unmet, Who, reason,
};

use super::session::Session;
use super::stop::Stop;

/// Blocks the stop if a gate is unmet, as long as this turn may still be blocked; otherwise allows
/// it with this status.
pub(super) fn decide(session: &Session<'_>, status: StopStatus) -> Stop {
    let stop = &session.config.stop;
    if stop.max_blocks == 0 {
        return Stop::allow(status, Some("`[stop] max_blocks` is 0".to_owned()));
    }
    // A turn that cannot be blocked any more is judged all the same, to report what it leaves
    // unmet. Only the checks are not run again: they may take minutes.
    let runs_checks = stop.verify && (stop.max_blocks > 1 || !session.was_blocked());
    let (unmet, advice) = judge(session, runs_checks);
    let mut gates: Vec<_> = unmet.iter().map(|unmet| unmet.gate).collect();
    if stop.verify && !runs_checks {
        gates.push(gate::VERIFY);
    }
    if unmet.is_empty() {
        let spent = load::<LoopState>(session).and_then(|(state, _)| state.spent());
        return Stop { gates, ..Stop::allow(status, spent) };
    }
    let reasons = unmet.iter().map(ToString::to_string).collect();
    let asked = session.ask(Cause::Gates, session.fingerprint(None), 0);
    let mut stop = Stop::block(reason(&unmet, &advice), gates, reasons).unless_let_go(asked);
    if status == StopStatus::Complete {
        // The work is complete, whatever else is unmet.
        stop.status = status;
    }
    stop
}

/// Returns unmet gates, and advice that is added to a block but is no reason for one. A subagent is
/// judged by its own work: conditions, rounds, tasks, story and commits are the session's.
fn judge(session: &Session<'_>, runs_checks: bool) -> (Vec<Unmet>, Vec<String>) {
    let (mut unmet, mut advice) = (Vec::new(), Vec::new());
    let is_main = session.who == Who::Session;
    let orchestrator = if is_main { load::<Orchestrator>(session) } else { None };
    let is_orchestrated = orchestrator.is_some();
    unmet.extend(orchestrator.and_then(|(state, file)| state.gate(&file)));
    if is_main {
        unmet.extend(load::<LoopState>(session).and_then(|(state, file)| state.gate(&file)));
    }
    unmet.extend(load::<QualityGate>(session).and_then(|(state, file)| state.gate(&file)));
    if is_main {
        unmet.extend(session.dirs.iter().filter_map(|dir| tasks(session, dir)));
    }
    if session.is_bound {
        unmet.extend(last_tests(session));
    }
    if session.is_bound && is_main {
        unmet.extend(current_story(session));
    }
    if runs_checks {
        unmet.extend(verify(session));
    }
    // Git runs last and only if its answer is needed: a process costs more than everything else.
    if is_orchestrated && !session.is_ours {
        unmet.extend(gate::uncommitted(&changed(session)));
    } else if is_main && session.is_bound && !unmet.is_empty() {
        advice.extend(gate::uncommitted_advice(&changed(session)));
    }
    (unmet, advice)
}

/// Loads the first existing state file of its kind in the session's folders, with its path. A
/// broken file is recorded.
fn load<T: StateFile>(session: &Session<'_>) -> Option<(T, Utf8PathBuf)> {
    for dir in &session.dirs {
        match T::load(dir) {
            Reading::Missing => {}
            Reading::Found(file) => return Some((file, T::path(dir))),
            Reading::Broken(broken) => {
                session.call.record("gate", &broken.to_string());
                return None;
            }
        }
    }
    None
}

fn last_tests(session: &Session<'_>) -> Option<Unmet> {
    let last = session.dirs.iter().find_map(LastVerdict::load)?;
    let is_own = session.who == Who::Session || last.agent == session.call.input.agent_id;
    if is_own { gate::last_verdict(&last) } else { None }
}

fn tasks(session: &Session<'_>, dir: &SessionDir) -> Option<Unmet> {
    let tasks = Tasks::load(dir);
    for broken in &tasks.broken {
        session.call.record("gate", &broken.to_string());
    }
    tasks.gate(&dir.tasks())
}

fn current_story(session: &Session<'_>) -> Option<Unmet> {
    let (_, story) = session.own_story.as_ref()?;
    let reported = session.call.project().own_state().claim().exists();
    gate::current_story(story.as_ref()?, reported)
}

fn verify(session: &Session<'_>) -> Option<Unmet> {
    let (config, verify) = (session.config, &session.config.verify);
    let none = BTreeMap::new();
    let rules = Some(CheckRules::new(config, &none, ""));
    let context = CheckContext {
        dir: session.call.work_root(),
        run: "",
        left: None,
        rules,
        door: &Door::default(),
    };
    let checks = run_checks(context, &verify.commands, verify.timeout.limit(), &|| false);
    let checks = checks.unwrap_or_else(|error| {
        session.call.record("gate", &format!("the verify commands could not be run: {error}"));
        Vec::new()
    });
    gate::verify(&checks)
}

/// Returns the uncommitted files except the loop's own; empty without a repository.
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
