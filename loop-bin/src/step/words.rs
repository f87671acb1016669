//! The words in which a run is told: what happened, what to do, and what is counted.

use std::collections::{BTreeMap, BTreeSet};

use ralph_core::state;
use serde::{Deserialize, Serialize};

/// What a run has done so far; kept on disk, so that a run goes on after a crash.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Counters {
    /// Iterations begun.
    pub(crate) iteration: u64,
    /// Attempts in vain, for each story.
    pub(crate) attempts: BTreeMap<String, u64>,
    /// How often each story was handed over to a fresh session.
    pub(crate) handovers: BTreeMap<String, u64>,
    /// Stories that this run does not try again.
    pub(crate) set_aside: BTreeSet<String>,
    /// Iterations in a row that changed nothing.
    pub(crate) idle: u64,
    /// Stories committed.
    pub(crate) commits: u64,
    /// The number with which the iteration under way began, and how many of its stories are counted
    /// among those that are committed.
    pub(crate) begun: u64,
    pub(crate) counted: u64,
    /// The last iteration whose agent has ended.
    pub(crate) ended: u64,
    /// What all of it cost, and what each story did.
    pub(crate) spent: Spent,
    pub(crate) story_spent: BTreeMap<String, Spent>,
    /// How the last iteration ended.
    pub(crate) last_exit_code: Option<i32>,
    pub(crate) last_duration_s: f64,
}

/// Money, time and tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Spent {
    pub(crate) cost_usd: f64,
    pub(crate) seconds: f64,
    pub(crate) tokens: u64,
}

/// What a lifecycle script wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    GoOn,
    Skip,
    Stop,
}

/// A signal that asks us to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Interrupt,
    Quit,
    Terminate,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// The script `started` ran.
    Started(Wish),
    /// The plan was looked at; `seconds` is how long the run has taken so far.
    Chosen { choice: Choice, seconds: f64 },
    /// The script `next_iteration` ran.
    Announced(Wish),
    /// Checkpoint and story are written down.
    Begun,
    /// The agent ended; its story failed so often in this session.
    Worked { end: WorkEnd, spent: Spent, exit_code: Option<i32>, failures: u64 },
    /// The stop hook settled stories in the agent's session; `next` is what it was sent on to and
    /// did not get settled there, `last` what was settled last. What each of them cost is its share
    /// of the session.
    SettledInSession {
        stories: u64,
        last: String,
        shares: Vec<(String, Spent)>,
        exit_code: Option<i32>,
        iteration: u64,
        next: Option<SentOnTo>,
    },
    /// The attempt was settled, or could not be.
    Settled(Settlement),
    /// The tree is as it was before the attempt; `changed` tells whether the attempt had done
    /// anything.
    RolledBack { changed: bool },
    /// The work of the session is left for a fresh one.
    HandedOver,
    /// The story is marked as waiting for a person.
    SetAside,
    /// The script `post_iteration` ran.
    Reported(Wish),
    /// The usage limit is reset.
    Waited,
    /// A signal came while nothing could be interrupted halfway.
    Signalled(Signal),
    /// Something went wrong that no further attempt can mend.
    Broke(String),
    /// The script `finished` ran.
    Finished,
}

/// The last story of a session that had settled others before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SentOnTo {
    pub(crate) story: String,
    pub(crate) end: WorkEnd,
    pub(crate) failures: u64,
}

/// What the plan offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    Story(String),
    Complete,
    Stuck(String),
}

/// How the agent ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WorkEnd {
    Well,
    /// The session ended because its context was nearly full.
    HandedOver(Handoff),
    /// A story that the session was sent on to, and that it left as it was.
    NotBegun,
    Failed(String),
    TimedOut(String),
    /// The agent says that a person is needed.
    Blocked(String),
    /// The service's usage limit; with the time of its reset in Unix seconds, where it was told.
    Quota(Option<i64>),
    Signalled(Signal),
    /// The time or the money of the run is used up.
    Spent(String),
    /// The same for the story alone.
    StorySpent(String),
    /// It cannot work at all.
    Unusable(String),
}

/// What a session leaves behind that ended because its context was nearly full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Handoff {
    /// A story that is done, as the agent says.
    Claimed,
    /// A story of which nobody said that it is done: checks that pass say no more than that what
    /// was there before still works.
    Unclaimed,
    /// The agent could not even end well.
    Failed(String),
}

/// How settling ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Settlement {
    Done,
    /// The plan is written.
    Planned,
    NothingChanged,
    Failed(String),
    /// No commit can be written here, whatever the agent does.
    Impossible(String),
    Signalled(Signal),
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    RunStarted,
    Choose,
    RunNextIteration,
    Begin(String),
    RunAgent,
    Settle,
    RollBack(Outcome, String),
    /// With what failed, if anything did.
    HandOver(Option<String>),
    SetAside(String),
    RunPostIteration(Outcome),
    Wait(Option<i64>),
    RunFinished(Finish),
    End(Finish),
}

/// How an iteration ended; the words are given to `post_iteration` and to the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
        }
    }
}

/// Why the run ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Finish {
    Complete,
    MaxIterations,
    NoChanges,
    Manual(Signal),
    Error(String),
    HookAbort,
    Budget(String),
}

impl Finish {
    /// What the journal says of it.
    pub(crate) fn told(&self) -> state::Event {
        let reason = match self {
            Self::Error(why) | Self::Budget(why) => Some(why.clone()),
            _ => None,
        };
        state::Event::LoopFinished { finish_type: self.word().to_owned(), reason }
    }

    /// The documented finish type.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::MaxIterations => "max_iterations",
            Self::NoChanges => "no_changes",
            Self::Manual(_) => "manual",
            Self::Error(_) => "error",
            Self::HookAbort => "hook_abort",
            Self::Budget(_) => "budget",
        }
    }
}
