//! How often a session was held back, so that holding back ends.
//!
//! Whatever asks for a block passes through here, and every block is counted on disk before it is
//! answered: a count that cannot be read or written lets go. The client's own word about earlier
//! blocks (`stop_hook_active`) is used but not relied on.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::state_file::{self, Reading};
use crate::config;
use ralph_base::state::{Lock, SessionDir};

/// No session is held back more often than this, whatever the configuration says.
const MOST_BLOCKS: u64 = 1000;

/// How long the counters of another hook's decision are waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// The client's own limit where nothing else is said: so many blocks in a row without a tool call.
const CLIENT_CAP: u64 = 8;

/// Whose stop it is.
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

/// What asks for a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Unmet gates: so many times in a turn.
    Gates,
    /// The next story of a plan: as often as there are iterations.
    Continuation,
    /// Something left behind in added lines: as long as it changes from one attempt to the next.
    Leftovers,
}

/// How often one task or teammate is held back because of what it left behind.
const MOST_LEFTOVERS: u64 = 20;

/// What is known about the moment of a stop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moment {
    /// Whether the client says that this turn was held back before.
    pub stop_hook_active: bool,
    /// How everything looks that work would change; equal texts mean that nothing was changed. It
    /// is kept and compared by another process, so it is short and the same in every build.
    pub fingerprint: String,
    /// How long the transcript is now.
    pub transcript: u64,
    /// Whether a tool was called since the last block.
    pub tool_called: bool,
}

/// The limits of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockLimits {
    /// Blocks by gates in one turn.
    pub in_turn: u64,
    /// Blocks in a row with nothing done between them.
    pub idle: u64,
    /// Continuations in one session.
    pub continuations: u64,
}

impl BlockLimits {
    /// The configured limits, kept below the limit at which the client itself would cut us off.
    pub fn new(stop: &config::Stop, client_cap: Option<u64>, continuations: u64) -> Self {
        let cap = client_cap.filter(|cap| *cap > 0).unwrap_or(CLIENT_CAP);
        Self {
            in_turn: stop.max_blocks.min(MOST_BLOCKS),
            idle: stop.max_idle_blocks.min(cap.saturating_sub(1).max(1)),
            continuations: continuations.min(MOST_BLOCKS),
        }
    }
}

/// Why a block that was asked for is not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LetGo {
    /// This turn was held back often enough.
    TurnSpent,
    /// Nothing was done since the last blocks, so another one would not help either.
    Idle,
    /// The session went on often enough.
    ContinuationsSpent,
    /// The session was held back so often that something must be wrong.
    TooMany,
    /// There is no reliable count.
    NoCount,
}

impl LetGo {
    /// For the journal: what happened, and what it means.
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
    /// All blocks of the session, whoever was held back.
    total: u64,
    /// By the key of [`Who`]; the session's own is the empty one.
    rows: BTreeMap<String, Row>,
}

/// The counts for one that stops.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    /// Blocks by gates in this turn.
    pub in_turn: u64,
    /// Blocks in a row with nothing done between them.
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
    /// Reads the counts of a session. None if they cannot be relied on: then nothing is blocked.
    /// A file that is missing although the client speaks of an earlier block cannot be either.
    pub fn load(session: &SessionDir, stop_hook_active: bool) -> Option<Self> {
        match state_file::read::<Self>(&session.block_counters()) {
            Reading::Found(blocks) => Some(blocks),
            Reading::Missing if !stop_hook_active => Some(Self::default()),
            _ => None,
        }
    }

    /// The counts for one that stops.
    pub fn row(&self, who: &Who) -> Row {
        self.rows.get(&who.key()).cloned().unwrap_or_default()
    }

    /// Asks for a block. Granted, it is counted.
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

    /// Notes that a stop was allowed: the turn is over.
    pub fn allowed(&mut self, who: &Who) {
        let row = Row { in_turn: 0, idle: 0, waiting: false, ..self.row(who) };
        self.keep(who, row);
    }

    /// Notes that a stop was allowed only because something runs in the background. The client
    /// begins a turn when that ends; for us it is still the same one.
    pub fn waits(&mut self, who: &Who) {
        let row = Row { waiting: true, ..self.row(who) };
        self.keep(who, row);
    }

    /// Writes the counts.
    pub fn save(&self, session: &SessionDir) -> io::Result<()> {
        state_file::write(&session.block_counters(), self)
    }

    /// Only the session and whoever was held back have a row: there are never more of them than
    /// blocks.
    fn keep(&mut self, who: &Who, row: Row) {
        if self.row(who) != row {
            self.rows.insert(who.key(), row);
        }
    }
}

impl Row {
    /// A new turn begins with fresh counts, and so does a row of blocks after something was done.
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

/// Asks for a block and counts it on disk, alone among all hooks that do so now.
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

/// Changes the counts on disk in another way. Counts that cannot be relied on are begun anew,
/// which is safe wherever no block follows.
pub fn note_on_disk(session: &SessionDir, note: impl Fn(&mut Blocks)) {
    let changed = || {
        let before = Blocks::load(session, false);
        let mut after = before.clone().unwrap_or_default();
        note(&mut after);
        (before.as_ref() != Some(&after)).then_some(after)
    };
    // Most stops change nothing; whoever counts meanwhile has then come after us.
    if changed().is_some()
        && let Some(_lock) = counting(session)
        && let Some(after) = changed()
    {
        // Best effort: what is not noted only lets go sooner.
        let _ = after.save(session);
    }
}

fn counting(session: &SessionDir) -> Option<Lock> {
    Lock::take_within(&session.block_lock(), "counting a block", PATIENCE).ok()
}

#[cfg(test)]
#[path = "blocks_tests.rs"]
mod tests;
