//! An agent at work, and one that waits for our word.

use std::cell::Cell;
use std::time::{Duration, Instant};

use ralph_core::fault;
use ralph_core::mailbox::{Answer, Mailbox, Question};
use ralph_core::state;
use ralph_core::under_way::Phase;

use crate::agent::{AgentCommand, Run as AgentRun, Session, Supervision, Turn};
use crate::exit::Failure;
use crate::run::decide::Spent;
use crate::run::{Run, RunRecord};
use crate::terminal::{Glimpse, seconds as seconds_of};

/// How long an agent that was let go has to end by itself.
const FAREWELL: Duration = Duration::from_secs(60);

/// An agent that wants to stop, and waits for our word.
pub(in crate::run) struct LiveAgent {
    session: Session,
    question: Question,
    stories: Stories,
}

/// The stories that a session was given, and the tokens that each took; what they cost is known when
/// the session ends.
type Stories = Vec<(String, u64)>;

impl LiveAgent {
    /// How many stories it was given.
    pub(in crate::run) fn stories_given(&self) -> u64 {
        self.stories.len() as u64
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
        deadline: Option<Duration>,
        budget: Option<f64>,
    ) -> Result<Watched, Failure> {
        let context = &self.context;
        let line = &context.config.agent.command;
        let command = AgentCommand {
            line: context.options.applied_to(line, budget, &context.run_dir)?,
            root: self.workspace.root().to_owned(),
            project: context.project.root().to_owned(),
            vars: self.agent_variables(),
        };
        let attempt = self.current()?;
        let name = format!("{}-{:03}-{}.log", context.run, attempt.iteration, attempt.story);
        let log = state::open_log(&context.state().logs().join(name))?;
        Mailbox::at(context.run_dir.mailbox()).empty()?;
        state::remove_if_there(context.state().working_session())?;
        self.workspace.distrust();
        let session = Session::start(&command, prompt, &log)?;
        self.set_phase(Phase::Working)?;
        self.watch(session, Stories::new(), deadline)
    }

    /// Gives our word to the agent that waits, and watches it until it ends or asks again.
    pub(in crate::run) fn go_on(
        &mut self,
        live: LiveAgent,
        text: String,
        deadline: Option<Duration>,
    ) -> Result<Watched, Failure> {
        let LiveAgent { session, question, stories } = live;
        self.workspace.distrust();
        self.set_phase(Phase::Working)?;
        Mailbox::at(self.context.run_dir.mailbox()).reply(&question, Answer::GoOn(text))?;
        self.watch(session, stories, deadline)
    }

    /// The attempt under way has come this far.
    pub(in crate::run) fn set_phase(&mut self, phase: Phase) -> Result<(), Failure> {
        if let Some(attempt) = self.attempt.as_mut() {
            attempt.phase = phase;
            attempt.save(&self.context.run_dir)?;
        }
        Ok(())
    }

    fn watch(
        &mut self,
        mut session: Session,
        mut stories: Stories,
        deadline: Option<Duration>,
    ) -> Result<Watched, Failure> {
        let attempt = self.current()?;
        let (story, iteration) = (attempt.story.as_str(), attempt.iteration);
        let begun = Instant::now();
        let mailbox = Mailbox::at(self.context.run_dir.mailbox());
        let (context, is_said) = (&self.context, Cell::new(false));
        let grace = Duration::from_secs(context.config.agent.grace.0);
        let interrupted = RunRecord { interrupted: true, ..self.record.clone() };
        let beat = || {
            let is_late = deadline.is_some_and(|limit| begun.elapsed() >= limit);
            if !(is_late || context.is_interrupted()) || is_said.replace(true) {
                return;
            }
            let left = seconds_of(grace);
            if !context.is_interrupted() {
                context.view.warn(format!("{story}: time is up; the agent has {left} to end"));
                return;
            }
            context.view.warn(format!(
                "stopping: the agent has {left} to end; Ctrl-C again ends it at once"
            ));
            // A kill of ours before it has ended is part of the same interruption.
            let _ = interrupted.save(&context.run_dir);
        };
        let watch = Supervision {
            deadline,
            silence: context.config.agent.silence.limit(),
            grace,
            interrupts: &context.interrupts,
            beat: &beat,
        };
        let turn = session.watch(&watch, Some(&mailbox), &mut |seen| {
            context.view.glimpse(Glimpse { story, iteration }, begun.elapsed(), seen);
        })?;
        fault::point("loop.agent-ended");
        let seen = session.seen();
        let before: u64 = stories.iter().map(|(_, tokens)| tokens).sum();
        let (took, tokens) = (begun.elapsed(), seen.tokens.saturating_sub(before));
        match stories.last_mut() {
            Some((last, sum)) if last == story => *sum += tokens,
            _ => stories.push((story.to_owned(), tokens)),
        }
        let spent = Spent { seconds: took.as_secs_f64(), tokens, cost_usd: 0.0 };
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
                self.book_session(&stories, &run);
                self.tell_if_costless(&run);
                Ok(Watched { session: run.seen.session.clone(), said, ended: Some(run) })
            }
            Turn::Asks(question) => {
                let said = question.said.clone().unwrap_or(said);
                let name = Some(question.session.clone());
                self.waiting = Some(LiveAgent { session, question, stories });
                Ok(Watched { session: name, said, ended: None })
            }
        }
    }

    /// What a session cost, divided among its stories by the tokens that each took.
    fn book_session(&mut self, stories: &Stories, run: &AgentRun) {
        self.note_window(run);
        let Some(cost) = run.seen.cost_usd else { return };
        let all: u64 = stories.iter().map(|(_, tokens)| tokens).sum();
        for (story, tokens) in stories {
            let share = match all {
                0 => 1.0 / stories.len() as f64,
                all => *tokens as f64 / all as f64,
            };
            let cost_usd = cost * share;
            self.record.counters.book(story, Spent { cost_usd, ..Spent::default() });
            if self.attempt.as_ref().is_some_and(|attempt| attempt.story == *story) {
                *self.report.cost_usd.get_or_insert_default() += cost_usd;
            }
        }
    }

    /// Lets the agent go that waits for our word, and sees to it that it ends.
    pub(in crate::run) fn end_session(&mut self, why: &str) -> Result<(), Failure> {
        let Some(live) = self.waiting.take() else { return Ok(()) };
        let LiveAgent { mut session, mut question, stories } = live;
        let context = &self.context;
        let mailbox = Mailbox::at(context.run_dir.mailbox());
        let until = Instant::now() + FAREWELL;
        let run = loop {
            mailbox.reply(&question, Answer::Stop(why.to_owned()))?;
            let watch = Supervision {
                deadline: Some(until.saturating_duration_since(Instant::now())),
                silence: None,
                grace: Duration::from_secs(context.config.agent.grace.0),
                interrupts: &context.interrupts,
                beat: &|| (),
            };
            match session.watch(&watch, Some(&mailbox), &mut |_| ())? {
                Turn::Ended(run) => break run,
                // Another hook kept it from stopping, and it asks once more.
                Turn::Asks(again) => question = again,
            }
        };
        self.book_session(&stories, &run);
        Ok(())
    }
}
