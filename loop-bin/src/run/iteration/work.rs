//! The agent's run, from its start to the judgement on it.

use std::time::Duration;

use ralph_base::state::{self, Id, LastVerdict};
use ralph_core::plan::{AgentsPlan, Plan, State as StoryState, agents_plan};
use ralph_project::claim::{Claim, ClaimStatus};
use ralph_project::gate::{ContextWindows, Standing, StopStatus, Ticking, instruction};
use ralph_project::strikes::HookRollback;
use ralph_project::under_way::{Attempt, Phase};

use super::judge::{Judged, judge};
use super::prove::Proof;
use super::review::Reviewed;
use super::watch::{Watched, last_stop};
use crate::agent::{AgentRun, RunEnd};
use crate::exit::Failure;
use crate::run::Run;
use crate::run::allowance::Allowance;
use crate::run::decide::{Outcome, SessionEnd, Spent, WorkEnd};
use crate::terminal::{dollars, in_words, thousands};
use ralph_project::config::StoriesPerSession;

/// Why a fresh session goes on with a story.
const CONTEXT_FULL: &str = "context full, continuing in a new session";

/// What is known of an attempt besides its files.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::run) struct Report {
    pub(in crate::run) duration: Option<Duration>,
    pub(in crate::run) tokens: Option<u64>,
    pub(in crate::run) cost_usd: Option<f64>,
    /// What the agent says that it did.
    pub(in crate::run) summary: Option<String>,
    /// What the user told it meanwhile.
    pub(in crate::run) told: String,
    /// Whether the agent said explicitly that the story is done. Then checks that pass are enough
    /// even if no file changed.
    pub(in crate::run) claimed: bool,
    pub(in crate::run) session: Option<String>,
    /// Whether its session ended because its context was nearly full.
    pub(in crate::run) is_handed_over: bool,
    /// What hooks rolled back so far.
    pub(in crate::run) rollbacks: Vec<HookRollback>,
    /// What a second look at the work gave.
    pub(in crate::run) proof: Option<Proof>,
    pub(in crate::run) review: Option<Reviewed>,
}

impl Run {
    pub(in crate::run) fn run_agent(&mut self, plan: &Plan) -> Result<WorkEnd, Failure> {
        let (attempt, allowance) = (self.current()?, self.allowance());
        self.listen_to_user();
        let watched = match self.waiting.take() {
            Some(live) => self.go_on(live, self.instruction(&attempt, plan)?, allowance)?,
            None => self.start_or_resume(&attempt, plan, allowance)?,
        };
        self.worked(&attempt, watched, allowance)
    }

    /// Starts an agent in the session that goes on, if there is one and the client still has it.
    fn start_or_resume(
        &mut self,
        attempt: &Attempt,
        plan: &Plan,
        allowance: Allowance,
    ) -> Result<Watched, Failure> {
        let prompt = self.prompt(attempt, plan)?;
        let watched = self.start_agent(&prompt, allowance)?;
        let is_lost = watched.ended.as_ref().is_some_and(AgentRun::has_lost_session);
        let Some(session) = self.resumed.take().filter(|_| is_lost) else { return Ok(watched) };
        self.context.view.warn(format!(
            "{}: the client no longer has the session {}; starting a new one",
            attempt.story, session.id
        ));
        self.start_agent(&prompt, allowance)
    }

    /// The agent is told what is still missing, and goes on.
    pub(in crate::run) fn send_back(&mut self, why: &str) -> Result<WorkEnd, Failure> {
        let attempt = self.current()?;
        let Some(live) = self.waiting.take() else {
            return Err(Failure::because("no agent is waiting for an answer"));
        };
        self.free_landing()?;
        self.show_failure(&attempt.story, why);
        ralph_project::strikes::record_failure(self.context.state(), Some(&attempt.story), why)?;
        let most = self.context.config.limits.attempts_per_story.max(1);
        self.context.view.attempt(self.record.counters.attempts_at(&attempt.story) + 1);
        self.listen_to_user();
        let text = format!(
            "{} ({}) is not done yet, attempt {} of {most}.\n{why}\nNext: fix this, run the checks \
             yourself, then stop again.",
            attempt.story,
            attempt.title.trim(),
            self.record.counters.attempts_at(&attempt.story).max(1),
        );
        let allowance = self.allowance();
        let watched = self.go_on(live, text + &self.told_by_user(), allowance)?;
        self.worked(&attempt, watched, allowance)
    }

    pub(super) fn may_take_another(&self, stories: u64) -> bool {
        match self.context.config.session.stories_per_session {
            StoriesPerSession::AtMost(most) => stories < most,
            StoriesPerSession::Auto => true,
        }
    }

