//! What can happen next. What a machine does between two things that it sees or that others see of it is
//! one step: a crash in its middle is as one before it, or as one after it.

use super::step::{Flaw, Next, Step, Steps};
use super::turns::{give_turn, leave};
use super::world::{Answer, At, Commit, Computer, Push, Stage, Tried, Turns, What, World};
use crate::fleet::rules::{Claiming, claiming};

/// Everything that can happen.
pub(super) fn steps(world: &World, flaw: Flaw) -> Vec<Next> {
    let mut found = Steps { world, flaw, found: Vec::new() };
    for machine in 0..world.machines.len() as u8 {
        found.machine(machine);
    }
    found.outside();
    found.found
}

impl Steps<'_> {
    fn machine(&mut self, machine: u8) {
        let computer = self.world.machines[usize::from(machine)];
        match (computer.at, computer.disk) {
            (At::Off, disk) => {
                let is_landed = is_landed(self.world, disk);
                self.add(Step::Restarts(machine), true, |world| {
                    restart(&mut world.machines[usize::from(machine)], is_landed)
                });
                return;
            }
            (At::Idle, _) if self.is_to_give_turn(machine) => {
                self.add(Step::GivesTurn(machine), false, |world| {
                    give_turn(world, machine);
                    None
                });
            }
            (At::Idle, _) => self.choose(machine),
            (At::Pushing(push, answer), _) => self.push(push, answer),
            (At::Checking, Some(tried)) => self.land(machine, tried),
            (At::Checking, None) => {}
        }
        if self.world.faults > 0 {
            self.add(Step::Crashes(machine), true, |world| {
                world.faults -= 1;
                crash(world, machine);
                None
            });
        }
    }

    fn choose(&mut self, us: u8) {
        for story in 0..self.world.claims.len() as u8 {
            if self.world.target.has_done(story) {
                continue;
            }
            let claim = self.world.claim_of(story);
            let other = claim.filter(|machine| *machine != us);
            // As far as it sees, that machine is at work, or it is not.
            let is_mistaken = other.is_some_and(|other| self.world.is_alive(other));
            let may_take = !is_mistaken || self.world.faults > 0;
            let is_taken = other.is_some() && (self.flaw == Flaw::NoTakeover || !may_take);
            let names = ["A", "B", "C"];
            let seen = claim.map(|claim| ("commit", names[usize::from(claim)]));
            let old = match claiming(seen, names[usize::from(us)], |_| is_taken) {
                Claiming::Taken => continue,
                Claiming::Ours | Claiming::Free(Some(_)) => claim,
                Claiming::Free(None) => None,
            };
            self.add(Step::Chooses { machine: us, story, over: other }, is_mistaken, |world| {
                world.faults -= u8::from(is_mistaken);
                let push = Push { machine: us, what: What::Claim { story, old } };
                world.set(us, At::Pushing(push, Answer::Pending), None);
                None
            });
        }
    }

    /// What can become of a push.
    fn push(&mut self, push: Push, answer: Answer) {
        let (flaw, machine, left) = (self.flaw, push.machine, self.world.faults);
        if answer == Answer::Pending {
            for is_repeated in [false, true].into_iter().filter(|again| !again || left > 0) {
                self.add(Step::Arrives { machine, is_repeated }, is_repeated, |world| {
                    world.faults -= u8::from(is_repeated);
                    world.late.extend(Some(push).filter(|_| is_repeated));
                    let is_done = arrive(world, push, flaw);
                    let answer = if is_done { Answer::Done } else { Answer::Rejected };
                    world.machines[usize::from(machine)].at = At::Pushing(push, answer);
                    None
                });
            }
        }
        if answer == Answer::Done {
            self.add(Step::Hears(machine), false, |world| pushed(world, push, true));
        }
        let is_silent = answer != Answer::Rejected;
        if !is_silent || left > 0 {
            self.add(Step::Asks { machine, is_silent }, is_silent, |world| {
                world.faults -= u8::from(is_silent);
                world.late.extend(Some(push).filter(|_| answer == Answer::Pending));
                ask(world, push, flaw)
            });
        }
    }

    fn outside(&mut self) {
        let (world, flaw) = (self.world, self.flaw);
        for (place, push) in world.late.iter().enumerate() {
            self.add(Step::ArrivesLate(*push), true, |world| {
                world.late.remove(place);
                arrive(world, *push, flaw);
                None
            });
        }
        if world.faults == 0 {
            return;
        }
        let open = (0..world.claims.len() as u8).filter(|story| !world.target.has_done(*story));
        for story in open.map(Some).chain([None]) {
            self.add(Step::Outsider(story), true, |world| {
                world.faults -= 1;
                world.target = world.target.outsiders(story);
                None
            });
        }
    }
}

