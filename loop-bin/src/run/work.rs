//! An iteration from the agent's start to the judgement on it, step by step. How it is watched is
//! `watch.rs`, what it is told `briefing.rs`.

use std::time::Duration;

use ralph_core::config::Config;
use ralph_core::git;
use ralph_core::settle::{self, Attempt, Claim, ClaimStatus, Recovered, Report};
use ralph_core::state;

use super::allowance::Allowance;
use super::handover::handed_over;
use super::session::SettledThere;
use super::stage::Stage;
use crate::agent::Run;
use crate::exit::Failure;
use crate::step::{Event, SentOnTo, Spent, State, WorkEnd};

/// An agent that has ended, and the operation of git's that it left under way.
struct Ended {
    run: Run,
    left: Option<&'static str>,
}

impl Stage {
    pub(super) fn run_agent(&mut self, state: &State) -> Result<Event, Failure> {
        let attempt = self.current()?;
        let prompt = self.prompt(&attempt)?;
        self.allowance = self.allowance(state);
        self.forget_session()?;
        let run = self.watch_agent(&attempt.story, attempt.iteration, &prompt)?;
        self.note_window(&run);
        let left = self.repo.quit_operation()?;
        self.tell_of_branch_left(&attempt);
        let recovered = self.finish_what_hooks_began(&attempt)?;
        let ended = Ended { run, left };
        match self.settled_in_session(&attempt, &recovered)? {
            None => self.worked(&attempt, &ended),
            Some(there) => self.worked_in_session(&attempt, there, &ended),
        }
    }

    /// A hook that was killed, or that found the disk full, may have left half of a rollback or of a
    /// settling.
    fn finish_what_hooks_began(&self, attempt: &Attempt) -> Result<Recovered, Failure> {
        self.finish_rollback_of_hooks(&attempt.began)?;
        self.find_checkpoint_again()?;
        let journal = self.journal();
        Ok(settle::recover(&self.place(&journal))?)
    }

    /// The same for a rollback alone, of hooks that ran since an instant.
    pub(super) fn finish_rollback_of_hooks(&self, since: &str) -> Result<(), Failure> {
        if git::finish_interrupted(&self.repo, self.state())? {
            self.view.warn("finished a rollback that a hook had begun");
        }
        self.show_hook_error(since);
        Ok(())
    }

    /// What the agent's run is worth where its hook settled the first story, and perhaps others.
    fn worked_in_session(
        &mut self,
        first: &Attempt,
        there: SettledThere,
        ended: &Ended,
    ) -> Result<Event, Failure> {
        let SettledThere { stories, settled, iteration, next } = there;
        let last = settled.last().map_or_else(|| first.story.clone(), |(story, _)| story.clone());
        let next = match next {
            None => {
                self.take_back_afterthoughts(first)?;
                self.report = report_of(&ended.run, None);
                // Only its name counts from here on: the last iteration is that story's.
                self.attempt = Some(Attempt { story: last.clone(), ..first.clone() });
                None
            }
            Some(next) => Some(self.sent_on_to(next, ended)?),
        };
        let begun = next.as_ref().filter(|next| next.end != WorkEnd::NotBegun);
        let sent_to = begun.map(|next| next.story.as_str());
        let shares = self.share_out(first, &settled, sent_to, &ended.run)?;
        if let Some((_, own)) = shares.last().filter(|_| sent_to.is_some()) {
            let whole = self.report.clone();
            self.report = shared(&whole, *own);
            self.whole_session = Some(whole);
        }
        let exit_code = ended.run.exit_code();
        Ok(Event::SettledInSession { stories, last, shares, exit_code, iteration, next })
    }

    /// The story that the session was sent on to, and what became of it.
    fn sent_on_to(&mut self, next: Attempt, ended: &Ended) -> Result<SentOnTo, Failure> {
        self.attempt = Some(next.clone());
        let (end, failures) = match self.worked(&next, ended)? {
            Event::Worked { end, failures, .. } if !self.drop_untouched(&next, &end)? => {
                (end, failures)
            }
            _ => (WorkEnd::NotBegun, 0),
        };
        Ok(SentOnTo { story: next.story, end, failures })
    }