    /// What sends a session on to its next story.
    fn instruction(&self, attempt: &Attempt, plan: &Plan) -> Result<String, Failure> {
        let gone = || Failure::because(format!("{} was just removed from the plan", attempt.story));
        let story = plan.story(&attempt.story).ok_or_else(gone)?;
        let limit = self.context.config.run.max_iterations;
        let standing = Standing { iteration: attempt.iteration.saturating_sub(1), limit };
        let before = "The last story has landed and is ticked.";
        Ok(instruction(Some(before), plan, story, standing, &Ticking::Us) + &self.told_by_user())
    }

    fn worked(
        &mut self,
        attempt: &Attempt,
        watched: Watched,
        allowance: Allowance,
    ) -> Result<WorkEnd, Failure> {
        let Watched { ended, session, said } = watched;
        self.show_hook_error(&attempt.began);
        let session = session.or_else(|| self.working_session());
        let claim = Claim::load(self.context.state(), &attempt.story);
        let agents = self.read_agents_plan(attempt)?;
        self.report_findings(agents.findings.clone());
        let last_verdict = self.last_verdict(&attempt.began);
        let mut end = judge(&Judged {
            run: ended.as_ref(),
            claim: claim.as_ref(),
            agents: Some(&agents),
            last_verdict: last_verdict.as_ref(),
            took: self.report.duration.unwrap_or_default(),
            has_changed: &|| {
                self.workspace.looks_changed(attempt.base.as_deref(), &self.books.ours())
            },
            allowance,
            limits: &self.context.config.limits,
            time_left: self.context.time_left(),
            quota_streak: self.quota_streak,
            signal: self.context.interrupts.signal(),
        });
        let claimed = claim.as_ref().is_some_and(|claim| claim.status == ClaimStatus::Success);
        let is_handed_over = ended.as_ref().is_some_and(|run| {
            let last = last_stop(&self.context, session.as_deref());
            run.is_context_full() || last == Some(StopStatus::Handoff)
        });
        let is_unclaimed = !claimed && agents.claimed != Some(StoryState::Done);
        if end == WorkEnd::Well && is_handed_over && is_unclaimed {
            // Checks that pass would say no more than that what was there before still works.
            let limits = &self.context.config.limits;
            if self.record.counters.may_hand_over(&attempt.story, limits) {
                end = WorkEnd::Failed(Outcome::Handoff, CONTEXT_FULL.to_owned());
            }
        }
        log::info!("{}: the agent's run is worth {end:?}", attempt.story);
        if end == WorkEnd::Well {
            // From here on a crash does not cost the work.
            self.set_phase(Phase::Checking)?;
        }
        let is_refused = matches!(end, WorkEnd::Quota(_));
        self.quota_streak = if is_refused { self.quota_streak + 1 } else { 0 };
        let summary = summary(claim.as_ref(), &said);
        let report = std::mem::take(&mut self.report);
        self.report = Report { session, summary, claimed, is_handed_over, ..report };
        self.record.counters.last_exit_code = ended.as_ref().map_or(Some(0), AgentRun::exit_code);
        self.save();
        Ok(end)
    }

    fn listen_to_user(&mut self) {
        self.report.told = fs_err::read_to_string(self.context.run_dir.told()).unwrap_or_default();
    }

    /// A story that was told what the user said has landed, so nobody else needs it.
    pub(super) fn forget_told(&mut self) -> Result<(), Failure> {
        let (path, told) = (self.context.run_dir.told(), std::mem::take(&mut self.report.told));
        let all = fs_err::read_to_string(&path).unwrap_or_default();
        match all.strip_prefix(&told) {
            _ if told.is_empty() => Ok(()),
            None | Some("") => Ok(state::remove_if_there(path)?),
            Some(rest) => Ok(state::replace(&path, rest.as_bytes())?),
        }
    }

    /// How the session of the attempt under way stands.
    pub(in crate::run) fn session_end(&self) -> SessionEnd {
        match &self.waiting {
            Some(_) => SessionEnd::Waits,
            None if self.report.is_handed_over => SessionEnd::HandedOver,
            None => SessionEnd::Ended,
        }
    }

    /// What the agent did to its file of the plan. In place that is the user's own file, which is
    /// restored, and with it whatever else steers the run.
    pub(in crate::run) fn read_agents_plan(
        &mut self,
        attempt: &Attempt,
    ) -> Result<AgentsPlan, Failure> {
        let given = fs_err::read(self.context.run_dir.plan_given())?;
        let given = Plan::parse(&self.books.plan, given, &self.books.options)?;
        let left = match self.workspace.counterpart(&self.books.plan) {
            Some(_) => self.workspace.left(&self.books.plan),
            // A plan outside of the repository is not the agent's to edit: it has no file of it.
            None => Some(given.bytes().to_vec()),
        };
        let agents = agents_plan(&given, left.as_deref(), &attempt.story);
        if self.workspace.is_in_place {
            if left.as_deref() != Some(given.bytes()) {
                state::replace_users(&self.books.plan, given.bytes())?;
            }
            // Without its list of files, git would show the state as the user's.
            self.context.state().prepare()?;
            for path in self.protected.restore(self.context.state())? {
                self.context.view.warn(format!("restored {path} (changed by the agent)"));
            }
        }
        self.agents = Some(agents.clone());
        Ok(agents)
    }

