//! A fleet in simulated time: what each machine does next when what it waits for has come.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::time::Duration;

use super::rules::{BEATS, pause_of_idle, pause_to_land, pick};
use super::server::{Request, Server, Time};
use crate::torture::Dice;

/// As in `run/iteration/land.rs`.
const MOST_MOVES: u32 = 20;

/// As in `run/fleet.rs`, for machines that take turns.
const MOST_OVERTAKEN: u32 = 3;
const TURN_PAUSE: Time = 1000;

/// As the settings have it by default.
const LEASE: Time = 120_000;
const ATTEMPTS: u8 = 3;

/// How machines that would land at the same time go about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Landing {
    /// Whoever is first is first; the others check again.
    Race,
    /// A machine that met too many others asks them to wait, and each looks every second whether it may.
    Turns,
    /// The same, but the more machines there are, the less often each of them looks.
    PatientTurns,
}

/// What is simulated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    pub(super) machines: usize,
    pub(super) stories: usize,
    pub(super) landing: Landing,
    pub(super) story: Time,
    pub(super) check: Time,
    pub(super) seed: u64,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) end: Time,
    pub(super) fetches: u64,
    pub(super) pushes: u64,
    pub(super) beats: u64,
    pub(super) peak: f64,
    /// The longest wait for an answer of the server.
    pub(super) slowest: Time,
    pub(super) checks: u64,
    pub(super) landed: usize,
    /// Attempts that were lost because the target moved too often, and stories that were given up.
    pub(super) lost: u64,
    pub(super) set_aside: usize,
    /// The time of all machines between the end of an agent and the landing, without one check.
    pub(super) waited: Time,
}

/// What a machine waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaits {
    Pause,
    Look,
    Claim,
    StoryLook,
    Agent,
    LandLook,
    Check,
    Landing,
    /// It asks what became of a landing that was rejected, then looks.
    Asked,
    LostLook,
    Turn,
    TurnPause,
    TurnLook,
    TurnGiven,
}

#[derive(Debug, Clone)]
struct Machine {
    name: String,
    awaits: Awaits,
    turn: u64,
    story: usize,
    ended_work: Time,
    moves: u32,
    /// The target as it was last seen, and as the work was checked.
    base: u64,
    checked: Option<u64>,
    /// Whether another machine had the turn when it was last seen, and whether anybody had.
    is_turn_taken: bool,
}

pub(super) struct Fleet {
    setting: Setting,
    dice: Dice,
    server: Server,
    events: BinaryHeap<Reverse<(Time, u64, usize)>>,
    number: u64,
    machines: Vec<Machine>,
    /// Stories that are neither done nor claimed, and those that are not done.
    free: BTreeSet<usize>,
    open: usize,
    attempts: Vec<u8>,
    /// How often the target moved, and who has the turn.
    target: u64,
    turn: Option<usize>,
    outcome: Outcome,
}

impl Fleet {
    pub(super) fn new(setting: Setting) -> Self {
        let beats_per_s = setting.machines as f64 * f64::from(BEATS) * 1000.0 / LEASE as f64;
        let machine = |number: usize| Machine {
            name: format!("host-{number}"),
            awaits: Awaits::Pause,
            turn: 0,
            story: 0,
            ended_work: 0,
            moves: 0,
            base: 0,
            checked: None,
            is_turn_taken: false,
        };
        Self {
            setting,
            dice: Dice::new(setting.seed),
            server: Server::new(beats_per_s),
            events: BinaryHeap::new(),
            number: 0,
            machines: (0..setting.machines).map(machine).collect(),
            free: (0..setting.stories).collect(),
            open: setting.stories,
            attempts: vec![0; setting.stories],
            target: 0,
            turn: None,
            outcome: Outcome {
                end: 0,
                fetches: 0,
                pushes: 0,
                beats: 0,
                peak: 0.0,
                slowest: 0,
                checks: 0,
                landed: 0,
                lost: 0,
                set_aside: 0,
                waited: 0,
            },
        }
    }

