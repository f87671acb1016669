//! An agent at work, and one that waits for our word.

use std::time::{Duration, Instant};

use ralph_core::fault;
use ralph_core::mailbox::{Answer, Mailbox, Question};
use ralph_core::under_way::{Attempt, Phase};

use crate::agent::{AgentCommand, Run as AgentRun, Session, Supervision, Turn};
use crate::exit::Failure;
use crate::run::Run;
use crate::run::decide::{Shares, Spent};
use crate::terminal::Glimpse;

/// How long an agent that was let go has to end by itself.
const FAREWELL: Duration = Duration::from_secs(60);

/// An agent that wants to stop, and waits for our word.
pub(in crate::run) struct LiveAgent {
    session: Session,
    question: Question,
    /// What its stories took so far; what they cost is known when the session ends.
    account: Account,
    /// How many stories it was given.
    pub(in crate::run) stories: u64,
}

/// What the stories of one session took.
#[derive(Debug, Clone, Default)]
struct Account {
    stories: Vec<(String, Spent)>,
}

impl Account {
    /// Books what was seen since the last time for a story.
    fn book(&mut self, story: &str, seconds: f64, tokens: u64) -> Spent {
        let before: u64 = self.stories.iter().map(|(_, spent)| spent.tokens).sum();
        let spent = Spent { seconds, tokens: tokens.saturating_sub(before), cost_usd: 0.0 };
        self.stories.push((story.to_owned(), spent));
        spent
    }

    /// What the session cost, by the tokens that each story used.
    fn costs(&self, cost_usd: f64) -> Shares {
        let all: u64 = self.stories.iter().map(|(_, spent)| spent.tokens).sum();
        let count = self.stories.len().max(1) as f64;
        let share = |spent: &Spent| match all {
            0 => cost_usd / count,
            all => cost_usd * spent.tokens as f64 / all as f64,
        };
        let cost = |(story, spent): &(String, Spent)| {
            (story.clone(), Spent { cost_usd: share(spent), ..Spent::default() })
        };
        self.stories.iter().map(cost).collect()
    }
}

/// What was seen of an agent.
pub(in crate::run) struct Watched {
    /// How it ended; none if it waits for our word.
    pub(in crate::run) ended: Option<AgentRun>,
    /// The session, and the last thing that it said.
    pub(in crate::run) session: Option<String>,
    pub(in crate::run) said: String,
    pub(in crate::run) shares: Shares,
}

impl Run {
    /// Starts an agent with a prompt and watches it until it ends or asks.
    pub(in crate::run) fn start_agent(
        &mut self,
        what: Watching<'_>,
        prompt: &str,
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
        let log = self.open_log(what.story, what.iteration)?;
        Mailbox::at(context.run_dir.mailbox()).empty()?;
        ralph_core::state::remove_if_there(context.state().working_session())?;
        self.workspace.distrust();
        let session = Session::start(&command, prompt, &log)?;
        if let Some(attempt) = self.attempt.as_mut() {
            attempt.phase = Phase::Working;
            attempt.save(&self.context.run_dir)?;
        }
        self.watch(session, Account::default(), Watching { stories: 1, ..what })
    }

    /// Gives our word to the agent that waits, and watches it until it ends or asks again.
    pub(in crate::run) fn go_on(
        &mut self,
        live: LiveAgent,
        text: String,
        what: Watching<'_>,
    ) -> Result<Watched, Failure> {
        let LiveAgent { session, question, account, stories } = live;
        let is_next = account.stories.last().is_none_or(|(last, _)| last != what.story);
        self.workspace.distrust();
        if let Some(attempt) = self.attempt.as_mut() {
            attempt.phase = Phase::Working;
            attempt.save(&self.context.run_dir)?;
        }
        Mailbox::at(self.context.run_dir.mailbox()).reply(&question, Answer::GoOn(text))?;
        let stories = stories + u64::from(is_next);
        self.watch(session, account, Watching { stories, ..what })
    }

    fn watch(
        &mut self,
        mut session: Session,
        mut account: Account,
        what: Watching<'_>,
    ) -> Result<Watched, Failure> {
        let Watching { story, iteration, deadline, stories } = what;
        let begun = Instant::now();
        let mailbox = Mailbox::at(self.context.run_dir.mailbox());
        let context = &self.context;
        let watch = Supervision {
            deadline,
            silence: context.config.agent.silence.limit(),
            grace: Duration::from_secs(context.config.agent.grace.0),
            interrupts: &context.interrupts,
            beat: &|| (),
        };
        let turn = session.watch(&watch, Some(&mailbox), &mut |seen| {
            context.view.glimpse(Glimpse { story, iteration }, begun.elapsed(), seen);
        })?;
        fault::point("loop.agent-ended");
        let seconds = begun.elapsed().as_secs_f64();
        let seen = session.seen();
        let spent = account.book(story, seconds, seen.tokens);
        let mut shares: Shares = vec![(story.to_owned(), spent)];
        let said = match &seen.verdict {
            Some(verdict) => verdict.text.clone(),
            None => seen.text.lines().last().unwrap_or_default().to_owned(),
        };
        match turn {
            Turn::Ended(run) => {
                shares.extend(account.costs(run.seen.cost_usd.unwrap_or(0.0)));
                self.note_window(&run);
                self.tell_if_costless(&run);
                Ok(Watched { session: run.seen.session.clone(), said, ended: Some(run), shares })
            }
            Turn::Asks(question) => {
                let said = question.said.clone().unwrap_or(said);
                let name = Some(question.session.clone());
                self.waiting = Some(LiveAgent { session, question, account, stories });
                Ok(Watched { session: name, said, ended: None, shares })
            }
        }
    }

    /// Lets the agent go that waits for our word, and sees to it that it ends.
    pub(in crate::run) fn end_session(&mut self, why: &str) -> Result<(), Failure> {
        let Some(live) = self.waiting.take() else { return Ok(()) };
        let LiveAgent { mut session, mut question, account, .. } = live;
        let mailbox = Mailbox::at(self.context.run_dir.mailbox());
        let until = Instant::now() + FAREWELL;
        let run = loop {
            mailbox.reply(&question, Answer::Stop(why.to_owned()))?;
            let context = &self.context;
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
        self.unbooked.extend(account.costs(run.seen.cost_usd.unwrap_or(0.0)));
        self.note_window(&run);
        Ok(())
    }
}

/// What an agent is watched for.
#[derive(Debug, Clone, Copy)]
pub(in crate::run) struct Watching<'a> {
    pub(in crate::run) story: &'a str,
    pub(in crate::run) iteration: u64,
    pub(in crate::run) deadline: Option<Duration>,
    /// How many stories its session was given.
    pub(in crate::run) stories: u64,
}

impl<'a> Watching<'a> {
    /// An attempt of which the agent may take this long.
    pub(in crate::run) fn of(attempt: &'a Attempt, deadline: Option<Duration>) -> Self {
        Self { story: &attempt.story, iteration: attempt.iteration, deadline, stories: 1 }
    }
}
