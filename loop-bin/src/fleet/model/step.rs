//! A step, and the list of those that can come next.

use super::world::{At, Commit, Push, Tried, World};

/// What a model can have wrong, so that we see that the search would find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    None,
    /// The server takes a push to the target whatever is there.
    BlindPush,
    /// Nobody looks whether the story is done before it lands.
    NeverLooks,
    /// Work that is laid over a target that moved is not checked again.
    OldCheck,
    /// No answer is taken for a yes.
    Hopeful,
    /// A machine is never taken for gone.
    NoTakeover,
}

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It looks at the server, chooses a story and pushes its claim, perhaps over that of a machine that
    /// it takes for gone.
    Chooses {
        machine: u8,
        story: u8,
        over: Option<u8>,
    },
    Arrives {
        machine: u8,
        is_repeated: bool,
    },
    ArrivesLate(Push),
    /// It hears that its push is done. With its claim it looks at the target, and its agent works.
    Hears(u8),
    /// It asks the server what became of its push.
    Asks {
        machine: u8,
        is_silent: bool,
    },
    /// It looks at the target, checks its work on what it sees, makes the commit and pushes it.
    Lands(u8),
    TakesTurn(u8),
    GivesTurn(u8),
    Crashes(u8),
    Restarts(u8),
    Outsider(Option<u8>),
}

/// A step, what the world is after it, and the commit that a machine takes for landed by it.
pub(super) struct Next {
    pub(super) step: Step,
    pub(super) world: World,
    pub(super) believed: Option<Commit>,
    /// Whether a fleet cannot count on it.
    pub(super) is_luck: bool,
}

/// What can happen, as far as it is found.
pub(super) struct Steps<'a> {
    pub(super) world: &'a World,
    pub(super) flaw: Flaw,
    pub(super) found: Vec<Next>,
}

impl Steps<'_> {
    pub(super) fn add(
        &mut self,
        step: Step,
        is_luck: bool,
        act: impl FnOnce(&mut World) -> Option<Commit>,
    ) {
        let mut world = self.world.clone();
        let believed = act(&mut world);
        // A server that takes everything takes what is old, too.
        if self.flaw != Flaw::BlindPush {
            world.forget();
        }
        self.found.push(Next { step, world, believed, is_luck });
    }
}

impl World {
    pub(super) fn set(&mut self, machine: u8, at: At, disk: Option<Tried>) {
        let computer = &mut self.machines[usize::from(machine)];
        (computer.at, computer.disk) = (at, disk);
    }
}
