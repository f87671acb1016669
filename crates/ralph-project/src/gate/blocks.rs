//! Counts how often a session was blocked, so that blocking is limited.
//!
//! Every request to block passes through here, and every block is counted on disk before it is
//! answered: if the count cannot be read or written, the stop is allowed. The client's own report
//! of earlier blocks (`stop_hook_active`) is used but not relied on.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::state_file::{self, Reading};
use crate::config;
use ralph_base::state::{Lock, SessionDir};

/// The most blocks in a session, whatever the configuration says.
const MOST_BLOCKS: u64 = 1000;

/// How long to wait for another hook that holds the counters.
const PATIENCE: Duration = Duration::from_secs(2);

/// The client's default limit: this many consecutive blocks without a tool call.
const CLIENT_CAP: u64 = 8;

/// The agent that wants to stop.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// The session itself.
    Session,
    /// A subagent, by its id; or a task, or a teammate.
    Other(String),
}

impl Who {
    fn key(&self) -> String {
        match self {
            Self::Session => String::new(),
            Self::Other(name) => name.chars().take(100).collect(),
        }
    }
}

/// The cause of a request to block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Unmet gates: limited per turn.
    Gates,
    /// The next story of a plan: limited by the number of iterations.
    Continuation,
    /// Leftovers in added lines: as long as they change from one attempt to the next.
    Leftovers,
}

/// How often one task or teammate is blocked because of leftovers.
const MOST_LEFTOVERS: u64 = 20;

/// The circumstances of a stop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moment {
    /// Whether the client reports that this turn was blocked before.
    pub stop_hook_active: bool,
    /// A fingerprint of everything that work would change; equal ones mean that nothing changed. It
    /// is stored and compared by another process, so it is short and the same in every build.
    pub fingerprint: String,
    /// The current length of the transcript.
    pub transcript: u64,
    /// Whether a tool was called since the last block.
    pub tool_called: bool,
}

/// The limits of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockLimits {
    /// Blocks by gates in one turn.
    pub in_turn: u64,
    /// Consecutive blocks with nothing done between them.
    pub idle: u64,
    /// Continuations in one session.
    pub continuations: u64,
}

impl BlockLimits {
    /// Returns the configured limits, kept below the limit at which the client would overrule us.
    pub fn new(stop: &config::Stop, client_cap: Option<u64>, continuations: u64) -> Self {
        let cap = client_cap.filter(|cap| *cap > 0).unwrap_or(CLIENT_CAP);
        Self {
            in_turn: stop.max_blocks.min(MOST_BLOCKS),
            idle: stop.max_idle_blocks.min(cap.saturating_sub(1).max(1)),
            continuations: continuations.min(MOST_BLOCKS),
        }
    }
}

/// Why a requested block is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LetGo {
    /// This turn was blocked often enough.
    TurnSpent,
    /// Nothing was done since the last blocks, so another one would not help.
    Idle,
    /// The session was continued often enough.
    ContinuationsSpent,
    /// The session was blocked so often that something must be wrong.
    TooMany,
    /// There is no reliable count.
    NoCount,
}

impl LetGo {
    /// Describes what happened and what it means, for the journal.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::TurnSpent => "this turn was blocked as often as `[stop] max_blocks` allows",
            Self::Idle => {
                "the agent did nothing after the last blocks, so the session may stop before the client \
                 ends it"
            }
            Self::ContinuationsSpent => "the session reached its continuation limit",
            Self::TooMany => "the session was blocked so often that something must be wrong",
            Self::NoCount => "blocks cannot be counted, so the session might never stop",
        }
    }
}

/// The counts of one session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Blocks {
    /// All blocks of the session, including those of its subagents.
    total: u64,
    /// The counts by the key of [`Who`]; the session's own key is empty.
    rows: BTreeMap<String, Row>,
}

/// The counts of a session, a subagent, a task or a teammate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    /// Blocks by gates in this turn.
    pub in_turn: u64,
    /// Consecutive blocks with nothing done between them.
    pub idle: u64,
    /// Continuations so far.
    pub continuations: u64,
    /// The fingerprint at the last block.
    pub fingerprint: String,
    /// The transcript's length at the last block.
    pub transcript: u64,
    /// Whether the last stop only waited for something in the background.
    waiting: bool,
}

impl Blocks {
    /// Reads the counts of a session; `None` if they are unreliable: then nothing is blocked. A
    /// missing file is also unreliable if the client reports an earlier block.
    pub fn load(session: &SessionDir, stop_hook_active: bool) -> Option<Self> {
        match state_file::read::<Self>(&session.block_counters()) {
            Reading::Found(blocks) => Some(blocks),
            Reading::Missing if !stop_hook_active => Some(Self::default()),
            _ => None,
        }
    }

