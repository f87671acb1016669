//! Goes through all that can happen, breadth first, so that what breaks is shown on a shortest way.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use super::step::{Flaw, Next};
use super::steps::steps;
use super::world::World;

/// What there is to see in all worlds.
#[derive(Debug)]
pub(super) struct Explored<K> {
    /// Each world by what tells it from others, in the order in which it was found.
    pub(super) found: HashMap<K, u32>,
    pub(super) steps: usize,
    /// The way to the first world in which something is broken.
    pub(super) broken: Option<String>,
    /// The way to the first world from which a machine that is alive cannot bring the plan to its end.
    pub(super) stuck: Option<String>,
}

/// How a world was found: from which one, and by which of its steps.
type From = Option<(u32, u16)>;

struct Search {
    flaw: Flaw,
    begin: World,
    from: Vec<From>,
    /// Whether the plan is complete there, and whether a machine is alive.
    is_complete: Vec<bool>,
    is_alive: Vec<bool>,
    /// The steps that a fleet can count on, backwards.
    sure: Vec<(u32, u32)>,
}

/// Goes through all worlds, or until something is broken.
pub(super) fn explore<K: Eq + Hash>(
    begin: World,
    flaw: Flaw,
    key_of: impl Fn(&World) -> K,
) -> Explored<K> {
    let mut search = Search {
        flaw,
        begin: begin.clone(),
        from: Vec::new(),
        is_complete: Vec::new(),
        is_alive: Vec::new(),
        sure: Vec::new(),
    };
    let found = HashMap::from([(key_of(&begin), search.note(&begin, None))]);
    let mut explored = Explored { found, steps: 0, broken: None, stuck: None };
    let mut queue = VecDeque::from([(0_u32, begin)]);
    while let Some((at, world)) = queue.pop_front() {
        for (nth, next) in steps(&world, flaw).into_iter().enumerate() {
            explored.steps += 1;
            let from = Some((at, nth as u16));
            if let Some(why) = broken(&world, &next) {
                explored.broken = Some(format!("{}{why}", search.way(from)));
                return explored;
            }
            let new = key_of(&next.world);
            let to = match explored.found.get(&new) {
                Some(known) => *known,
                None => {
                    let to = search.note(&next.world, from);
                    explored.found.insert(new, to);
                    queue.push_back((to, next.world));
                    to
                }
            };
            if !next.is_luck {
                search.sure.push((to, at));
            }
        }
    }
    explored.stuck = search.stuck();
    explored
}

/// What may never be, whatever goes wrong.
fn broken(before: &World, Next { world, believed, .. }: &Next) -> Option<String> {
    if !world.target.has(before.target) {
        return Some(format!("{} was landed and is lost", before.target));
    }
    if let Some(commit) = believed.filter(|commit| !world.target.has(*commit)) {
        return Some(format!("{commit} is believed to have landed"));
    }
    world.broken()
}

impl Search {
    fn note(&mut self, world: &World, from: From) -> u32 {
        self.from.push(from);
        self.is_complete.push(world.is_complete());
        self.is_alive.push((0..world.machines.len()).any(|machine| world.is_alive(machine as u8)));
        (self.from.len() - 1) as u32
    }

    /// Whether the plan comes to its end from everywhere, though nothing happens by luck any more: no
    /// machine starts again, no old push arrives. Found backwards from the ends.
    fn stuck(&mut self) -> Option<String> {
        self.sure.sort_unstable();
        let mut comes_to_end = self.is_complete.clone();
        let ends = (0..comes_to_end.len()).filter(|at| comes_to_end[*at]);
        let mut queue: Vec<u32> = ends.map(|at| at as u32).collect();
        while let Some(to) = queue.pop() {
            let first = self.sure.partition_point(|(other, _)| *other < to);
            for (_, from) in self.sure[first..].iter().take_while(|(other, _)| *other == to) {
                if !std::mem::replace(&mut comes_to_end[*from as usize], true) {
                    queue.push(*from);
                }
            }
        }
        let stuck = (0..comes_to_end.len()).find(|at| self.is_alive[*at] && !comes_to_end[*at])?;
        let way = self.way(self.from[stuck]);
        Some(format!("{way}from here the plan does not come to its end"))
    }

    /// The way to a world, a line for each step.
    fn way(&self, from: From) -> String {
        let back = |from: &From| from.map(|(at, _)| self.from[at as usize]);
        let mut nths: Vec<u16> = std::iter::successors(Some(from), back)
            .filter_map(|from| from.map(|(_, nth)| nth))
            .collect();
        nths.reverse();
        let (mut world, mut way) = (self.begin.clone(), String::new());
        for nth in nths {
            let next = steps(&world, self.flaw).swap_remove(usize::from(nth));
            way.push_str(&format!("{}\n", next.step));
            if next.world.target != world.target {
                way.push_str(&format!("    the target is {}\n", next.world.target));
            }
            world = next.world;
        }
        way
    }
}
