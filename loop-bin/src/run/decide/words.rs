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
    /// Failed attempts, for each story.
    pub(crate) attempts: BTreeMap<String, u64>,
    /// Stories of which at least one attempt changed something.
    pub(crate) moved: BTreeSet<String>,
    /// How often each story was handed over to a fresh session.
    pub(crate) handovers: BTreeMap<String, u64>,
    /// Stories that this run does not try again.
    pub(crate) set_aside: BTreeSet<String>,
    /// Stories in a row that were given up with nothing changed.
    pub(crate) idle: u64,
    /// Iterations in a row that a script skipped.
    pub(crate) skipped: u64,
    /// Stories committed.
    pub(crate) commits: u64,
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
    /// The plan was looked at; `seconds` is how long the run has taken so far, `shares` what sessions
    /// took that ended since the last account.
    Chosen { choice: Choice, seconds: f64, shares: Shares },
    /// The script `next_iteration` ran.
    Announced(Wish),
    /// The workspace is ready and the story is written down.
    Begun,
    /// The agent ended or, where it waits for our word, wants to stop.
    Worked { end: WorkEnd, shares: Shares, exit_code: Option<i32>, is_waiting: bool },
    /// The work was landed, or could not be.
    Landed(Landing),
    /// The attempt is kept and out of the way; `changed` tells whether it had done anything.
    Discarded { changed: bool },
    /// The story is marked as waiting for a person.
    SetAside,
    /// The script `post_iteration` ran.
    Reported(Wish),
    /// The usage limit is reset.
    Waited,
    /// A signal came while nothing could be interrupted halfway.
    Signalled(Signal),
    /// Something went wrong that no further attempt can fix.
    Broke(String),
    /// The script `finished` ran; what the last session cost is known by now.
    Finished { shares: Shares },
}

/// What each story took of a session.
pub(crate) type Shares = Vec<(String, Spent)>;

/// What the plan offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    Story(String),
    /// The work of this story is there and has to be landed: a crash came before that.
    Unlanded(String),
    Complete,
    Stuck(String),
}

/// How the agent ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WorkEnd {
    Well,
    /// The session ended because its context was nearly full.
    HandedOver(Handoff),
    Failed(String),
    TimedOut(String),
    /// The agent says that a part is missing.
    Partial(String),
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

/// What became of work that the agent ended well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Landing {
    Done,
    NothingChanged,
    Failed(String),
    /// The target moved, and the work does not fit on it any more.
    Conflict(String),
    /// No commit can be made here, whatever the agent does.
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
    /// Tell the agent that waits what is still missing.
    SendBack(String),
    Land,
    Discard(Outcome, String),
    SetAside(String),
    RunPostIteration(Outcome),
    Wait(Option<i64>),
    RunFinished(Finish),
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
}

/// How `ralph-loop retry` calls the attempt that it asks for.
pub(crate) const RETRY: &str = "retry";

/// Why the run ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Finish {
    Complete,
    MaxIterations,
    NoChanges,
    /// What is left waits for a person.
    Blocked(String),
    Manual(Signal),
    Error(String),
    HookAbort,
    Budget(String),
}

impl Finish {
    /// What the journal says of it.
    pub(crate) fn told(&self) -> state::Event {
        let reason = match self {
            Self::Error(why) | Self::Budget(why) | Self::Blocked(why) => Some(why.clone()),
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
            Self::Blocked(_) => "blocked",
            Self::Manual(_) => "manual",
            Self::Error(_) => "error",
            Self::HookAbort => "hook_abort",
            Self::Budget(_) => "budget",
        }
    }
}
