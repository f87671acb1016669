//! What can happen to an attempt and to a run, and what is done about it.

use ralph_base::state::Event;
use serde::{Deserialize, Serialize};

use crate::saved::RETRY;
use client::signals::Signal;

/// What a lifecycle script asks for by its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScriptRequest {
    Continue,
    Skip,
    Stop,
}

/// How an agent ended, or what became of its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WorkEnd {
    /// The agent ended well, so its work is checked.
    Well,
    Landed,
    /// A failed attempt, and what it is called.
    Failed(Outcome, String),
    /// It does not apply to what landed in the meantime.
    Conflict(String),
    /// It applies, but its checks fail with what landed in the meantime.
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

    /// Whether the client's session goes on after an attempt that ended like this: what was not the
    /// agent's fault is not paid for twice.
    pub(crate) fn keeps_session(word: &str) -> bool {
        [Self::Quota, Self::Interrupted, Self::Budget].iter().any(|outcome| outcome.word() == word)
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

    /// Which of several ends a person should know first.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Self::Manual(_) => 9,
            Self::Error(_) | Self::RedBaseline(_) => 8,
            Self::HookAbort(_) => 7,
            Self::Budget(_) => 6,
            Self::NoChanges => 5,
            Self::MaxIterations => 4,
            Self::Stopped => 3,
            Self::Blocked(_) => 2,
            Self::Complete => 1,
        }
    }

    /// For the journal.
    pub(crate) fn event(&self) -> Event {
        let (finish_type, reason) = (self.word().to_owned(), self.reason().map(str::to_owned));
        Event::LoopFinished { finish_type, reason }
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