/// What the server does with a push; tells whether it takes it. A ref is changed if it is still what the
/// pusher takes it for; one that is as it is to become is no change.
fn arrive(world: &mut World, push: Push, flaw: Flaw) -> bool {
    match push.what {
        What::Land(commit) => {
            let is_taken = world.target == commit.parent() || flaw == Flaw::BlindPush;
            if is_taken {
                world.target = commit;
            }
            is_taken || world.target == commit
        }
        What::Claim { story, old } => {
            if world.turns == Turns::WithNextClaim && world.turn == Some(push.machine) {
                world.turn = None;
            }
            let claim = &mut world.claims[usize::from(story)];
            let is_taken = *claim == old;
            if is_taken {
                *claim = Some(push.machine);
            }
            is_taken || *claim == Some(push.machine)
        }
        What::TakeTurn { old } => {
            let is_taken = world.turn == old;
            if is_taken {
                world.turn = Some(push.machine);
            }
            is_taken || world.turn == Some(push.machine)
        }
        What::GiveTurn => {
            if world.turn == Some(push.machine) {
                world.turn = None;
            }
            world.turn.is_none()
        }
    }
}

/// As `Server::push` asks after what it has not heard of, and `push` in `landing/target.rs`: all is as it
/// was before, and it is pushed again; or the ref is as it was to become, or it is lost.
fn ask(world: &mut World, push: Push, flaw: Flaw) -> Option<Commit> {
    let again = match push.what {
        _ if flaw == Flaw::Hopeful => return pushed(world, push, true),
        What::Land(commit) if world.target.has(commit) => return pushed(world, push, true),
        What::Land(commit) => world.target == commit.parent(),
        What::Claim { story, .. } if world.claim_of(story) == Some(push.machine) => {
            return pushed(world, push, true);
        }
        What::Claim { story, old } => world.claim_of(story) == old,
        What::TakeTurn { .. } if world.turn == Some(push.machine) => {
            return pushed(world, push, true);
        }
        What::TakeTurn { old } => world.turn == old,
        What::GiveTurn => world.turn == Some(push.machine),
    };
    if again {
        world.machines[usize::from(push.machine)].at = At::Pushing(push, Answer::Pending);
        return None;
    }
    pushed(world, push, false)
}

/// What a machine does when it knows what became of its push.
fn pushed(world: &mut World, push: Push, is_done: bool) -> Option<Commit> {
    let target = world.target;
    let computer = &mut world.machines[usize::from(push.machine)];
    match (push.what, is_done) {
        (What::Claim { story, .. }, true) => {
            computer.at = At::Idle;
            // It looks at the target once more: what it claimed may be done by now.
            if !target.has_done(story) {
                computer.at = At::Checking;
                computer.disk = Some(Tried { story, base: target, phase: Stage::Checking });
            }
        }
        (What::Claim { .. }, false) => computer.at = At::Idle,
        (What::Land(commit), true) => {
            leave(world, push.machine);
            return Some(commit);
        }
        (What::TakeTurn { .. }, is_done) => {
            (computer.at, computer.has_turn) = (At::Checking, is_done);
        }
        (What::GiveTurn, _) => computer.at = At::Idle,
        (What::Land(_), false) => computer.at = At::Checking,
    }
    None
}

/// What is in memory is gone; what was sent may still arrive.
fn crash(world: &mut World, machine: u8) {
    let computer = &mut world.machines[usize::from(machine)];
    if let At::Pushing(push, Answer::Pending) = computer.at {
        world.late.push(push);
    }
    (computer.at, computer.has_turn) = (At::Off, false);
}

/// As `decide/recovery.rs` says; the server was looked at before.
fn restart(computer: &mut Computer, is_landed: bool) -> Option<Commit> {
    computer.at = At::Idle;
    match computer.disk.map(|tried| tried.phase) {
        Some(Stage::Landing(commit)) if is_landed => {
            computer.disk = None;
            return Some(commit);
        }
        Some(Stage::Landing(_) | Stage::Checking) => {
            let tried = computer.disk.map(|tried| Tried { phase: Stage::Checking, ..tried });
            (computer.at, computer.disk) = (At::Checking, tried);
        }
        None => {}
    }
    None
}

fn is_landed(world: &World, disk: Option<Tried>) -> bool {
    matches!(disk, Some(Tried { phase: Stage::Landing(commit), .. }) if world.target.has(commit))
}
