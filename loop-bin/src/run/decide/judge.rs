//! Judges the end of an agent: whether its work can be checked, or how the attempt ends. Pure.

use std::time::Duration;

use jiff::Timestamp;
use ralph_base::state::LastVerdict;
use ralph_core::plan::{AgentsPlan, State as StoryState};
use ralph_project::claim::{Claim, ClaimStatus};
use ralph_project::config::Limits;
use ralph_project::strikes::{HookRollback, with_cause};

use super::pause::{LONGEST_WAIT, Trouble, pause_of};
use super::pick::{Allowance, Owner};
use crate::record::Outcome;
use crate::terminal::{printable, seconds};
use client::signals::Signal;
use client::{AgentRun, Refusal, RunEnd, Said, Stream, said};
use run_history::ASKS;

/// How many usage limits in a row are waited for: with pauses of up to half an hour, this exceeds
/// the usual five hours.
const MOST_WAITS: u32 = 16;

/// How many characters of an agent's question are kept.
const LONGEST_QUESTION: usize = 500;

/// If an agent's tool calls are not visible, one that ran longer than this may have done something.
const SOON: Duration = Duration::from_secs(60);

/// Why an attempt does not land, or not yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WorkEnd {
    /// A failed attempt with its outcome.
    Failed(Outcome, String),
    /// It conflicts with work that has landed since.
    Conflict(String),
    /// It applies to work that has landed since, but its checks fail there.
    RedWithOthers(String),
    /// A person is needed, or the story's own budget is exhausted.
    Blocked(String),
    /// The service did not answer.
    Quota(Trouble),
    /// A signal arrived while the agent was working.
    Signalled(Signal),
    /// A signal arrived while the work was being checked.
    LandingStopped(Signal),
    /// The run's time or money is exhausted.
    Spent(String),
    /// The agent failed before it did anything, for example because it is not logged in or rejects an
    /// option.
    AgentFailed(String),
    /// No attempt can succeed: the agent cannot run, or no commit can be made.
    Impossible(String),
}

impl WorkEnd {
    /// An ordinary failed attempt.
    pub(crate) fn failed(why: impl Into<String>) -> Self {
        Self::Failed(Outcome::Failed, why.into())
    }
}

/// Everything that the judgement depends on.
pub(crate) struct Judged<'a> {
    /// The agent's run; `None` if it is asking to stop.
    pub(crate) run: Option<&'a AgentRun>,
    pub(crate) claim: Option<&'a Claim>,
    /// Its changes to the plan.
    pub(crate) agents: Option<&'a AgentsPlan>,
    /// The last test run of its session.
    pub(crate) last_verdict: Option<&'a LastVerdict>,
    /// How long it worked.
    pub(crate) took: Duration,
    /// Whether it changed any file.
    pub(crate) has_changed: &'a dyn Fn() -> bool,
    pub(crate) allowance: Allowance,
    pub(crate) patience: Patience<'a>,
    pub(crate) signal: Option<Signal>,
}

/// What decides whether a service is waited for.
#[derive(Clone, Copy)]
pub(crate) struct Patience<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) time_left: Option<Duration>,
    pub(crate) quota_streak: u32,
    /// Whether another agent can take over at a usage limit.
    pub(crate) may_switch: bool,
}

/// The reason for which the work does not go on to the checks, if any.
pub(crate) fn judge(judged: &Judged<'_>) -> Option<WorkEnd> {
    if let Some(end) = judged.run.and_then(|run| ended_badly(judged, run)) {
        return Some(end);
    }
    match judged.claim.and_then(|claim| Some((claim.status, claim.denial()?))) {
        Some((ClaimStatus::Partial, why)) => return Some(WorkEnd::Failed(Outcome::Partial, why)),
        Some((_, why)) => return Some(WorkEnd::Blocked(why)),
        None => {}
    }
    if judged.agents.is_some_and(|agents| agents.claimed == Some(StoryState::Blocked)) {
        return Some(WorkEnd::Blocked("the agent marked the story as blocked".to_owned()));
    }
    if let Some(end) = judged.run.and_then(|run| reported_badly(judged, run)) {
        return Some(end);
    }
    let failed = judged.last_verdict?;
    if failed.verdict != "failed" || failed.failed_before {
        return None;
    }
    let runner = failed.runner.iter().map(|runner| format!(" ({runner})"));
    let what = [failed.what.clone(), failed.tests.join(", ")];
    let what = what.into_iter().find(|what| !what.is_empty()).map(|what| format!(": {what}"));
    let details: String = runner.chain(what).collect();
    Some(WorkEnd::failed(format!("the last test run failed{details}")))
}

