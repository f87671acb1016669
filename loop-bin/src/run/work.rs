//! The agent at work: its prompt, its run, and what its end is worth.

use std::cell::RefCell;
use std::fs::File;
use std::time::{Duration, Instant};

use ralph_core::config::{Config, KEYS, Key, Kind};
use ralph_core::fault;
use ralph_core::git::{self, HeadWatch, Position, Stash};
use ralph_core::plan::progress;
use ralph_core::prompt::Values;
use ralph_core::settle::{self, Attempt, Report};
use ralph_core::state;

use super::allowance::Allowance;
use super::keepsake::Keepsake;
use super::prepare::template;
use super::refuge::{self, Refuge};
use super::session::SettledThere;
use super::stage::Stage;
use crate::agent::{AgentCommand, Run, Supervision, supervise};
use crate::complete::{Claim, ClaimStatus};
use crate::exit::Failure;
use crate::step::{Event, SentOnTo, Spent, State, WorkEnd};
use crate::terminal::Glimpse;

/// How much of earlier entries, lessons and failures a prompt holds.
const ENTRIES: usize = 5;
const LONGEST_PART: usize = 16 * 1024;

impl Stage {
    pub(super) fn run_agent(&mut self, state: &State) -> Result<Event, Failure> {
        let Some(attempt) = self.attempt.clone() else {
            return Err(std::io::Error::other("no attempt is under way").into());
        };
        let prompt = self.prompt(&attempt)?;
        self.allowance = self.allowance(state);
        self.forget_session()?;
        let run = self.watch_agent(&attempt.story, attempt.iteration, &prompt)?;
        self.note_window(&run);
        let left = self.repo.quit_operation()?;
        if git::finish_interrupted(&self.repo, self.state())? {
            self.view.warn("finished a rollback that a hook had begun");
        }
        self.show_hook_error(&attempt.began);
        // A hook that was killed, or that found the disk full, may have left half of a settling.
        let recovered = {
            let journal = self.journal();
            settle::recover(&self.place(&journal))?
        };
        match self.settled_in_session(&attempt, &recovered)? {
            None => self.worked(&attempt, &run, left),
            Some(SettledThere { stories, iteration, next }) => {
                let next = match next {
                    None => {
                        self.take_back_afterthoughts(&attempt)?;
                        self.report = report_of(&run, None);
                        None
                    }
                    Some(next) => self.sent_on_to(next, attempt, &run, left)?,
                };
                let (spent, exit_code) = (spent_by(&run), run.exit_code());
                Ok(Event::SettledInSession { stories, spent, exit_code, iteration, next })
            }
        }
    }

    /// The story that the session was sent on to; none if it did not begin with it.
    fn sent_on_to(
        &mut self,
        next: Attempt,
        first: Attempt,
        run: &Run,
        left: Option<&'static str>,
    ) -> Result<Option<SentOnTo>, Failure> {
        self.attempt = Some(next.clone());
        match self.worked(&next, run, left)? {
            Event::Worked { end, failures, .. } if !self.drop_untouched(&next, &end)? => {
                Ok(Some(SentOnTo { story: next.story, end, failures }))
            }
            _ => {
                self.attempt = Some(first);
                Ok(None)
            }
        }
    }

    /// What the agent's run is worth as an attempt at a story.
    fn worked(
        &mut self,
        attempt: &Attempt,
        run: &Run,
        left: Option<&'static str>,
    ) -> Result<Event, Failure> {
        let failed = Attempt::load(self.state())?.map_or(0, |now| now.failures);
        let repaired = {
            let journal = self.journal();
            settle::repair_plan(&self.place(&journal), attempt)?
        };
        for finding in &repaired.findings {
            self.view.warn(format!("the agent {finding}"));
        }
        let claim = Claim::load(self.state()).filter(|claim| claim.story == attempt.story);
        let marked = repaired.claimed == Some(ralph_core::plan::State::Blocked);
        let end = match (self.judge(run, claim.as_ref(), marked), left) {
            (WorkEnd::Well, Some(left)) => {
                WorkEnd::Failed(format!("the agent left a {left} under way"))
            }
            (WorkEnd::Well, None) if self.is_handoff(run) => WorkEnd::HandedOver(None),
            (WorkEnd::Failed(why), None) if self.is_handoff(run) => WorkEnd::HandedOver(Some(why)),
            (end, _) => end,
        };
        self.report = report_of(run, claim.as_ref());
        if run.usage_limit().is_none() {
            self.quota_streak = 0;
        } else if let WorkEnd::Quota(_) = end {
            self.quota_streak += 1;
        }
        let failures = failed.saturating_sub(attempt.failures);
        Ok(Event::Worked { end, spent: spent_by(run), exit_code: run.exit_code(), failures })
    }

