//! `Stop` and `SubagentStop`: the questions in their order; the first that applies decides.
//!
//! 1. Is the context nearly full? Then a fresh session is better than this one.
//! 2. Does something still run? Then nothing is judged on unfinished work.
//! 3. Is there a next story, and was this session asked to go on?
//! 4. Is a gate unmet?

use ralph_core::hook::{BackgroundTask, Decision, Input};
use ralph_project::config::Stop;
use ralph_project::gate::{self, Cause, ContextWindows, Fill, StopStatus, Who, reason};
use ralph_project::transcript::Ending;

use super::gates::Judged;
use super::session::Session;
use super::{continuation, decisions, gates, leaving};
use crate::call::Call;

/// The session itself wants to stop.
pub(super) fn decide(call: &Call<'_>) -> Decision {
    let session = Session::new(call, Who::Session);
    if !concerns_us(&session) {
        if session.own_story().is_some() {
            leaving::record(&session, StopStatus::Allowed, None);
        }
        return Decision::NoOpinion;
    }
    let (ending, fill) = context(&session);
    if let Some(fill) = fill.filter(Fill::is_at_limit) {
        return leaving::hand_over(&session, &fill);
    }
    if let Some((status, note)) = awaited(call.input) {
        return leaving::allow(&session, status, Some(note));
    }
    match continuation::decide(&session, &ending) {
        continuation::Answer::Decided(decision) => decision,
        continuation::Answer::Open(status) => hold(&session, &ending, status, gates::judge),
    }
}

/// A subagent wants to stop: the gates on its work, where its type is one that is gated.
pub(super) fn decide_subagent(call: &Call<'_>) -> Decision {
    let agent_type = call.input.agent_type.as_deref().unwrap_or_default();
    let id = call.input.agent_id.as_deref().unwrap_or(agent_type);
    let session = Session::new(call, Who::Other(format!("agent {id}")));
    let gated = concerns_us(&session) && gate::is_gated(agent_type, &call.config().stop.subagents);
    if !gated || awaited(call.input).is_some() {
        return Decision::NoOpinion;
    }
    // The transcript is the main conversation's, and says nothing about what the subagent did.
    hold(&session, &Ending::default(), StopStatus::Allowed, gates::judge_subagent)
}

/// Most sessions have nothing to do with us, and are not even looked at.
fn concerns_us(session: &Session<'_>) -> bool {
    let stop = &session.call.config().stop;
    session.has_files() || session.is_bound() || stop.verify || stop.review
}

/// Holds back what these gates hold, as far as this turn may still be held back.
fn hold<'s>(
    session: &Session<'s>,
    ending: &Ending,
    status: StopStatus,
    judge: fn(&Session<'s>) -> Judged,
) -> Decision {
    let call = session.call;
    if !may_hold(&call.config().stop, call.input.stop_hook_active) {
        let note = "this turn was already blocked once, so its gates are not checked again";
        return leaving::allow(session, status, Some(note.to_owned()));
    }
    let judged = judge(session);
    if judged.unmet.is_empty() {
        return leaving::allow(session, status, None);
    }
    let gates: Vec<&str> = judged.unmet.iter().map(|unmet| unmet.gate).collect();
    let reasons: Vec<String> = judged.unmet.iter().map(ToString::to_string).collect();
    match session.ask(Cause::Gates, ending, session.fingerprint(None), 0) {
        Ok(()) => {
            decisions::blocked(call, &gates, reasons);
            Decision::Block(reason(&judged.unmet, &judged.advice))
        }
        Err(why) => {
            let note = format!("{}; still unmet: {}", why.told(), reasons.join(" "));
            leaving::allow_unmet(session, StopStatus::LetGo, Some(note), &gates)
        }
    }
}

/// Gates hold a turn once; only `max_blocks` makes that more.
fn may_hold(stop: &Stop, stop_hook_active: bool) -> bool {
    stop.max_blocks > 0 && (!stop_hook_active || stop.max_blocks > 1)
}

/// How full the context is, counting the answer that was just given: any answer may be the one
/// that fills it.
fn context(session: &Session<'_>) -> (Ending, Option<Fill>) {
    let ending = session.ending();
    let fill = fill(session, &ending);
    if ending.length == 0 || fill.is_some_and(|fill| fill.is_at_limit()) {
        return (ending, fill);
    }
    let ending = session.caught_up(ending);
    let fill = self::fill(session, &ending);
    (ending, fill)
}

fn fill(session: &Session<'_>, ending: &Ending) -> Option<Fill> {
    let state = session.call.project().own_state();
    let reported = || ContextWindows::load(state).of(&ending.model);
    Fill::new(ending.context?, &session.call.config().session, reported)
}

/// What still runs in the background, and whether an agent is among it.
fn awaited(input: &Input) -> Option<(StopStatus, String)> {
    // A subagent that stops is still listed as running itself.
    let is_awaited = |task: &&BackgroundTask| {
        task.status == "running" && input.agent_id.as_ref() != Some(&task.id)
    };
    let running: Vec<&BackgroundTask> = input.background_tasks.iter().filter(is_awaited).collect();
    let is_agent = |task: &&BackgroundTask| task.kind.as_deref() == Some("subagent");
    let has_agent = running.iter().any(is_agent);
    let status = if has_agent { StopStatus::Working } else { StopStatus::Waiting };
    let names: Vec<String> = running
        .iter()
        .map(|task| {
            let name = task.description.as_ref().or(task.command.as_ref()).unwrap_or(&task.id);
            name.chars().take(200).collect()
        })
        .collect();
    (!names.is_empty()).then(|| (status, format!("waiting for {}", names.join(", "))))
}