/// How an attempt without changes ends; `None` if the agent reports that the story is done and checks
/// can confirm that. Work that hooks rolled back has failed.
pub(crate) fn without_changes(
    is_claimed: bool,
    rollbacks: &[HookRollback],
    said: Option<&str>,
) -> Option<WorkEnd> {
    if !rollbacks.is_empty() {
        return Some(WorkEnd::failed("a hook rolled back all that the agent did"));
    }
    if let Some(question) = said.and_then(question) {
        return Some(WorkEnd::Blocked(format!("{ASKS}{question}")));
    }
    let why = "the agent changed nothing".to_owned();
    if is_claimed { None } else { Some(WorkEnd::Failed(Outcome::NoChanges, why)) }
}

/// The question with which an agent's last words end: its paragraph, on one line.
fn question(said: &str) -> Option<String> {
    let last = said.trim().rsplit("\n\n").next()?;
    let last = last.trim_end_matches(['*', '_', '"', ')', ' ']);
    let text = printable(last);
    last.ends_with('?').then(|| text.chars().take(LONGEST_QUESTION).collect())
}

/// An end that was forced on the agent.
fn ended_badly(judged: &Judged<'_>, run: &AgentRun) -> Option<WorkEnd> {
    match &run.end {
        RunEnd::Signalled(signal) => return Some(WorkEnd::Signalled(*signal)),
        RunEnd::Overdue(limit) => {
            let why = format!("the agent did not finish within {}", seconds(*limit));
            return Some(match judged.allowance.time {
                None | Some((_, Owner::Iteration)) => WorkEnd::Failed(Outcome::Timeout, why),
                Some((_, owner)) => used_up(owner, "time limit"),
            });
        }
        RunEnd::Silent(limit) => {
            let why = format!("the agent printed nothing for {}", seconds(*limit));
            return Some(WorkEnd::Failed(Outcome::Timeout, why));
        }
        RunEnd::Unruly(why) => {
            return Some(WorkEnd::failed(format!("the agent was ended: {why}")));
        }
        RunEnd::Forbidden(why) => {
            return Some(WorkEnd::failed(format!("the agent ran a forbidden command: {why}")));
        }
        RunEnd::Unguarded(why) => return Some(WorkEnd::AgentFailed(unguarded(why))),
        RunEnd::Exited(_) | RunEnd::Finished => {}
    }
    if run.seen.unjudged.is_prompt {
        return Some(WorkEnd::AgentFailed(unguarded(&run.seen.unjudged.said)));
    }
    // The client exits with 0 when interrupted, so check our own signal first.
    if let Some(signal) = judged.signal {
        return Some(WorkEnd::Signalled(signal));
    }
    // If we set no limit, it is one that the user gave the agent, and an ordinary failure.
    if let (Some((_, owner)), true) = (judged.allowance.cost_usd, run.is_over_budget()) {
        return Some(used_up(owner, "cost limit"));
    }
    let trouble = match run.refusal()? {
        Refusal::Later(reset) => Trouble::Limit(reset),
        Refusal::Down => Trouble::Down,
        Refusal::Unreachable => Trouble::Unreachable(unreached(run)),
        Refusal::Key => return Some(WorkEnd::Impossible(denied(run))),
        Refusal::Full => return None,
    };
    Some(waits(judged.patience, trouble))
}

/// Waits for the service, or ends the run if that would take too long.
pub(crate) fn waits(patience: Patience<'_>, trouble: Trouble) -> WorkEnd {
    let Patience { limits, time_left, quota_streak, may_switch } = patience;
    let reset = trouble.reset();
    let left = reset.map(|reset| reset.saturating_sub(Timestamp::now().as_second()));
    let wait = Duration::from_secs(u64::try_from(left.unwrap_or(0)).unwrap_or(0));
    let most = time_left.map_or(LONGEST_WAIT, |left| left.min(LONGEST_WAIT));
    let patience = Duration::from_secs(limits.wait_for_service.0);
    let is_patient = pause_of(&trouble, 0, quota_streak + 1, patience).is_some();
    if may_switch {
        WorkEnd::Quota(trouble)
    } else if limits.wait_for_quota && wait > most {
        let wait = seconds(wait);
        WorkEnd::Spent(format!("usage limit reached; it resets in {wait}, too late for this run"))
    } else if quota_streak >= MOST_WAITS {
        let later = "start again later to continue";
        WorkEnd::Spent(format!("requests still refused after {MOST_WAITS} waits; {later}"))
    } else if !is_patient {
        let (why, waited) = (trouble.in_words(), seconds(patience));
        WorkEnd::Spent(format!("{why}; waited {waited} for it; start again later to continue"))
    } else {
        WorkEnd::Quota(trouble)
    }
}

/// The last words of an agent that does not reach its service.
fn unreached(run: &AgentRun) -> String {
    last_words(run).unwrap_or("it said nothing").chars().take(200).collect()
}

