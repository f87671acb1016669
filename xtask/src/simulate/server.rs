//! The git server of the simulation: so many requests at once, each takes its time, the others wait.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Milliseconds since the fleet began.
pub(super) type Time = u64;

const FETCH: Time = 50;
const PUSH: Time = 150;

/// How many requests a server works on at once.
const HANDS: usize = 8;

/// Over how long a peak is measured.
const WINDOW: Time = 10_000;

/// What is asked of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    Fetch,
    Push,
}

#[derive(Debug)]
pub(super) struct Server {
    free: BinaryHeap<Reverse<Time>>,
    /// How much longer each request takes because of the heartbeats.
    slower: f64,
    pub(super) fetches: u64,
    pub(super) pushes: u64,
    window: (Time, u64),
    /// The most requests in one window.
    most: u64,
    pub(super) slowest: Time,
}

impl Server {
    /// One that takes so many heartbeats a second besides what it is asked for. They come one by one and
    /// evenly, so they are not simulated each.
    pub(super) fn new(beats_per_s: f64) -> Self {
        let busy = beats_per_s * PUSH as f64 / 1000.0 / HANDS as f64;
        Self {
            free: (0..HANDS).map(|_| Reverse(0)).collect(),
            slower: 1.0 / (1.0 - busy.min(0.99)),
            fetches: 0,
            pushes: 0,
            window: (0, 0),
            most: 0,
            slowest: 0,
        }
    }

    /// When the answer to a request is there.
    pub(super) fn ask(&mut self, now: Time, request: Request) -> Time {
        let (cost, count) = match request {
            Request::Fetch => (FETCH, &mut self.fetches),
            Request::Push => (PUSH, &mut self.pushes),
        };
        *count += 1;
        if now / WINDOW != self.window.0 {
            self.window = (now / WINDOW, 0);
        }
        self.window.1 += 1;
        self.most = self.most.max(self.window.1);
        let free = self.free.pop().map_or(now, |Reverse(free)| free.max(now));
        let done = free + (cost as f64 * self.slower) as Time;
        self.free.push(Reverse(done));
        self.slowest = self.slowest.max(done - now);
        done
    }

    /// The most requests in a second.
    pub(super) fn peak(&self) -> f64 {
        self.most as f64 * 1000.0 / WINDOW as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_when_all_hands_are_busy_waits() {
        let mut server = Server::new(0.0);
        let answers: Vec<Time> = (0..9).map(|_| server.ask(0, Request::Push)).collect();
        assert_eq!(answers, [150, 150, 150, 150, 150, 150, 150, 150, 300]);
        assert_eq!(server.ask(1000, Request::Fetch), 1050);
        assert_eq!((server.fetches, server.pushes, server.slowest), (1, 9, 300));
    }

    #[test]
    fn heartbeats_leave_less_for_others() {
        let half = HANDS as f64 * 1000.0 / PUSH as f64 / 2.0;
        assert_eq!(Server::new(half).ask(0, Request::Fetch), 2 * FETCH);
    }
}
