//! What the end of the agent's run is worth.

use std::time::Duration;

use jiff::Timestamp;
use ralph_core::settle::{self, Claim, ClaimStatus};

use super::allowance::Owner;
use super::finish::LONGEST_PAUSE;
use super::heard::FailedRun;
use super::stage::Stage;
use crate::agent::{Run, RunEnd};
use crate::step::WorkEnd;
use crate::terminal::seconds;

/// How often in a row a usage limit is waited for that names no reset, or one that comes and goes
/// without effect: with pauses that grow to half an hour, this is longer than the five hours of the
/// usual limit.
const MOST_BLIND_WAITS: u32 = 16;

/// Longer than this no usage limit is waited for: a day more than the longest that is known.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(8 * 24 * 3600);

impl Stage {
    pub(crate) fn judge(&self, run: &Run, claim: Option<&Claim>, marked_blocked: bool) -> WorkEnd {
        let status = match &run.end {
            RunEnd::Signalled(signal) => return WorkEnd::Signalled(*signal),
            RunEnd::Overdue(limit) => {
                let why = format!("the agent did not end within {}", seconds(*limit));
                return match self.allowance.time {
                    None | Some((_, Owner::Iteration)) => WorkEnd::TimedOut(why),
                    Some((_, owner)) => used_up(owner, "time"),
                };
            }
            RunEnd::Silent(limit) => {
                let why = format!("the agent printed nothing for {}", seconds(*limit));
                return WorkEnd::TimedOut(why);
            }
            RunEnd::Exited(status) => status,
        };
        // The client exits with 0 when it is interrupted, so a signal to us counts first.
        if let Some(signal) = self.interrupts.signal() {
            return WorkEnd::Signalled(signal);
        }
        // Without a limit of ours it is one that the user gave the agent, and a failure like others.
        if let (Some((_, owner)), true) = (self.allowance.cost_usd, run.is_over_budget()) {
            return used_up(owner, "money");
        }
        if let Some(reset) = run.usage_limit() {
            return match self.too_late(reset) {
                Some(why) => WorkEnd::Spent(why),
                None if is_in_vain(reset, Timestamp::now(), self.quota_streak) => {
                    WorkEnd::Failed(format!(
                        "the agent's service refused, and {MOST_BLIND_WAITS} waits did not change that"
                    ))
                }
                None => WorkEnd::Quota(reset),
            };
        }
        match claim.and_then(|claim| Some((claim.status, claim.denial()?))) {
            Some((ClaimStatus::Partial, why)) => return WorkEnd::Failed(why),
            Some((_, why)) => return WorkEnd::Blocked(why),
            None if marked_blocked => {
                return WorkEnd::Blocked("the agent marked the story as blocked".to_owned());
            }
            None => {}
        }
        if let Some(why) = unusable(run).filter(|_| !self.has_left_work()) {
            return WorkEnd::Unusable(why);
        }
        match &run.seen.verdict {
            Some(verdict) if verdict.is_error => {
                let why = verdict.reason.as_deref().unwrap_or("an error");
                let text = verdict.text.trim();
                let said = if text.is_empty() { String::new() } else { format!(": {text}") };
                return WorkEnd::Failed(format!("the agent reports {why}{said}"));
            }
            _ if !status.success() => return WorkEnd::Failed(bad_exit(run)),
            _ => {}
        }
        match self.failed_run(run) {
            Some(FailedRun { command, tests }) => {
                let command = if command.is_empty() { command } else { format!("`{command}` ") };
                WorkEnd::Failed(format!("the last test run failed: {command}{}", tests.join(", ")))
            }
            None => WorkEnd::Well,
        }
    }

    /// Whether the attempt under way changed anything: then the agent was started, whatever else.
    fn has_left_work(&self) -> bool {
        let journal = self.journal();
        let changed = |attempt| settle::changed_files(&self.place(&journal), attempt);
        self.attempt
            .as_ref()
            .is_some_and(|attempt| changed(attempt).is_ok_and(|files| !files.is_empty()))
    }

    /// Why there is no point in waiting for the reset of a usage limit.
    fn too_late(&self, reset: Option<i64>) -> Option<String> {
        let limits = &self.config.limits;
        let reset = reset.filter(|_| limits.wait_for_quota)?;
        let left = u64::try_from(reset.saturating_sub(Timestamp::now().as_second())).ok()?;
        let left = Duration::from_secs(left);
        let when = match Timestamp::from_second(reset) {
            Ok(time) => format!("the usage limit is reset at {time}"),
            Err(_) => "the usage limit is reset in the far future".to_owned(),
        };
        let run = limits.max_duration.limit().map(|limit| limit.saturating_sub(self.elapsed()));
        if run.is_some_and(|run| left > run) {
            return Some(format!("{when}, when the time for this run is used up"));
        }
        let days = LONGEST_WAIT.as_secs() / (24 * 3600);
        (left > LONGEST_WAIT).then(|| format!("{when}, in more than {days} days; start again then"))
    }
}

/// Whether one more wait would be as blind as all those before it, and they were enough.
fn is_in_vain(reset: Option<i64>, now: Timestamp, waits: u32) -> bool {
    let is_near = |reset: i64| reset.saturating_sub(now.as_second()) <= LONGEST_PAUSE;
    waits >= MOST_BLIND_WAITS && reset.is_none_or(is_near)
}

/// What may be spent on a story, or on the whole run, is spent.
fn used_up(owner: Owner, what: &str) -> WorkEnd {
    match owner {
        Owner::Story => WorkEnd::StorySpent(format!("the {what} for this story is used up")),
        Owner::Run | Owner::Iteration => {
            WorkEnd::Spent(format!("the {what} for this run is used up"))
        }
    }
}

/// Why no attempt can help: the agent cannot be started, or the service does not know us.
fn unusable(run: &Run) -> Option<String> {
    let said = run.seen.complaints.trim();
    match (&run.seen.verdict, run.exit_code()) {
        (Some(verdict), _) if verdict.is_error && matches!(verdict.api_status, Some(401 | 403)) => {
            Some(format!("the agent's service refuses us: {}; log in and try again", verdict.text))
        }
        // The shell says why it could not start a program.
        (None, Some(126 | 127)) if run.seen.text.is_empty() && !said.is_empty() => {
            Some(format!("the agent could not be started: {said}"))
        }
        _ => None,
    }
}

fn bad_exit(run: &Run) -> String {
    let how = match run.exit_code() {
        Some(code) => format!("the agent ended with exit code {code}"),
        None => "the agent was ended by a signal".to_owned(),
    };
    let said =
        [&run.seen.complaints, &run.seen.text].into_iter().find(|text| !text.trim().is_empty());
    match said {
        Some(said) => format!("{how}\n{}", said.trim()),
        None => how,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_without_a_reset_is_not_waited_for_without_end() {
        let now = Timestamp::from_second(1_000).unwrap();
        for (reset, waits, in_vain) in [
            (None, 0, false),
            (None, MOST_BLIND_WAITS - 1, false),
            (None, MOST_BLIND_WAITS, true),
            (Some(900), MOST_BLIND_WAITS, true),
            (Some(1_001), MOST_BLIND_WAITS - 1, false),
            (Some(1_001), MOST_BLIND_WAITS, true),
            (Some(9_000), MOST_BLIND_WAITS + 9, false),
        ] {
            assert_eq!(is_in_vain(reset, now, waits), in_vain, "{reset:?} {waits}");
        }
    }
}
