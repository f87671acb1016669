//! When two worlds are the same: when nothing that can happen later tells them apart. Which machine and
//! which story it is does not count, nor how what is on the target came there; a commit that waits is as
//! good as its place: on the target, on its tip, or behind it for ever.

use super::world::{Answer, At, Computer, Push, Stage, What, World};

/// What tells worlds apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key([u128; 4]);

const ORDERS: [[u8; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// A world, with its machines and stories in some order.
struct Ordered<'a> {
    world: &'a World,
    machines: [u8; 3],
    stories: [u8; 3],
}

/// The least of all orders of machines and stories. Those that differ at first sight are put into their
/// order, so that few are left to try.
pub(super) fn key(world: &World) -> Key {
    let (mut machines, mut stories) = ([0_u8; 3], [0_u8; 3]);
    for (machine, computer) in world.machines.iter().enumerate() {
        let late = world.late.iter().filter(|push| usize::from(push.machine) == machine);
        machines[machine] = 1 + (place(computer) << 3 | (late.count() as u8) << 1);
        if let Some(tried) = computer.disk {
            machines[machine] += 1;
            stories[usize::from(tried.story)] += 2;
        }
    }
    for (story, claim) in world.claims.iter().enumerate() {
        stories[story] += 1 + u8::from(claim.is_some());
        stories[story] += if world.target.has_done(story as u8) { 64 } else { 0 };
    }
    let mut best: Option<Key> = None;
    for machines in ORDERS.into_iter().filter(|order| is_sorted(order, &machines)) {
        for stories in ORDERS.into_iter().filter(|order| is_sorted(order, &stories)) {
            let found = Ordered { world, machines, stories }.key();
            if best.is_none_or(|best| found < best) {
                best = Some(found);
            }
        }
    }
    best.unwrap_or(Key([0; 4]))
}

fn is_sorted(order: &[u8; 3], looks: &[u8; 3]) -> bool {
    let mut sorted = [0; 3];
    (0..3).for_each(|one| sorted[usize::from(order[one])] = looks[one]);
    sorted.is_sorted()
}

fn place(computer: &Computer) -> u8 {
    match computer.at {
        At::Off => 0,
        At::Idle => 1,
        At::Checking => 2,
        At::Pushing(_, Answer::Pending) => 3,
        At::Pushing(_, Answer::Done) => 4,
        At::Pushing(_, Answer::Rejected) => 5,
    }
}

/// Puts numbers behind each other.
struct Word(u128);

impl Word {
    fn put(&mut self, value: impl Into<u128>, bits: u32) {
        self.0 = self.0 << bits | value.into();
    }
}

impl Ordered<'_> {
    fn key(&self) -> Key {
        let mut words = [0_u128; 4];
        for (machine, computer) in self.world.machines.iter().enumerate() {
            words[usize::from(self.machines[machine])] = self.computer(machine as u8, computer);
        }
        let mut all = Word(u128::from(self.world.faults));
        let mut stories = [0_u8; 3];
        for (story, claim) in self.world.claims.iter().enumerate() {
            let is_done = self.world.target.has_done(story as u8);
            let claim = self.machine(*claim) << 1 | u8::from(is_done);
            stories[usize::from(self.stories[story])] = claim;
        }
        stories.into_iter().for_each(|story| all.put(story, 3));
        all.put(self.machine(self.world.turn), 2);
        words[3] = all.0;
        Key(words)
    }

    fn machine(&self, machine: Option<u8>) -> u8 {
        machine.map_or(3, |machine| self.machines[usize::from(machine)])
    }

    fn story(&self, story: u8) -> u8 {
        self.stories[usize::from(story)]
    }

    fn computer(&self, machine: u8, computer: &Computer) -> u128 {
        let mut word = Word(1);
        word.put(place(computer), 3);
        let push = match computer.at {
            At::Pushing(push, _) => self.push(push, computer),
            _ => 0,
        };
        word.put(push, 8);
        word.put(computer.has_turn, 1);
        word.put(self.disk(computer), 5);
        let late = self.world.late.iter().filter(|push| push.machine == machine);
        let mut late: Vec<u128> = late.map(|push| self.push(*push, computer)).collect();
        late.sort_unstable();
        late.into_iter().for_each(|push| word.put(push, 8));
        word.0
    }

    /// On which commit the attempt began does not matter: the target is looked at again. A commit that
    /// cannot land any more is as good as none.
    fn disk(&self, computer: &Computer) -> u128 {
        let Some(tried) = computer.disk else { return 0 };
        let target = self.world.target;
        let stage = match tried.phase {
            Stage::Landing(commit) if target.has(commit) => 2_u8,
            Stage::Landing(commit) if commit.parent() == target => 3,
            Stage::Checking | Stage::Landing(_) => 1,
        };
        u128::from(stage << 2 | self.story(tried.story))
    }

    /// A push of a machine, which may go by another commit by now.
    fn push(&self, push: Push, computer: &Computer) -> u128 {
        let mut word = Word(1);
        match push.what {
            What::Land(commit) => {
                let phase = computer.disk.map(|tried| tried.phase);
                let is_current = phase == Some(Stage::Landing(commit));
                let target = self.world.target;
                word.put(commit.story().map_or(3, |story| self.story(story)), 2);
                let place = match target {
                    tip if tip == commit => 0_u8,
                    tip if tip.has(commit) => 1,
                    tip if tip == commit.parent() => 2,
                    _ => 3,
                };
                word.put(place, 2);
                word.put(is_current, 1);
                word.put(0_u8, 2);
            }
            What::Claim { story, old } => {
                word.put(self.story(story), 2);
                word.put(self.machine(old), 3);
                word.put(1_u8, 2);
            }
            What::TakeTurn { old } => {
                word.put(self.machine(old), 5);
                word.put(2_u8, 2);
            }
            What::GiveTurn => word.put(3_u8, 7),
        }
        word.0
    }
}