    /// Until every story is done or given up.
    pub(super) fn run(mut self) -> Outcome {
        for machine in 0..self.machines.len() {
            // They are started one after the other.
            self.at(machine as Time * 100, machine, Awaits::Pause);
        }
        while let Some(Reverse((now, _, machine))) = self.events.pop() {
            self.step(now, machine);
            if self.open == 0 {
                self.outcome.end = now;
                break;
            }
        }
        let seconds = self.outcome.end as f64 / 1000.0;
        let rate = self.machines.len() as f64 * f64::from(BEATS) * 1000.0 / LEASE as f64;
        let Server { fetches, pushes, slowest, .. } = self.server;
        let (beats, peak) = ((rate * seconds) as u64, self.server.peak() + rate);
        Outcome { fetches, pushes, beats, slowest, peak, ..self.outcome }
    }

    fn at(&mut self, time: Time, machine: usize, awaits: Awaits) {
        self.number += 1;
        self.events.push(Reverse((time, self.number, machine)));
        if let Some(machine) = self.machines.get_mut(machine) {
            machine.awaits = awaits;
        }
    }

    fn ask(&mut self, now: Time, machine: usize, request: Request, awaits: Awaits) {
        let time = self.server.ask(now, request);
        self.at(time, machine, awaits);
    }

    /// A time around the usual one: half of it to half as much again, or a tenth less to a tenth more.
    fn around(&mut self, usual: Time, share: Time) -> Time {
        let spread = usual / share;
        usual - spread + self.dice.below(2 * spread as usize + 1) as Time
    }

    fn step(&mut self, now: Time, number: usize) {
        let Some(machine) = self.machines.get(number).cloned() else { return };
        match machine.awaits {
            Awaits::Pause | Awaits::TurnGiven => {
                self.ask(now, number, Request::Fetch, Awaits::Look);
            }
            Awaits::Look => self.choose(now, number),
            Awaits::Claim if self.free.remove(&machine.story) => {
                self.ask(now, number, Request::Fetch, Awaits::StoryLook);
            }
            Awaits::Claim => self.ask(now, number, Request::Fetch, Awaits::Look),
            Awaits::StoryLook => {
                let time = now + self.around(self.setting.story, 2);
                self.at(time, number, Awaits::Agent);
            }
            Awaits::Agent => {
                self.set(number, |machine| {
                    (machine.ended_work, machine.moves, machine.checked) = (now, 0, None);
                });
                self.ask(now, number, Request::Fetch, Awaits::LandLook);
            }
            Awaits::LandLook => self.check(now, number),
            Awaits::Check => {
                self.set(number, |machine| machine.checked = Some(machine.base));
                self.land(now, number, false);
            }
            Awaits::Landing if machine.base == self.target => self.landed(now, number),
            Awaits::Landing => self.ask(now, number, Request::Fetch, Awaits::Asked),
            Awaits::Asked => self.ask(now, number, Request::Fetch, Awaits::LostLook),
            Awaits::LostLook => {
                self.set(number, |machine| machine.checked = None);
                self.again(now, number);
            }
            Awaits::Turn if self.turn.is_none() => {
                self.turn = Some(number);
                self.again(now, number);
            }
            Awaits::Turn => self.pause_for_turn(now, number),
            Awaits::TurnPause => self.ask(now, number, Request::Fetch, Awaits::TurnLook),
            Awaits::TurnLook => {
                let is_turn_taken = self.turn.is_some();
                self.set(number, |machine| machine.is_turn_taken = is_turn_taken);
                self.land(now, number, true);
            }
        }
    }

    fn set(&mut self, number: usize, change: impl FnOnce(&mut Machine)) {
        self.machines.get_mut(number).map(change);
    }

    fn choose(&mut self, now: Time, number: usize) {
        let count = self.machines.len();
        let Some(machine) = self.machines.get_mut(number) else { return };
        machine.turn += 1;
        let place = pick(&machine.name, machine.turn, self.free.len(), count);
        if let Some(story) = self.free.iter().nth(place) {
            machine.story = *story;
            return self.ask(now, number, Request::Push, Awaits::Claim);
        }
        let pause = pause_of_idle(Duration::from_millis(LEASE), count).as_millis() as Time;
        self.at(now + pause, number, Awaits::Pause);
    }

