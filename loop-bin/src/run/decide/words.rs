//! The words in which a run is told: what happened, what to do, and what is counted.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;
use ralph_base::state::Event;
use ralph_project::config::SessionRetry;
use serde::{Deserialize, Serialize};

use crate::exit::Failure;
use crate::saved::RETRY;
use crate::signals::Signal;

/// What a run has done so far; kept on disk, so that a run goes on after a crash.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Counters {
    /// Iterations begun.
    pub(crate) iteration: u64,
    /// Attempts of each story that count: those that failed, and those that landed. A story that is
    /// landed and chosen again was taken out by somebody, and that cannot go on for ever.
    pub(crate) attempts: BTreeMap<String, u64>,
    /// Stories of which at least one attempt changed something.
    pub(crate) moved: BTreeSet<String>,
    /// How often each story was handed over to a fresh session.
    pub(crate) handovers: BTreeMap<String, u64>,
    /// Stories that this run does not try again.
    pub(crate) set_aside: BTreeSet<String>,
    /// Stories of the plan that are known to be done: since before the run, or by it.
    pub(crate) done: Option<BTreeSet<String>>,
    /// Stories that others ticked since.
    pub(crate) ticked: BTreeSet<String>,
    /// Whether the settings are not those any more with which the run began.
    pub(crate) is_config_changed: bool,
    /// Stories in a row that were given up with nothing changed.
    pub(crate) idle: u64,
    /// Agents in a row that failed before they did anything.
    pub(crate) agent_failures: u64,
    /// What sessions cost that said so, and the tokens for that: the price of a token.
    pub(crate) priced: Spent,
    /// Sessions that were ended before they said what they cost, while no price is known.
    pub(crate) unpriced_sessions: u64,
    /// Sessions of which neither the cost nor a token is known.
    pub(crate) costless_sessions: u64,
    /// Tokens of the session under way that are booked already, and where its part of the log begins.
    pub(crate) session_tokens: u64,
    pub(crate) session_log: u64,
    /// Iterations in a row that a script skipped.
    pub(crate) skipped: u64,
    /// Stories committed, and those among them that no check has seen.
    pub(crate) commits: u64,
    pub(crate) unchecked: u64,
    /// What all of it cost, and what each story did.
    pub(crate) spent: Spent,
    pub(crate) story_spent: BTreeMap<String, Spent>,
    /// Plans that this run is through with, and why stories remain in the first of them that has
    /// such.
    pub(crate) plans_left: BTreeSet<Utf8PathBuf>,
    pub(crate) stuck: Option<String>,
    /// How the last iteration ended.
    pub(crate) last_exit_code: Option<i32>,
    pub(crate) last_duration_s: f64,
    /// How often each story met the work of another one that had landed meanwhile.
    pub(crate) conflicts: BTreeMap<String, u64>,
    /// What the others of the run have done; never on disk, where each has its own.
    #[serde(skip)]
    pub(crate) rest: Vec<Counters>,
}

/// Money, time and tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Spent {
    pub(crate) cost_usd: f64,
    pub(crate) seconds: f64,
    pub(crate) tokens: u64,
    /// Tokens among them of which nobody knows what they cost.
    pub(crate) unpriced: u64,
}

/// What a lifecycle script wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    GoOn,
    Skip,
    Stop,
}

/// How the agent ended, or what became of its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WorkEnd {
    /// All is well, and the work is to be landed.
    Well,
    Landed,
    /// A failed attempt, and what it is called.
    Failed(Outcome, String),
    /// It does not fit what others landed meanwhile.
    Conflict(String),
    /// It fits, and its checks fail with what others landed meanwhile.
    RedWithOthers(String),
    /// A person is needed, or the story's own budget is used up.
    Blocked(String),
    /// The service's usage limit; with the time of its reset in Unix seconds, where it was told.
    Quota(Option<i64>),
    /// We were asked to end while the agent worked.
    Signalled(Signal),
    /// We were asked to end while its work was being checked.
    LandingStopped(Signal),
    /// The time or the money of the run is used up.
    Spent(String),
    /// The agent itself failed before it did anything: it is not logged in, or does not know an
    /// option.
    AgentFailed(String),
    /// Something that no attempt can help: the agent cannot work at all, or no commit can be made.
    Impossible(String),
}

impl WorkEnd {
    /// A failed attempt like most.
    pub(crate) fn failed(why: impl Into<String>) -> Self {
        Self::Failed(Outcome::Failed, why.into())
    }
}

/// Why work does not land: what that makes of its attempt, or a failure of our own.
#[derive(Debug)]
pub(crate) enum NotLanded {
    Work(WorkEnd),
    Failure(Failure),
}

impl From<WorkEnd> for NotLanded {
    fn from(end: WorkEnd) -> Self {
        Self::Work(end)
    }
}

impl<E: Into<Failure>> From<E> for NotLanded {
    fn from(error: E) -> Self {
        Self::Failure(error.into())
    }
}

/// The agent's session, once it has ended or asked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionEnd {
    Ended,
    /// It waits for our word, and can fix what is wrong.
    Waits,
    /// Its context was nearly full, and a fresh one goes on.
    HandedOver,
}

/// What is done about the end of an agent or of a landing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    Land,
    /// Tell the agent that waits what is still missing.
    SendBack(String),
    /// The story is done.
    Report,
    /// Keep the attempt; then wait for the service, end the run, or go on.
    Discard(Discarding, Then),
    /// End the run with the attempt under way, as a kill would: the next start checks and lands it.
    Leave(Signal),
}