    /// What the agent's run is worth as an attempt at a story.
    fn worked(&mut self, attempt: &Attempt, ended: &Ended) -> Result<Event, Failure> {
        let Ended { run, left } = ended;
        let failed = Attempt::load(self.state())?.map_or(0, |now| now.failures);
        let (left_open, repaired) = {
            let journal = self.journal();
            let place = self.place(&journal);
            (settle::open_tasks(&place, attempt)?, settle::repair_plan(&place, attempt)?)
        };
        self.tell_findings("the agent", &repaired.findings);
        let claim = Claim::load(self.state(), &attempt.story);
        let marked = repaired.claimed == Some(ralph_core::plan::State::Blocked);
        let judged = match (self.judge(run, claim.as_ref(), marked), left_open) {
            (WorkEnd::Well, Some(why)) => WorkEnd::Failed(why),
            (judged, _) => judged,
        };
        let end = match (judged, left) {
            (WorkEnd::Well, Some(left)) => {
                WorkEnd::Failed(format!("the agent left a {left} under way"))
            }
            (end, None) if self.is_handoff(run) => {
                let claims = |claim: &Claim| claim.status == ClaimStatus::Success;
                handed_over(end, claim.as_ref().is_some_and(claims) || repaired.claimed_done())
            }
            (end, _) => end,
        };
        self.report = report_of(run, claim.as_ref());
        self.count_quota(run, &end);
        let failures = failed.saturating_sub(attempt.failures);
        Ok(Event::Worked { end, spent: spent_by(run), exit_code: run.exit_code(), failures })
    }

    /// How often in a row the usage limit was met.
    pub(super) fn count_quota(&mut self, run: &Run, end: &WorkEnd) {
        if run.usage_limit().is_none() {
            self.quota_streak = 0;
        } else if let WorkEnd::Quota(_) = end {
            self.quota_streak += 1;
        }
    }

    /// The next session that speaks is that of the agent about to be started.
    pub(super) fn forget_session(&self) -> std::io::Result<()> {
        state::remove_if_there(self.state().working_session())
    }

    pub(super) fn allowance(&self, state: &State) -> Allowance {
        let Config { agent, limits, .. } = &self.config;
        let counters = &state.counters;
        let story = state.story.as_ref().and_then(|id| counters.story_spent.get(id));
        let story = story.copied().unwrap_or_default();
        Allowance::of(agent, limits, self.elapsed(), story, counters.spent)
    }
}

/// What a run of the agent cost.
pub(super) fn spent_by(run: &Run) -> Spent {
    Spent {
        cost_usd: run.seen.cost_usd.unwrap_or(0.0),
        seconds: run.duration.as_secs_f64(),
        tokens: run.seen.tokens,
    }
}

pub(super) fn report_of(run: &Run, claim: Option<&Claim>) -> Report {
    let last_words = match &run.seen.verdict {
        Some(verdict) => verdict.text.clone(),
        None => run.seen.text.lines().last().unwrap_or_default().to_owned(),
    };
    let summary = claim.map(|claim| claim.summary.clone()).filter(|summary| !summary.is_empty());
    let summary = summary.unwrap_or_else(|| last_words.chars().take(600).collect());
    Report {
        duration: Some(run.duration),
        tokens: Some(run.seen.tokens).filter(|tokens| *tokens > 0),
        cost_usd: run.seen.cost_usd,
        summary: Some(summary).filter(|summary| !summary.trim().is_empty()),
        claimed: claim.is_some_and(|claim| claim.status == ClaimStatus::Success),
        time_left: None,
    }
}

/// The report on one story of a session, of which it had a share.
fn shared(report: &Report, own: Spent) -> Report {
    Report {
        duration: Duration::try_from_secs_f64(own.seconds).ok(),
        tokens: report.tokens.map(|_| own.tokens),
        cost_usd: report.cost_usd.map(|_| own.cost_usd),
        ..report.clone()
    }
}