/// The agent was stopped because hooks do not judge what it does.
fn unguarded(why: &str) -> String {
    format!("the agent was stopped, because its hooks do not run: {why}")
}

/// An end that the agent itself reports as a failure.
fn reported_badly(judged: &Judged<'_>, run: &AgentRun) -> Option<WorkEnd> {
    if let Some(why) = unusable(run)
        && !(judged.has_changed)()
    {
        return Some(WorkEnd::Impossible(why));
    }
    if let Some(why) = not_started(run) {
        return Some(WorkEnd::Impossible(why));
    }
    let is_error = run.seen.verdict.as_ref().is_some_and(|verdict| verdict.is_error);
    if (is_error || run.exit_code() != Some(0)) && has_done_nothing(judged, run) {
        let is_unreached = words(run).chain(last_words(run)).any(Refusal::is_unreachable);
        return Some(if is_unreached {
            waits(judged.patience, Trouble::Unreachable(unreached(run)))
        } else {
            WorkEnd::AgentFailed(own_failure(run))
        });
    }
    match &run.seen.verdict {
        Some(verdict) if verdict.is_error => {
            let why = verdict.reason.as_deref().unwrap_or("an error");
            let text = verdict.text.trim();
            let said = if text.is_empty() { String::new() } else { format!(": {text}") };
            Some(WorkEnd::failed(format!("the agent reported {why}{said}")))
        }
        _ if run.exit_code() != Some(0) => Some(WorkEnd::failed(bad_exit(run))),
        _ => None,
    }
}

/// A limit on time or cost was reached.
fn used_up(owner: Owner, what: &str) -> WorkEnd {
    match owner {
        Owner::Share(workers) => {
            let why = format!("its share of the run's budget (1/{workers}) is used up");
            WorkEnd::Failed(Outcome::Budget, why)
        }
        Owner::Run | Owner::Iteration => {
            WorkEnd::Spent(format!("the {what} for this run was reached"))
        }
    }
}

/// The shell's reason for not starting the agent, if any; no attempt can succeed then.
fn unusable(run: &AgentRun) -> Option<String> {
    let said = run.seen.said.complaints.trim();
    let is_missing = run.seen.verdict.is_none() && matches!(run.exit_code(), Some(126 | 127));
    (is_missing && run.seen.said.text.is_empty() && !said.is_empty())
        .then(|| format!("the agent could not be started: {said}"))
}

/// Why the client did not even start, if so: its own files or options are wrong, and stay so.
fn not_started(run: &AgentRun) -> Option<String> {
    let startup = run.seen.verdict.as_ref().and_then(|verdict| verdict.startup.as_deref());
    let is_invalid = |said: &str| said.contains("Configuration error in ");
    let is_broken = run.seen.verdict.is_none() && run.seen.calls.count == 0;
    let is_broken = is_broken && run.exit_code() != Some(0) && words(run).any(is_invalid);
    let reason = startup.or(is_broken.then_some("config_file_invalid"))?;
    let verdict = run.seen.verdict.as_ref().map(|verdict| verdict.text.as_str());
    let said = verdict.into_iter().chain(words(run)).find(|said| !said.trim().is_empty());
    let said = said.unwrap_or_default().trim().replace('\n', " ");
    Some(format!("the agent does not start ({reason}): {said}"))
}

/// The service rejects our credentials, so no attempt can succeed.
fn denied(run: &AgentRun) -> String {
    let said = last_words(run).unwrap_or("its service does not accept the key");
    format!("the agent was denied access: {said}; log in and try again")
}

/// Whether nothing shows that the agent did anything: no tool call, token, test run or change.
fn has_done_nothing(judged: &Judged<'_>, run: &AgentRun) -> bool {
    let Stream { calls, tokens, verdict, .. } = &run.seen;
    let is_idle = calls.count == 0 && *tokens == 0 && judged.last_verdict.is_none();
    let is_sure = verdict.is_some() || judged.took < SOON;
    is_idle && is_sure && !run.is_context_full() && !(judged.has_changed)()
}

/// How the agent ended, and its last message.
fn own_failure(run: &AgentRun) -> String {
    let reason = run.seen.verdict.as_ref().and_then(|verdict| verdict.reason.clone());
    let how = match (reason, run.exit_code()) {
        (Some(reason), _) => reason,
        (None, Some(code)) => format!("exit code {code}"),
        (None, None) => "killed by a signal".to_owned(),
    };
    match last_words(run) {
        Some(last) => format!("the agent itself failed ({how}): {last}"),
        None => format!("the agent itself failed ({how}), and said nothing"),
    }
}

/// The last line that the agent printed.
fn last_words(run: &AgentRun) -> Option<&str> {
    let verdict = run.seen.verdict.as_ref().map(|verdict| verdict.text.as_str());
    verdict.into_iter().chain(words(run)).find_map(|text| said(text).next_back())
}