/// An attempt that does not land; on disk while it is being kept, because it is counted already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Discarding {
    pub(crate) outcome: Outcome,
    pub(crate) why: String,
    /// Why its story is given up, if it is.
    pub(crate) set_aside: Option<String>,
}

impl Discarding {
    pub(crate) fn new(outcome: Outcome, why: &str) -> Self {
        Self { outcome, why: why.to_owned(), set_aside: None }
    }

    pub(crate) fn interrupted() -> Self {
        Self::new(Outcome::Interrupted, "interrupted")
    }
}

/// What follows an attempt that was kept.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Then {
    GoOn,
    Wait(Option<i64>),
    End(Finish),
}

/// How an iteration ended; the words are given to `post_iteration` and to the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Success,
    Failed,
    Timeout,
    Blocked,
    NoChanges,
    Quota,
    Interrupted,
    Budget,
    Handoff,
    Partial,
}

impl Outcome {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Blocked => "blocked",
            Self::NoChanges => "no_changes",
            Self::Quota => "quota",
            Self::Interrupted => "interrupted",
            Self::Budget => "budget",
            Self::Handoff => "handoff",
            Self::Partial => "partial",
        }
    }

    /// Whether the next attempt goes on with the work of one that ended like this.
    pub(crate) fn is_resumed(word: &str) -> bool {
        let resumed = [Self::Quota, Self::Interrupted, Self::Budget, Self::Handoff, Self::Partial];
        resumed.into_iter().any(|outcome| outcome.word() == word) || word == RETRY
    }

    /// With which session of the client an attempt begins after one that ended like this. What was
    /// not the agent's fault is not paid for twice: its own session goes on.
    pub(crate) fn session_after(word: &str, retry: SessionRetry) -> SessionRetry {
        let unfinished = [Self::Quota, Self::Interrupted, Self::Budget];
        if unfinished.into_iter().any(|outcome| outcome.word() == word) {
            return SessionRetry::Resume;
        }
        match retry {
            // The session is that of an attempt which a person chose, and stays as it is.
            SessionRetry::Resume if word == RETRY => SessionRetry::Fork,
            // There is no room in it.
            _ if word == Self::Handoff.word() => SessionRetry::Fresh,
            retry => retry,
        }
    }
}

/// Why the run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Finish {
    Complete,
    MaxIterations,
    NoChanges,
    /// What is left waits for a person.
    Blocked(String),
    Manual(Signal),
    /// `ralph-loop stop` asked for it, and the story under way was ended first.
    Stopped,
    Error(String),
    /// The checks were red before the first story.
    RedBaseline(String),
    /// A lifecycle script stopped the run, or kept it from going on for too long.
    HookAbort(String),
    Budget(String),
}

impl Finish {
    /// A script asked for it.
    pub(crate) fn stopped_by(script: &str) -> Self {
        Self::HookAbort(format!("the {script} script stopped the loop"))
    }

    /// Why, where there is more to say than the type.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Error(why)
            | Self::RedBaseline(why)
            | Self::Budget(why)
            | Self::Blocked(why)
            | Self::HookAbort(why) => Some(why),
            Self::Stopped => Some("stopped by `ralph-loop stop`"),
            _ => None,
        }
    }

    /// For the journal.
    pub(crate) fn event(&self) -> Event {
        let (finish_type, reason) = (self.word().to_owned(), self.reason().map(str::to_owned));
        Event::LoopFinished { finish_type, reason }
    }

    /// Whether the whole run ends with it, and not only a worker that finds nothing more to do.
    pub(crate) fn ends_run(&self) -> bool {
        !matches!(self, Self::Complete | Self::Blocked(_) | Self::Stopped)
    }

    /// How a run ended whose workers ended so: by what a person should know first.
    pub(crate) fn of_workers(ends: impl IntoIterator<Item = Self>) -> Self {
        let rank = |finish: &Self| match finish {
            Self::Manual(_) => 9,
            Self::Error(_) | Self::RedBaseline(_) => 8,
            Self::HookAbort(_) => 7,
            Self::Budget(_) => 6,
            Self::NoChanges => 5,
            Self::MaxIterations => 4,
            Self::Stopped => 3,
            Self::Blocked(_) => 2,
            Self::Complete => 1,
        };
        ends.into_iter().max_by_key(rank).unwrap_or(Self::Complete)
    }

    /// The documented exit code; `incomplete` if stories remain and the user wants to know.
    pub(crate) fn exit_code(&self, incomplete: bool) -> u8 {
        match self {
            Self::Complete | Self::MaxIterations | Self::Stopped if incomplete => 7,
            Self::Complete | Self::MaxIterations | Self::Stopped => 0,
            Self::Error(_) => 1,
            Self::HookAbort(_) => 3,
            Self::NoChanges => 4,
            Self::Budget(_) => 6,
            Self::Blocked(_) => 8,
            Self::RedBaseline(_) => 9,
            Self::Manual(Signal::Interrupt) => 130,
            Self::Manual(Signal::Terminate) => 143,
        }
    }

    /// The documented finish type.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::MaxIterations => "max_iterations",
            Self::NoChanges => "no_changes",
            Self::Blocked(_) => "blocked",
            Self::Manual(_) | Self::Stopped => "manual",
            Self::Error(_) | Self::RedBaseline(_) => "error",
            Self::HookAbort(_) => "hook_abort",
            Self::Budget(_) => "budget",
        }
    }
}
