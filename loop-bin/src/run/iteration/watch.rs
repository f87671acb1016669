//! An agent at work, and one that waits for our word.

use std::cell::Cell;
use std::time::{Duration, Instant};

use camino::Utf8PathBuf;
use ralph_base::fault;
use ralph_base::state::{self, Id, StateDir};
use ralph_project::gate::{LastStop, StopStatus};
use ralph_project::mailbox::{Answer, Mailbox, Question};
use ralph_project::under_way::{Attempt, Phase};

use crate::agent::{AgentRun, Session, Supervision, Turn, seen_in_log, with_files_of};
use crate::exit::Failure;
use crate::run::allowance::Allowance;
use crate::run::context::Context;
use crate::run::decide::Spent;
use crate::run::show::{Shown, ShownCalls};
use crate::run::{Run, RunRecord};
use crate::terminal::seconds as seconds_of;

/// How long an agent that was let go has to end by itself.
const FAREWELL: Duration = Duration::from_secs(60);

/// An agent at work, or one that wants to stop and waits for our word.
pub(in crate::run) struct LiveAgent {
    session: Session,
    /// What it waits for.
    question: Question,
    /// How many of its calls were shown.
    shown: ShownCalls,
    /// The stories that it was given, and the tokens that each took; what they cost is known when the
    /// session ends.
    stories: Vec<(String, u64)>,
}

impl LiveAgent {
    /// How many stories it was given.
    pub(in crate::run) fn stories_given(&self) -> u64 {
        self.stories.len() as u64
    }

    /// The tokens that its stories took so far.
    fn tokens(&self) -> u64 {
        self.stories.iter().map(|(_, tokens)| tokens).sum()
    }

    /// The agent takes so many tokens more for a story.
    fn book(&mut self, story: &str, tokens: u64) {
        match self.stories.last_mut() {
            Some((last, sum)) if last == story => *sum += tokens,
            _ => self.stories.push((story.to_owned(), tokens)),
        }
    }
}

/// What was seen of an agent.
pub(in crate::run) struct Watched {
    /// How it ended; none if it waits for our word.
    pub(in crate::run) ended: Option<AgentRun>,
    /// The session, and the last thing that it said.
    pub(in crate::run) session: Option<String>,
    pub(in crate::run) said: String,
}

impl Run {
    /// Starts an agent with a prompt and watches it until it ends or asks.
    pub(in crate::run) fn start_agent(
        &mut self,
        prompt: &str,
        allowance: Allowance,
    ) -> Result<Watched, Failure> {
        let context = &self.context;
        let line = &context.config.agent.command;
        let budget = allowance.cost_usd.map(|(sum, _)| sum);
        let line =
            context.options.applied_to(line, budget, self.resumed.as_ref(), &context.run_dir)?;
        // An agent that is a file of the project is started from there, committed or not.
        let line = with_files_of(context.project.root(), &line);
        let (root, vars) = (self.workspace.root().to_owned(), self.agent_variables());
        let attempt = self.current()?;
        let log = state::open_log(&log_of(context.state(), &attempt))?;
        let counters = &mut self.record.counters;
        (counters.session_tokens, counters.session_log) = (0, log.metadata()?.len());
        self.save();
        let context = &self.context;
        Mailbox::at(context.run_dir.mailbox()).empty()?;
        state::remove_if_there(context.state().working_session())?;
        self.workspace.distrust();
        // Before it starts: an agent may take the loop down with it at once.
        self.set_phase(Phase::Working)?;
        let session = Session::start(&line, &root, &vars, prompt, &log)?;
        let (question, stories) = (Question::default(), Vec::new());
        self.watch(
            LiveAgent { session, question, shown: ShownCalls::default(), stories },
            allowance,
        )
    }