    /// The next session that speaks is that of the agent about to be started.
    pub(super) fn forget_session(&self) -> std::io::Result<()> {
        match fs_err::remove_file(self.state().working_session()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Runs the agent with a prompt; what it prints goes to a log of its own. What it took from us
    /// is put back.
    pub(crate) fn watch_agent(
        &mut self,
        story: &str,
        iteration: u64,
        prompt: &str,
    ) -> Result<Run, Failure> {
        let budget = self.allowance.cost_usd.map(|(sum, _)| sum);
        let command = AgentCommand {
            line: self.options.applied_to(&self.config.agent.command, budget, self.state())?,
            root: self.project.root().to_owned(),
            vars: self.agent_variables(),
        };
        let log = self.open_log(story, iteration)?;
        let interrupts = self.interrupts.clone();
        let head = self.watch_head().map(RefCell::new);
        let watch = Supervision {
            deadline: self.allowance.time.map(|(time, _)| time),
            silence: self.config.agent.silence.limit(),
            grace: Duration::from_secs(self.config.agent.grace.0),
            interrupts: &interrupts,
            log,
            beat: &|| head.iter().for_each(|head| head.borrow_mut().look()),
        };
        let keepsake = Keepsake::take(self.state());
        let refuge = Refuge::open(&self.repo, self.project.root(), &keepsake);
        if let Err(error) = &refuge {
            self.view.warn(format!("no copy of the state could be made: {error}"));
        }
        let stash = Stash::remember(&self.repo);
        let locks = git::locks(&self.repo);
        let begun = Instant::now();
        let run = supervise(&command, prompt, &watch, &mut |seen| {
            self.view.glimpse(Glimpse { story, iteration }, begun.elapsed(), seen);
        })?;
        (watch.beat)();
        fault::point("loop.agent-ended");
        for lock in git::remove_dead_locks(&self.repo, &locks) {
            let lock = lock.display();
            self.view.warn(format!("removed {lock}, which the agent left and nobody holds"));
        }
        for path in keepsake.put_back(self.state(), &self.plan)? {
            self.view.warn(format!("the agent changed or removed {path}; put back"));
        }
        for (path, kept) in keepsake.take_away_new(self.state(), || self.has_learned())? {
            self.view.warn(format!(
                "the agent made {path}, which is yours to make; it has no effect, and is kept as {kept}"
            ));
        }
        settle::refuse_replaced(&self.repo, self.attempt.as_ref())?;
        self.locks.take_again(&self.project, &self.repo)?;
        drop(refuge);
        refuge::remove(&self.repo)?;
        self.put_back_refs("the agent removed it")?;
        self.put_back_stash(&stash);
        Ok(run)
    }

    /// What an agent does to HEAD is told from what somebody does after its loop was killed.
    fn watch_head(&self) -> Option<HeadWatch> {
        if let Some(draft) = &self.draft {
            return Some(HeadWatch::begin(&self.repo, &self.run, &draft.position()));
        }
        let attempt = self.attempt.as_ref()?;
        let began = Position { branch: attempt.branch.clone(), commit: attempt.head.clone() };
        Some(HeadWatch::begin(&self.repo, &attempt.run, &began))
    }

    /// What the agent's client and its hooks are told. Settings that were given as flags reach the
    /// hooks as variables, because a hook sees no flags.
    fn agent_variables(&self) -> Vec<(String, String)> {
        let mut vars = vec![
            ("RALPH_RUN".to_owned(), self.run.clone()),
            ("RALPH_ROOT".to_owned(), self.project.root().to_string()),
            ("PLAN_PATH".to_owned(), self.plan.to_string()),
        ];
        let settled = ["loop.plan", "loop.prd"];
        for Key { name, env, kind, .. } in KEYS.iter().filter(|key| !settled.contains(&key.name)) {
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

fn end_of(text: &str) -> &str {
    let mut start = text.len().saturating_sub(LONGEST_PART);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}
