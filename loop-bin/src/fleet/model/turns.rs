//! A machine that met too many others asks that nobody lands before it. Here each may ask at any time.

use super::step::{Flaw, Step, Steps};
use super::world::{Answer, At, Commit, Push, Stage, Tried, Turns, What, World};
use crate::fleet::rules::{Claiming, claiming};

impl Steps<'_> {
    /// Lands work, or asks for the turn, unless it is that of another machine which is at work as far as
    /// this one sees.
    pub(super) fn land(&mut self, us: u8, tried: Tried) {
        let (world, flaw) = (self.world, self.flaw);
        let other = world.turn.filter(|owner| *owner != us);
        let is_mistaken = other.is_some_and(|other| world.is_alive(other));
        let is_taken = is_mistaken && world.faults == 0;
        let names = ["A", "B", "C"];
        let seen = world.turn.map(|owner| ("commit", names[usize::from(owner)]));
        if claiming(seen, names[usize::from(us)], |_| is_taken) == Claiming::Taken {
            return;
        }
        self.add(Step::Lands(us), is_mistaken, |world| {
            world.faults -= u8::from(is_mistaken);
            land(world, us, tried, flaw);
            None
        });
        let has_turn = match world.turns {
            Turns::None => true,
            Turns::Remembered => world.machines[usize::from(us)].has_turn,
            Turns::WithNextClaim | Turns::Seen => world.turn == Some(us),
        };
        if !has_turn {
            self.add(Step::TakesTurn(us), is_mistaken, |world| {
                world.faults -= u8::from(is_mistaken);
                let push = Push { machine: us, what: What::TakeTurn { old: world.turn } };
                world.set(us, At::Pushing(push, Answer::Pending), Some(tried));
                None
            });
        }
    }

    pub(super) fn is_to_give_turn(&self, machine: u8) -> bool {
        self.world.turns == Turns::Seen && self.world.turn == Some(machine)
    }
}

/// As `land_staged` in `run/iteration/land.rs`.
fn land(world: &mut World, machine: u8, tried: Tried, flaw: Flaw) {
    let (base, is_done) = (world.target, world.target.has_done(tried.story));
    if is_done && flaw != Flaw::NeverLooks {
        return leave(world, machine);
    }
    let checked_on = if flaw == Flaw::OldCheck { tried.base } else { base };
    let commit = |again| base.child(machine, tried.story, checked_on, again);
    let is_known = |commit: &Commit| {
        let is_late = |push: &Push| push.what == What::Land(*commit);
        world.target.has(*commit) || world.late.iter().any(is_late)
    };
    // A commit that is made anew after a crash is another one.
    let commit = (0..3).map(commit).find(|commit| !is_known(commit)).unwrap_or_else(|| commit(3));
    let disk = Some(Tried { base, phase: Stage::Landing(commit), ..tried });
    let push = Push { machine, what: What::Land(commit) };
    world.set(machine, At::Pushing(push, Answer::Pending), disk);
}

pub(super) fn give_turn(world: &mut World, machine: u8) {
    let push = Push { machine, what: What::GiveTurn };
    world.set(machine, At::Pushing(push, Answer::Pending), None);
}

/// A machine has no work to land any more.
pub(super) fn leave(world: &mut World, machine: u8) {
    let computer = &mut world.machines[usize::from(machine)];
    let has_turn = std::mem::replace(&mut computer.has_turn, false);
    let is_given = match world.turns {
        Turns::None | Turns::Seen => false,
        Turns::Remembered => has_turn,
        Turns::WithNextClaim => world.turn == Some(machine),
    };
    world.set(machine, At::Idle, None);
    if is_given {
        give_turn(world, machine);
    }
}