    /// What the agent did to the plan that it may not do.
    pub(in crate::run) fn report_findings(&self, findings: Vec<String>) {
        for finding in &findings {
            self.context.view.warn(format!("plan: the agent {finding}"));
        }
        if !findings.is_empty() {
            self.journal_note(&state::Event::PlanRepaired { findings });
        }
    }

    /// The last test run of this iteration, in whichever session of the agent's it was.
    fn last_verdict(&self, began: &str) -> Option<LastVerdict> {
        let state = self.context.state();
        let sessions = fs_err::read_dir(state.sessions()).ok()?.flatten();
        let ids = sessions.filter_map(|entry| Id::parse(entry.file_name().to_str()?).ok());
        let found = ids.filter_map(|id| LastVerdict::load(&state.session(&id)));
        let ours = found.filter(|last| last.run == self.context.run && last.at.as_str() >= began);
        ours.max_by(|one, other| one.at.cmp(&other.at))
    }

    /// An agent that prints plain text does not name its session, but its hook notes it.
    fn working_session(&self) -> Option<String> {
        let text = fs_err::read_to_string(self.context.state().working_session()).ok()?;
        Some(text.trim().to_owned()).filter(|id| !id.is_empty())
    }

    pub(in crate::run) fn allowance(&self) -> Allowance {
        let (config, counters) = (&self.context.config, &self.record.counters);
        let story = self.record.story.as_ref().map(|id| counters.spent_on(id)).unwrap_or_default();
        let (elapsed, all) = (self.context.elapsed(), counters.all(|one| one.spent));
        let workers = self.sharers();
        Allowance::of(&config.agent, &config.limits, elapsed, story, (all, workers))
    }

    /// The stop hook wants to know how large the window of its model is; the client says so only at
    /// its end.
    pub(super) fn note_windows(&self, run: &AgentRun) {
        let state = self.context.state();
        let known = ContextWindows::load(state);
        let mut windows = known.windows.clone();
        windows.extend(run.seen.windows.clone());
        if windows == known.windows {
            return;
        }
        if let Err(error) = (ContextWindows { windows }).save(state) {
            self.context.view.warn(format!("the context window could not be recorded: {error}"));
        }
    }

    /// A hook that failed guards nothing, silently; so the user is told.
    fn show_hook_error(&self, since: &str) {
        let Ok(text) = fs_err::read(self.context.state().hook_error()) else { return };
        let Ok(error) = serde_json::from_slice::<serde_json::Value>(&text) else { return };
        let part =
            |name: &str| error.get(name).and_then(|value| value.as_str()).unwrap_or_default();
        if part("at") >= since {
            let (source, phase, what) = (part("source"), part("phase"), part("error"));
            self.context.view.warn(format!("{source} failed ({phase}): {what}"));
        }
    }

    /// An agent that does not say what it cost can spend without end. It is told once.
    pub(super) fn tell_if_costless(&mut self, run: &AgentRun) {
        let limits = &self.context.config.limits;
        let is_limited = limits.max_cost_usd > 0.0 || limits.story_max_cost_usd > 0.0;
        // One that was ended, or that the service refused, had no chance to say anything.
        let could_tell = matches!(run.end, RunEnd::Exited(_)) && run.usage_limit().is_none();
        if !is_limited || !could_tell || run.seen.cost_usd.is_some() || self.is_costless {
            return;
        }
        self.is_costless = true;
        self.context.view.warn(
            "--max-cost and --story-max-cost cannot be enforced: the agent does not report its \
             cost; use --max-duration or --max-iterations instead",
        );
    }
}

/// What the agent says that it did.
fn summary(claim: Option<&Claim>, said: &str) -> Option<String> {
    let claimed = claim.map(|claim| claim.summary.clone()).filter(|text| !text.is_empty());
    let summary = claimed.unwrap_or_else(|| said.chars().take(600).collect());
    Some(summary).filter(|summary| !summary.trim().is_empty())
}

/// What was spent, in words.
pub(in crate::run) fn receipt(spent: Spent) -> String {
    let time = Duration::try_from_secs_f64(spent.seconds).unwrap_or_default();
    let mut text = format!("{} agent time", in_words(time));
    // An agent that reports nothing is not one that is free.
    if spent.tokens > 0 {
        text.push_str(&format!(", {} tokens", thousands(spent.tokens)));
    }
    if spent.cost_usd > 0.0 {
        text.push_str(&format!(", {}", dollars(spent.cost_usd)));
    }
    if spent.unpriced > 0 {
        text.push_str(&format!(", cost unknown for {} tokens", thousands(spent.unpriced)));
    }
    text
}
