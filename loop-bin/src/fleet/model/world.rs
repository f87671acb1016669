//! What the model knows at one moment: the server, the machines with their disks, and what is under way
//! between them.

use std::fmt;

/// A commit of the target, told by its whole history: one byte for each change, the newest last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Commit(u64);

/// Who is no machine of the fleet.
const OUTSIDER: u8 = 3;

/// A change that does no story.
const NO_STORY: u8 = 3;

impl Commit {
    pub(super) fn parent(self) -> Self {
        Self(self.0 >> 8)
    }

    /// A commit of a machine on top of this one, that was checked on a commit. `again` tells it from
    /// others that the machine made of the same work.
    pub(super) fn child(self, machine: u8, story: u8, checked_on: Self, again: u8) -> Self {
        let is_checked = u64::from(checked_on == self);
        let change = 0x80 | (is_checked << 6) | u64::from(again & 3) << 4;
        Self(self.0 << 8 | change | u64::from(machine << 2 | story))
    }

    /// A commit of a person, who may have done a story by hand.
    pub(super) fn outsiders(self, story: Option<u8>) -> Self {
        Self(self.0 << 8 | 0xc0 | u64::from(OUTSIDER << 2 | story.unwrap_or(NO_STORY)))
    }

    fn change(self) -> u8 {
        self.0.to_le_bytes()[0]
    }

    pub(super) fn story(self) -> Option<u8> {
        Some(self.change() & 3).filter(|story| *story != NO_STORY)
    }

    /// Whether it was checked on exactly its parent.
    pub(super) fn is_checked(self) -> bool {
        self.change() & 0x40 != 0
    }

    /// Itself and what it was made on, the newest first.
    pub(super) fn history(self) -> impl Iterator<Item = Self> {
        let older = |commit: &Self| Some(commit.parent());
        std::iter::successors(Some(self), older).take_while(|commit| *commit != Self::default())
    }

    pub(super) fn has(self, other: Self) -> bool {
        other == Self::default() || self.history().any(|commit| commit == other)
    }

    pub(super) fn has_done(self, story: u8) -> bool {
        self.history().any(|commit| commit.story() == Some(story))
    }
}

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut changes: Vec<Self> = self.history().collect();
        changes.reverse();
        f.write_str("begin")?;
        for change in changes {
            let story = change.story().map_or("work".to_owned(), |story| format!("S{}", story + 1));
            write!(f, "-{story} by {}", Named(change.change() >> 2 & 3))?;
        }
        Ok(())
    }
}

/// A machine, as people call it.
pub(super) struct Named(pub(super) u8);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["A", "B", "C", "outsider"].get(usize::from(self.0)).unwrap_or(&"?"))
    }
}

/// A push on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Push {
    pub(super) machine: u8,
    pub(super) what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum What {
    /// A claim in the place of that of another machine.
    Claim {
        story: u8,
        old: Option<u8>,
    },
    Land(Commit),
    /// The machine asks that nobody lands before it, in the place of another one that did.
    TakeTurn {
        old: Option<u8>,
    },
    GiveTurn,
}

/// Where a machine is, in memory: a crash forgets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum At {
    Off,
    Idle,
    /// It waits for the answer to a push.
    Pushing(Push, Answer),
    /// The agent has ended well, and its work is to be landed.
    Checking,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Answer {
    /// The push has not arrived.
    Pending,
    /// It has, and the answer is on its way.
    Done,
    Rejected,
}

/// What a machine has on its disk about its attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Tried {
    pub(super) story: u8,
    pub(super) base: Commit,
    pub(super) phase: Stage,
}

/// How far it is. An attempt that is still worked on is begun anew after a crash, as if there was none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    Checking,
    Landing(Commit),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Computer {
    pub(super) at: At,
    pub(super) disk: Option<Tried>,
    /// Whether it remembers that it has the turn.
    pub(super) has_turn: bool,
}

/// How machines know whose turn it is to land.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Turns {
    /// There are none.
    None,
    /// A machine that has it remembers so, and gives it back when its work has landed.
    Remembered,
    /// A machine has it if the server says so, and gives it back when its work has landed, or with its next
    /// claim.
    WithNextClaim,
    /// A machine has it if the server says so, and gives it back whenever it has no work to land.
    Seen,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) target: Commit,
    /// Which machine has claimed each story. Two claims of a machine are the same: they say the same.
    pub(super) claims: Vec<Option<u8>>,
    pub(super) turns: Turns,
    pub(super) turn: Option<u8>,
    pub(super) machines: Vec<Computer>,
    /// Pushes that nobody waits for any more, and which may arrive all the same.
    pub(super) late: Vec<Push>,
    /// How many things may still go wrong.
    pub(super) faults: u8,
}

impl World {
    pub(super) fn new(machines: usize, stories: usize, faults: u8) -> Self {
        let computer = Computer { at: At::Idle, disk: None, has_turn: false };
        Self {
            target: Commit::default(),
            claims: vec![None; stories],
            turns: Turns::None,
            turn: None,
            machines: vec![computer; machines],
            late: Vec::new(),
            faults,
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        (0..self.claims.len()).all(|story| self.target.has_done(story as u8))
    }

    pub(super) fn is_alive(&self, machine: u8) -> bool {
        self.machines[usize::from(machine)].at != At::Off
    }

    pub(super) fn claim_of(&self, story: u8) -> Option<u8> {
        self.claims[usize::from(story)]
    }

    /// Forgets what nobody looks at any more: claims of stories that are done, and pushes that cannot
    /// change anything whenever they arrive.
    pub(super) fn forget(&mut self) {
        let target = self.target;
        for (story, claim) in self.claims.iter_mut().enumerate() {
            if target.has_done(story as u8) {
                *claim = None;
            }
        }
        for computer in &mut self.machines {
            if let At::Pushing(Push { what: What::Claim { story, old }, .. }, _) = &mut computer.at
                && target.has_done(*story)
            {
                *old = None;
            }
        }
        self.late.retain(|push| match push.what {
            What::Claim { story, .. } => !target.has_done(story),
            What::Land(commit) => commit.parent() == target,
            What::TakeTurn { .. } | What::GiveTurn => true,
        });
    }

    /// What is broken for good in this world, if anything is.
    pub(super) fn broken(&self) -> Option<String> {
        for commit in self.target.history() {
            if !commit.is_checked() {
                return Some(format!("{commit} was not checked on its parent"));
            }
            if commit.story().is_some_and(|story| commit.parent().has_done(story)) {
                return Some(format!("{commit} does a story again"));
            }
        }
        None
    }
}
