//! The agent at work: its prompt, its run, and what its end is worth.

use std::fs::File;
use std::time::{Duration, Instant};

use ralph_core::config::{KEYS, Key, Kind};
use ralph_core::fault;
use ralph_core::git;
use ralph_core::plan::progress;
use ralph_core::prompt::Values;
use ralph_core::settle::{self, Attempt, Report};
use ralph_core::state::{self, Id, LastVerdict};

use super::keepsake::Keepsake;
use super::prepare::template;
use super::stage::Stage;
use super::unfinished;
use crate::agent::{AgentCommand, Run, RunEnd, Supervision, supervise};
use crate::complete::{Claim, ClaimStatus};
use crate::exit::Failure;
use crate::step::{Event, Spent, State, WorkEnd};

/// How much of earlier entries, lessons and failures a prompt holds.
const ENTRIES: usize = 5;
const LONGEST_PART: usize = 16 * 1024;

impl Stage {
    pub(super) fn run_agent(&mut self, state: &State) -> Result<Event, Failure> {
        let Some(attempt) = self.attempt.clone() else {
            return Err(std::io::Error::other("no attempt is under way").into());
        };
        let prompt = self.prompt(&attempt)?;
        let deadline = self.deadline(state);
        let keepsake = Keepsake::take(self.state());
        let run = self.watch_agent(&attempt.story, attempt.iteration, &prompt, deadline)?;
        fault::point("loop.agent-ended");
        for path in keepsake.put_back(self.state())? {
            self.view.warn(format!("the agent changed or removed {path}; put back"));
        }
        self.take_lock_again()?;
        let left = self.clean_up_git(&run)?;
        if git::finish_interrupted(&self.repo, self.state())? {
            self.view.warn("finished a rollback that a hook had begun");
        }
        self.show_hook_error(&attempt);
        let journal = self.journal();
        // A hook that was killed, or that found the disk full, may have left half of a settling.
        let recovered = settle::recover(&self.place(&journal))?;
        if let Some(event) = self.settled_in_session(&attempt, &run, &recovered)? {
            return Ok(event);
        }
        let repaired = settle::repair_plan(&self.place(&journal), &attempt)?;
        for finding in &repaired.findings {
            self.view.warn(format!("the agent {finding}"));
        }
        let claim = Claim::load(self.state()).filter(|claim| claim.story == attempt.story);
        let marked = repaired.claimed == Some(ralph_core::plan::State::Blocked);
        let end = match (self.judge(&run, claim.as_ref(), marked), left) {
            (WorkEnd::Well, Some(left)) => {
                WorkEnd::Failed(format!("the agent left a {left} under way"))
            }
            (end, _) => end,
        };
        self.report = report_of(&run, claim.as_ref());
        self.quota_streak = match end {
            WorkEnd::Quota(_) => self.quota_streak + 1,
            _ => 0,
        };
        Ok(Event::Worked { end, spent: spent_by(&run), exit_code: run.exit_code() })
    }