    /// Returns the counts of `who`.
    pub fn row(&self, who: &Who) -> Row {
        self.rows.get(&who.key()).cloned().unwrap_or_default()
    }

    /// Requests a block, and counts it if it is granted.
    pub fn ask(
        &mut self,
        who: &Who,
        cause: Cause,
        moment: &Moment,
        limits: BlockLimits,
    ) -> Result<(), LetGo> {
        let mut row = self.row(who);
        row.enter(cause, moment);
        let spent = match cause {
            Cause::Gates if moment.stop_hook_active && limits.in_turn <= 1 => true,
            Cause::Gates => row.in_turn >= limits.in_turn,
            Cause::Leftovers => row.in_turn >= MOST_LEFTOVERS,
            Cause::Continuation => false,
        };
        if spent {
            return Err(LetGo::TurnSpent);
        }
        if cause == Cause::Continuation && row.continuations >= limits.continuations {
            return Err(LetGo::ContinuationsSpent);
        }
        if row.idle >= limits.idle {
            return Err(LetGo::Idle);
        }
        if self.total >= MOST_BLOCKS {
            return Err(LetGo::TooMany);
        }
        self.total += 1;
        match cause {
            Cause::Gates | Cause::Leftovers => row.in_turn += 1,
            Cause::Continuation => row.continuations += 1,
        }
        row.idle += 1;
        row.fingerprint.clone_from(&moment.fingerprint);
        row.transcript = moment.transcript;
        self.keep(who, row);
        Ok(())
    }

    /// Records that a stop was allowed: the turn is over.
    pub fn allowed(&mut self, who: &Who) {
        let row = Row { in_turn: 0, idle: 0, waiting: false, ..self.row(who) };
        self.keep(who, row);
    }

    /// Records that a stop was allowed only because something runs in the background. The client
    /// starts a turn when that ends; for us it is still the same one.
    pub fn waits(&mut self, who: &Who) {
        let row = Row { waiting: true, ..self.row(who) };
        self.keep(who, row);
    }

    /// Writes the counts.
    pub fn save(&self, session: &SessionDir) -> io::Result<()> {
        state_file::write(&session.block_counters(), self)
    }

    /// Stores changed counts. Only the session and agents that were blocked have a row, so the
    /// number of rows is limited.
    fn keep(&mut self, who: &Who, row: Row) {
        if self.row(who) != row {
            self.rows.insert(who.key(), row);
        }
    }
}

impl Row {
    /// Resets the counts at a new turn, and the consecutive blocks after something was done.
    /// Tasks and teammates have no turns.
    fn enter(&mut self, cause: Cause, moment: &Moment) {
        if !moment.stop_hook_active && !self.waiting && cause != Cause::Leftovers {
            self.in_turn = 0;
            self.idle = 0;
        }
        self.waiting = false;
        if moment.tool_called || moment.fingerprint != self.fingerprint {
            self.idle = 0;
        }
    }
}

/// Requests a block and counts it on disk, while other hooks wait for the lock.
pub fn ask_on_disk(
    session: &SessionDir,
    who: &Who,
    cause: Cause,
    moment: &Moment,
    limits: BlockLimits,
) -> Result<(), LetGo> {
    let _lock = counting(session).ok_or(LetGo::NoCount)?;
    let mut blocks = Blocks::load(session, moment.stop_hook_active).ok_or(LetGo::NoCount)?;
    blocks.ask(who, cause, moment, limits)?;
    blocks.save(session).map_err(|_| LetGo::NoCount)
}

/// Changes the counts on disk in another way. Unreliable counts are reset, which is safe if no
/// block follows.
pub fn note_on_disk(session: &SessionDir, note: impl Fn(&mut Blocks)) {
    let changed = || {
        let before = Blocks::load(session, false);
        let mut after = before.clone().unwrap_or_default();
        note(&mut after);
        (before.as_ref() != Some(&after)).then_some(after)
    };
    // Most stops change nothing and need no lock: a hook that counts meanwhile comes after us.
    if changed().is_some()
        && let Some(_lock) = counting(session)
        && let Some(after) = changed()
    {
        // Best effort: a change that is lost only makes a stop allowed sooner.
        let _ = after.save(session);
    }
}

fn counting(session: &SessionDir) -> Option<Lock> {
    Lock::take_within(&session.block_lock(), "counting a block", PATIENCE).ok()
}

#[cfg(test)]
#[path = "blocks_tests.rs"]
mod tests;