    /// The target was looked at, and the work is checked on it, unless it was.
    fn check(&mut self, now: Time, number: usize) {
        let (target, is_turn_taken) = (self.target, self.turn.is_some());
        self.set(number, |machine| {
            (machine.base, machine.is_turn_taken) = (target, is_turn_taken);
        });
        if self.machines.get(number).is_some_and(|machine| machine.checked == Some(target)) {
            return self.land(now, number, false);
        }
        self.outcome.checks += 1;
        let time = now + self.around(self.setting.check, 10);
        self.at(time, number, Awaits::Check);
    }

    /// Pushes work that was checked, if it is this machine's turn.
    fn land(&mut self, now: Time, number: usize, has_waited: bool) {
        let Some(machine) = self.machines.get(number) else { return };
        let is_ours = self.turn == Some(number) || self.setting.landing == Landing::Race;
        let is_asked = machine.moves >= MOST_OVERTAKEN;
        match (is_ours, is_asked, machine.is_turn_taken) {
            (false, true, false) => self.ask(now, number, Request::Push, Awaits::Turn),
            (false, _, true) => self.pause_for_turn(now, number),
            _ if has_waited => self.again(now, number),
            _ => self.ask(now, number, Request::Push, Awaits::Landing),
        }
    }

    fn pause_for_turn(&mut self, now: Time, number: usize) {
        let pause = match self.setting.landing {
            Landing::Race | Landing::Turns => TURN_PAUSE,
            Landing::PatientTurns => pause_to_land(self.machines.len()).as_millis() as Time,
        };
        self.at(now + pause, number, Awaits::TurnPause);
    }

    /// The target moved, or may have moved.
    fn again(&mut self, now: Time, number: usize) {
        self.set(number, |machine| machine.moves += 1);
        let Some(machine) = self.machines.get(number).cloned() else { return };
        if machine.moves < MOST_MOVES {
            return self.ask(now, number, Request::Fetch, Awaits::LandLook);
        }
        // The attempt has failed; it is kept on the server, and the story is begun anew.
        self.outcome.lost += 1;
        self.server.ask(now, Request::Push);
        let Some(attempts) = self.attempts.get_mut(machine.story) else { return };
        *attempts += 1;
        if *attempts < ATTEMPTS {
            self.free.insert(machine.story);
        } else {
            self.outcome.set_aside += 1;
            self.open -= 1;
        }
        self.leave_landing(now, number);
    }

    fn landed(&mut self, now: Time, number: usize) {
        self.target += 1;
        self.open -= 1;
        self.outcome.landed += 1;
        self.leave_landing(now, number);
    }

    fn leave_landing(&mut self, now: Time, number: usize) {
        let begun = self.machines.get(number).map_or(now, |machine| machine.ended_work);
        self.outcome.waited += (now - begun).saturating_sub(self.setting.check);
        if self.turn == Some(number) {
            self.turn = None;
            return self.ask(now, number, Request::Push, Awaits::TurnGiven);
        }
        self.ask(now, number, Request::Fetch, Awaits::Look);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(machines: usize, stories: usize, landing: Landing) -> Outcome {
        let (story, check) = (20 * 60_000, 60_000);
        Fleet::new(Setting { machines, stories, landing, story, check, seed: 1 }).run()
    }

    #[test]
    fn one_machine_needs_three_fetches_and_two_pushes_for_a_story() {
        let Outcome { fetches, pushes, checks, landed, lost, waited, .. } =
            run(1, 10, Landing::Race);
        // And a last look, which finds nothing.
        assert_eq!((fetches, pushes), (3 * 10 + 1, 2 * 10));
        assert_eq!((checks, landed, lost), (10, 10, 0));
        assert!(waited < 10 * 7_000, "{waited}");
    }

    #[test]
    fn the_same_seed_gives_the_same_run() {
        let told = || format!("{:?}", run(7, 50, Landing::Turns));
        assert_eq!(told(), told());
    }

    #[test]
    fn a_crowd_lands_one_story_in_the_time_of_a_check() {
        let crowd = run(60, 100, Landing::PatientTurns);
        assert_eq!((crowd.landed, crowd.lost), (100, 0));
        assert!(crowd.end > 100 * 54_000 && crowd.end < 100 * 100_000, "{}", crowd.end);
    }

    #[test]
    fn a_crowd_that_races_loses_work() {
        let crowd = run(60, 100, Landing::Race);
        assert!(crowd.lost > 0 && crowd.landed + crowd.set_aside == 100, "{crowd:?}");
    }
}