    /// Gives our word to the agent that waits, and watches it until it ends or asks again.
    pub(in crate::run) fn go_on(
        &mut self,
        live: LiveAgent,
        text: String,
        allowance: Allowance,
    ) -> Result<Watched, Failure> {
        self.workspace.distrust();
        self.set_phase(Phase::Working)?;
        Mailbox::at(self.context.run_dir.mailbox()).reply(&live.question, Answer::GoOn(text))?;
        self.watch(live, allowance)
    }

    /// The attempt under way has come this far.
    pub(in crate::run) fn set_phase(&mut self, phase: Phase) -> Result<(), Failure> {
        if let Some(attempt) = self.attempt.as_mut() {
            attempt.phase = phase;
            attempt.save(&self.context.run_dir)?;
        }
        Ok(())
    }

    fn watch(&mut self, mut live: LiveAgent, allowance: Allowance) -> Result<Watched, Failure> {
        let attempt = self.current()?;
        let story = attempt.story.as_str();
        let (context, begun) = (&self.context, Instant::now());
        let deadline = allowance.time.map(|(time, _)| time);
        let is_late = || deadline.is_some_and(|limit| begun.elapsed() >= limit);
        let (is_said, interrupted) =
            (Cell::new(false), RunRecord { interrupted: true, ..self.record.clone() });
        let beat = || {
            if (is_late() || context.is_interrupted()) && !is_said.replace(true) {
                self.tell_grace(story, &interrupted);
            }
        };
        let watch = Supervision {
            deadline,
            silence: context.config.agent.silence.limit(),
            beat: &beat,
            awaits_work: &|seen| {
                last_stop(context, seen.session.as_deref()) == Some(StopStatus::Working)
            },
            ..supervision(context)
        };
        let mailbox = Mailbox::at(context.run_dir.mailbox());
        let mut shown = Shown::after(live.shown, &self.report.rollbacks);
        let counters = &self.record.counters;
        let turn = live.session.watch(&watch, Some(&mailbox), &mut |seen| {
            let cost = counters.cost_with(seen.cost_usd, seen.tokens);
            shown.look(context, story, seen, cost);
        })?;
        shown.show_rollbacks(context, story);
        live.shown = shown.calls;
        self.report.rollbacks = shown.rollbacks;
        fault::point("loop.agent-ended");
        let (seen, took) = (live.session.seen(), begun.elapsed());
        let tokens = seen.tokens.saturating_sub(live.tokens());
        live.book(story, tokens);
        self.record.counters.session_tokens = live.tokens();
        let spent = Spent { seconds: took.as_secs_f64(), tokens, ..Spent::default() };
        self.record.counters.book(story, spent);
        self.record.counters.last_duration_s = spent.seconds;
        *self.report.duration.get_or_insert_default() += took;
        if tokens > 0 {
            *self.report.tokens.get_or_insert_default() += tokens;
        }
        let said = match &seen.verdict {
            Some(verdict) => verdict.text.clone(),
            None => seen.text.lines().last().unwrap_or_default().to_owned(),
        };
        match turn {
            Turn::Ended(run) => {
                self.book_session(&live.stories, &run);
                self.tell_if_costless(&run);
                Ok(Watched { session: run.seen.session.clone(), said, ended: Some(*run) })
            }
            Turn::Asks(question) => {
                let said = question.said.clone().unwrap_or(said);
                let session = Some(question.session.clone());
                self.waiting = Some(LiveAgent { question, ..live });
                Ok(Watched { session, said, ended: None })
            }
        }
    }

    /// The agent is asked to end, and how long that may take.
    fn tell_grace(&self, story: &str, interrupted: &RunRecord) {
        let context = &self.context;
        let grace = seconds_of(Duration::from_secs(context.config.agent.grace.0));
        if !context.is_interrupted() {
            return context.view.warn(format!("{story}: timed out; the agent has {grace} to exit"));
        }
        let again = "press Ctrl-C again to kill it now";
        context.view.warn(format!("stopping: the agent has {grace} to finish; {again}"));
        // A kill of ours before it has ended is part of the same interruption.
        let _ = interrupted.save(&context.run_dir);
    }