/// The agent's output, standard error first.
fn words(run: &AgentRun) -> impl Iterator<Item = &str> {
    let Said { complaints, text } = &run.seen.said;
    [complaints.as_str(), text].into_iter().filter(|text| !text.trim().is_empty())
}

fn bad_exit(run: &AgentRun) -> String {
    let how = match run.exit_code() {
        Some(code) => format!("the agent exited with code {code}"),
        None => "the agent was killed by a signal".to_owned(),
    };
    words(run).next().map_or(how.clone(), |said| with_cause(&how, None, said))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn judged<'a>(limits: &'a Limits) -> Judged<'a> {
        Judged {
            run: None,
            claim: None,
            agents: None,
            last_verdict: None,
            took: Duration::ZERO,
            has_changed: &|| true,
            allowance: Allowance::default(),
            patience: Patience { limits, time_left: None, quota_streak: 0, may_switch: false },
            signal: None,
        }
    }

    #[test]
    fn an_agent_that_ends_badly_has_failed_whatever_it_says() {
        let second = Duration::from_secs(1);
        let exited = |status| RunEnd::Exited(ExitStatus::from_raw(status));
        let result = r#"{"type":"result","is_error":true,"subtype":"error_max_turns"}"#;
        for (end, line, outcome, why) in [
            (RunEnd::Overdue(second), "", Outcome::Timeout, "did not finish within 1 second"),
            (RunEnd::Silent(second), "", Outcome::Timeout, "printed nothing for 1 second"),
            (exited(9), "", Outcome::Failed, "was killed by a signal"),
            // After work, this is not a failed start.
            (exited(127 << 8), "", Outcome::Failed, "exited with code 127"),
            (exited(0), result, Outcome::Failed, "reported error_max_turns"),
        ] {
            let mut seen = Stream::default();
            seen.line(line.as_bytes());
            let run = AgentRun { end, seen };
            let found = judge(&Judged { run: Some(&run), ..judged(&Limits::default()) });
            assert_eq!(found, Some(WorkEnd::Failed(outcome, format!("the agent {why}"))));
        }
    }

    #[test]
    fn repeated_refusals_of_the_service_end_the_run() {
        let seen = Stream { rejected: Some(None), ..Stream::default() };
        let run = AgentRun { end: RunEnd::Exited(ExitStatus::from_raw(256)), seen };
        let limits = Limits::default();
        let after = |quota_streak| {
            let patience = Patience { quota_streak, ..judged(&limits).patience };
            judge(&Judged { run: Some(&run), patience, ..judged(&limits) })
        };
        assert_eq!(after(MOST_WAITS - 1), Some(WorkEnd::Quota(Trouble::Limit(None))));
        assert!(matches!(after(MOST_WAITS), Some(WorkEnd::Spent(_))));
    }

    #[test]
    fn a_rollback_is_never_reported_as_no_changes() {
        let is_no_changes = |claimed, rollbacks: &[HookRollback]| {
            without_changes(claimed, rollbacks, None)
                .map(|end| matches!(end, WorkEnd::Failed(Outcome::NoChanges, _)))
        };
        assert_eq!((is_no_changes(false, &[]), is_no_changes(true, &[])), (Some(true), None));
        let rolled_back = [HookRollback::default()];
        assert_eq!(is_no_changes(false, &rolled_back), Some(false));
        assert_eq!(is_no_changes(true, &rolled_back), Some(false));
    }

    #[test]
    fn the_agents_claim_takes_precedence_over_its_test_results() {
        let limits = Limits::default();
        let failed = LastVerdict { verdict: "failed".into(), ..LastVerdict::default() };
        let claim = |status| Claim::new("US-001", status, "no key");
        let (partial, blocked) = (claim(ClaimStatus::Partial), claim(ClaimStatus::Blocked));
        assert_eq!(judge(&judged(&limits)), None);
        let last_verdict = Some(&failed);
        let found = judge(&Judged { last_verdict, ..judged(&limits) });
        assert!(matches!(found, Some(WorkEnd::Failed(Outcome::Failed, _))), "{found:?}");
        let found = judge(&Judged { last_verdict, claim: Some(&partial), ..judged(&limits) });
        assert!(matches!(found, Some(WorkEnd::Failed(Outcome::Partial, _))), "{found:?}");
        let found = judge(&Judged { last_verdict, claim: Some(&blocked), ..judged(&limits) });
        assert_eq!(found, Some(WorkEnd::Blocked("the agent says: no key".into())));
        let mut marked = AgentsPlan::default();
        marked.claimed = Some(StoryState::Blocked);
        let found = judge(&Judged { agents: Some(&marked), ..judged(&limits) });
        assert!(matches!(found, Some(WorkEnd::Blocked(_))), "{found:?}");
    }
}