    /// Names an operation of git's that the agent left under way.
    fn clean_up_git(&self, run: &Run) -> Result<Option<&'static str>, Failure> {
        if !matches!(run.end, RunEnd::Exited(_)) {
            for lock in unfinished::remove_dead_locks(&self.repo) {
                self.view.warn(format!("removed {}, whose holder was ended", lock.display()));
            }
        }
        Ok(unfinished::quit_operation(&self.repo)?)
    }

    /// Runs the agent with a prompt; what it prints goes to a log of its own.
    pub(crate) fn watch_agent(
        &mut self,
        story: &str,
        iteration: u64,
        prompt: &str,
        deadline: Option<Duration>,
    ) -> Result<Run, Failure> {
        let command = AgentCommand {
            line: self.config.agent.command.clone(),
            root: self.project.root().to_owned(),
            vars: self.agent_variables(),
        };
        let log = self.open_log(story, iteration)?;
        let interrupts = self.interrupts.clone();
        let watch = Supervision {
            deadline,
            silence: self.config.agent.silence.limit(),
            grace: Duration::from_secs(self.config.agent.grace.0),
            interrupts: &interrupts,
            log,
        };
        let begun = Instant::now();
        let run = supervise(&command, prompt, &watch, &mut |seen| {
            self.view.glimpse(story, begun.elapsed(), seen);
        })?;
        Ok(run)
    }

    /// What the agent's client and its hooks are told. Settings that were given as flags reach the
    /// hooks as variables, because a hook sees no flags.
    fn agent_variables(&self) -> Vec<(String, String)> {
        let mut vars = vec![
            ("RALPH_RUN".to_owned(), self.run.clone()),
            ("RALPH_ROOT".to_owned(), self.project.root().to_string()),
        ];
        for Key { name, env, kind, .. } in KEYS {
            let given = self.flags.iter().filter(|flag| flag.key == *name);
            let mut values: Vec<&str> = given.map(|flag| flag.value.as_str()).collect();
            let (Some(env), false) = (env, values.is_empty()) else { continue };
            if *kind == Kind::List {
                // The newline at the end keeps commas inside an item.
                values.push("");
            } else {
                values.drain(..values.len() - 1);
            }
            vars.push(((*env).to_owned(), values.join("\n")));
        }
        vars
    }

    fn open_log(&self, story: &str, iteration: u64) -> Result<File, Failure> {
        let folder = self.state().logs();
        let path = folder.join(format!("{}-{iteration:03}-{story}.log", self.run));
        Ok(state::open_log(&path)?)
    }

    fn prompt(&self, attempt: &Attempt) -> Result<String, Failure> {
        let plan = self.load_plan()?;
        let story = plan.story(&attempt.story);
        let logged = progress::logged(&fs_err::read(&attempt.progress).unwrap_or_default());
        let entries = progress::last_entries(&logged, ENTRIES);
        let guardrails = fs_err::read_to_string(self.state().guardrails()).unwrap_or_default();
        let failure = ralph_core::attempt::last_failure(self.state()).unwrap_or_default();
        let values = Values {
            story_id: &attempt.story,
            story_title: &attempt.title,
            story_details: story.map_or("", |story| &story.details),
            plan_path: attempt.plan.as_str(),
            progress_path: attempt.progress.as_str(),
            progress: end_of(&entries),
            guardrails: end_of(&guardrails),
            failure: end_of(&failure),
            iteration: attempt.iteration,
            max_iterations: self.config.run.max_iterations,
            verify: &self.config.verify.commands,
            spec_dir: &self.config.run.specs,
        };
        Ok(template(&plan)?.render(&values))
    }

    /// The agent's own limit, or what is left of the run's or the story's time.
    fn deadline(&self, state: &State) -> Option<Duration> {
        let limits = &self.config.limits;
        let left = |limit: Option<Duration>, used: Duration| {
            limit.map(|limit| limit.saturating_sub(used).max(Duration::from_secs(1)))
        };
        let story = state.story.as_ref().and_then(|id| state.counters.story_spent.get(id));
        let story_used = story.map_or(0.0, |spent| spent.seconds);
        let story_used = Duration::try_from_secs_f64(story_used).unwrap_or_default();
        let all = [
            self.config.agent.timeout.limit(),
            left(limits.max_duration.limit(), self.elapsed()),
            left(limits.story_max_duration.limit(), story_used),
        ];
        all.into_iter().flatten().min()
    }

    pub(super) fn judge(&self, run: &Run, claim: Option<&Claim>, marked_blocked: bool) -> WorkEnd {
        let status = match &run.end {
            RunEnd::Signalled(signal) => return WorkEnd::Signalled(*signal),
            RunEnd::Overdue(limit) => {
                let why = format!("the agent did not end within {} seconds", limit.as_secs());
                return WorkEnd::TimedOut(why);
            }
            RunEnd::Silent(limit) => {
                let why = format!("the agent printed nothing for {} seconds", limit.as_secs());
                return WorkEnd::TimedOut(why);
            }
            RunEnd::Exited(status) => status,
        };
        // The client exits with 0 when it is interrupted, so a signal to us counts first.
        if let Some(signal) = self.interrupts.signal() {
            return WorkEnd::Signalled(signal);
        }
        if let Some(reset) = run.usage_limit() {
            return WorkEnd::Quota(reset);
        }
        match claim {
            Some(Claim { status: ClaimStatus::Blocked, summary, .. }) => {
                return WorkEnd::Blocked(format!("the agent says: {summary}"));
            }
            Some(Claim { status: ClaimStatus::Partial, summary, .. }) => {
                return WorkEnd::Failed(format!(
                    "the agent says that a part is missing: {summary}"
                ));
            }
            _ if marked_blocked => {
                return WorkEnd::Blocked("the agent marked the story as blocked".to_owned());
            }
            _ => {}
        }
        if let Some(why) = unusable(run) {
            return WorkEnd::Unusable(why);
        }
        match &run.seen.verdict {
            Some(verdict) if verdict.is_error => {
                let why = verdict.reason.as_deref().unwrap_or("an error");
                return WorkEnd::Failed(format!("the agent reports {why}: {}", verdict.text));
            }
            _ if !status.success() => return WorkEnd::Failed(bad_exit(run)),
            _ => {}
        }
        match self.last_verdict(run) {
            Some(verdict) if verdict.verdict == "failed" => {
                let tests = verdict.tests.join(", ");
                WorkEnd::Failed(format!("the last test run failed: `{}` {tests}", verdict.command))
            }
            _ => WorkEnd::Well,
        }
    }

    fn last_verdict(&self, run: &Run) -> Option<LastVerdict> {
        let id = Id::parse(run.seen.session.as_deref()?).ok()?;
        LastVerdict::load(&self.state().session(&id))
    }
}

/// Why no attempt can help: the agent cannot be started, or the service does not know us.
fn unusable(run: &Run) -> Option<String> {
    let said = run.seen.complaints.trim();
    match (&run.seen.verdict, run.exit_code()) {
        (Some(verdict), _) if verdict.is_error && matches!(verdict.api_status, Some(401 | 403)) => {
            Some(format!("the agent's service refuses us: {}; log in and try again", verdict.text))
        }
        (None, Some(126 | 127)) if run.seen.text.is_empty() => {
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
    }
}

fn end_of(text: &str) -> &str {
    let mut start = text.len().saturating_sub(LONGEST_PART);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}