    /// What a session cost, divided among its stories by the tokens that each took.
    pub(super) fn book_session(&mut self, stories: &[(String, u64)], run: &AgentRun) {
        self.note_windows(run);
        let all: u64 = stories.iter().map(|(_, tokens)| tokens).sum();
        let cost = self.record.counters.cost_of_session(run.seen.cost_usd, all);
        match (cost, all) {
            (None, 0) => self.record.counters.costless_sessions += 1,
            (None, _) if run.seen.verdict.is_none() => self.record.counters.unpriced_sessions += 1,
            _ => {}
        }
        for (story, tokens) in stories {
            let Some(cost) = cost else {
                let spent = Spent { unpriced: *tokens, ..Spent::default() };
                self.record.counters.book(story, spent);
                continue;
            };
            let share = match all {
                0 => 1.0 / stories.len() as f64,
                all => *tokens as f64 / all as f64,
            };
            let cost_usd = cost * share;
            self.record.counters.book(story, Spent { cost_usd, ..Spent::default() });
            if self.attempt.as_ref().is_some_and(|attempt| attempt.story == *story) {
                *self.report.cost_usd.get_or_insert_default() += cost_usd;
            } else {
                self.context.note(Some(story), &state::Event::CostReported { cost_usd });
            }
        }
    }

    /// What an agent used whose loop was killed meanwhile, as its log has it.
    pub(in crate::run) fn book_killed(&mut self, attempt: &Attempt) {
        let (log, counters) = (log_of(self.context.state(), attempt), &mut self.record.counters);
        let seen = seen_in_log(&log, counters.session_log).unwrap_or_default();
        let tokens = seen.tokens.saturating_sub(counters.session_tokens);
        let cost = counters.cost_of_session(seen.cost_usd, tokens);
        let unpriced = if cost.is_some() { 0 } else { tokens };
        if cost.is_none() && tokens == 0 {
            counters.costless_sessions += 1;
        }
        let cost_usd = cost.unwrap_or_default();
        let spent = Spent { cost_usd, tokens, unpriced, ..Spent::default() };
        counters.book(&attempt.story, spent);
        self.report.cost_usd = cost;
        self.report.tokens = if tokens > 0 { Some(tokens) } else { None };
    }

    /// Lets the agent go that waits for our word, and sees to it that it ends.
    pub(in crate::run) fn end_session(&mut self, why: &str) -> Result<(), Failure> {
        let Some(mut live) = self.waiting.take() else { return Ok(()) };
        let context = &self.context;
        let mailbox = Mailbox::at(context.run_dir.mailbox());
        let until = Instant::now() + FAREWELL;
        let run = loop {
            mailbox.reply(&live.question, Answer::Stop(why.to_owned()))?;
            let deadline = Some(until.saturating_duration_since(Instant::now()));
            let watch = Supervision { deadline, ..supervision(context) };
            match live.session.watch(&watch, Some(&mailbox), &mut |_| ())? {
                Turn::Ended(run) => break run,
                // Another hook kept it from stopping, and it asks once more.
                Turn::Asks(again) => live.question = again,
            }
        };
        self.book_session(&live.stories, &run);
        Ok(())
    }
}

/// What an agent prints goes here.
pub(super) fn log_of(state: &StateDir, attempt: &Attempt) -> Utf8PathBuf {
    let Attempt { run, iteration, story, .. } = attempt;
    state.logs().join(format!("{run}-{iteration:03}-{story}.log"))
}

pub(super) fn supervision(context: &Context) -> Supervision<'_> {
    Supervision {
        deadline: None,
        silence: None,
        grace: Duration::from_secs(context.config.agent.grace.0),
        interrupts: &context.interrupts,
        beat: &|| (),
        awaits_work: &|_| false,
    }
}

/// How the stop hook let a session go the last time.
pub(super) fn last_stop(context: &Context, session: Option<&str>) -> Option<StopStatus> {
    let session = context.state().session(&Id::parse(session?).ok()?);
    Some(LastStop::load(&session)?.status)
}
