//! What a machine of a fleet decides by what it has seen on the server. Pure: no clock, no git.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How many beats a heart has in the time of a lease.
pub(crate) const BEATS: u32 = 4;

/// How much later each machine of a large fleet looks again, while there is nothing for it to do.
const PAUSE_FOR_EACH: Duration = Duration::from_millis(100);

/// The longest pause of one of a small fleet, however long its lease is.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How often one of a small fleet looks whether it may land.
const TURN_PAUSE: Duration = Duration::from_secs(1);

/// A story's claim, as a machine sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Claiming {
    /// It is ours already.
    Ours,
    /// It can be taken, in the place of what is there.
    Free(Option<String>),
    /// A machine that is at work has it.
    Taken,
}

/// Whether a story can be claimed: `claim` is the commit of its claim and the machine that made it.
pub(crate) fn claiming(
    claim: Option<(&str, &str)>,
    us: &str,
    is_at_work: impl Fn(&str) -> bool,
) -> Claiming {
    match claim {
        Some((_, machine)) if machine == us => Claiming::Ours,
        Some((_, machine)) if is_at_work(machine) => Claiming::Taken,
        other => Claiming::Free(other.map(|(commit, _)| commit.to_owned())),
    }
}

/// What we have seen of the other machines: for how long the heart of each has not beaten, by our own
/// clock. The time between two looks counts for one beat at most: while the server could not be reached,
/// no other machine could reach it either.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    seen: BTreeMap<String, (String, Duration)>,
}

impl Watch {
    /// Looks at the machines: each has a name, the commit of its last beat and its lease. `since` is the
    /// time since the last look. Says which are gone.
    pub(crate) fn look<'a>(
        &mut self,
        machines: impl Iterator<Item = (&'a str, &'a str, Duration)>,
        since: Duration,
    ) -> BTreeSet<String> {
        let mut gone = BTreeSet::new();
        let before = std::mem::take(&mut self.seen);
        for (name, beat, lease) in machines {
            let age = match before.get(name) {
                Some((last, age)) if last == beat => *age + since.min(lease / BEATS),
                _ => Duration::ZERO,
            };
            if age >= lease {
                gone.insert(name.to_owned());
            }
            self.seen.insert(name.to_owned(), (beat.to_owned(), age));
        }
        gone
    }
}

/// How long a machine that has nothing to do waits before it looks again: not long, and all of them
/// together do not ask more than a server can answer.
pub(crate) fn pause_of_idle(lease: Duration, machines: usize) -> Duration {
    let pause = (lease / BEATS / 6).clamp(PAUSE_FOR_EACH, LONGEST_PAUSE);
    pause.max(for_each(machines))
}

/// The same for a machine that waits until it may land.
pub(crate) fn pause_to_land(machines: usize) -> Duration {
    TURN_PAUSE.max(for_each(machines))
}

fn for_each(machines: usize) -> Duration {
    PAUSE_FOR_EACH * u32::try_from(machines).unwrap_or(u32::MAX)
}

/// Which of so many stories a machine takes among the first that are ready: not every machine the same
/// one, and none far behind where the plan begins.
pub(crate) fn pick(machine: &str, turn: u64, ready: usize, machines: usize) -> usize {
    let among = ready.min(machines.saturating_mul(2)).max(1);
    // FNV-1a: the same everywhere, and spread well enough.
    let bytes = machine.bytes().chain(turn.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    usize::try_from(hash % among as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_holds_for_as_long_as_its_machine_is_at_work() {
        let at_work = |machine: &str| machine == "b";
        assert_eq!(claiming(None, "a", at_work), Claiming::Free(None));
        assert_eq!(claiming(Some(("1", "a")), "a", at_work), Claiming::Ours);
        assert_eq!(claiming(Some(("1", "b")), "a", at_work), Claiming::Taken);
        let free = Claiming::Free(Some("1".to_owned()));
        assert_eq!(claiming(Some(("1", "c")), "a", at_work), free);
    }

    #[test]
    fn a_machine_is_gone_when_its_heart_was_seen_not_to_beat_for_its_lease() {
        let (mut watch, lease) = (Watch::default(), Duration::from_secs(8));
        let mut look = |beat: &'static str, seconds: u64| {
            let machines = [("a", beat, lease)].into_iter();
            !watch.look(machines, Duration::from_secs(seconds)).is_empty()
        };
        assert!(!look("1", 0));
        // A long time without a look says nothing.
        assert!(!look("1", 600));
        assert!(!look("1", 2));
        assert!(!look("2", 2));
        for gone in [false, false, false, true] {
            assert_eq!(look("2", 2), gone);
        }
        assert!(!look("3", 1));
    }

    #[test]
    fn nobody_waits_long_for_another_look_but_in_a_large_fleet() {
        let pauses = [(4, 2), (120, 2), (36_000, 2), (120, 1000)].map(|(lease, machines)| {
            pause_of_idle(Duration::from_secs(lease), machines).as_millis()
        });
        assert_eq!(pauses, [200, 5_000, 5_000, 100_000]);
        assert_eq!([2, 1000].map(|many| pause_to_land(many).as_secs()), [1, 100]);
    }

    #[test]
    fn machines_begin_near_the_beginning_and_not_all_at_the_same_story() {
        let picked: BTreeSet<usize> =
            (0..8).map(|n| pick(&format!("host-{n}"), 0, 1000, 8)).collect();
        assert!(picked.len() > 3 && picked.iter().all(|place| *place < 16), "{picked:?}");
        assert_eq!(pick("a", 7, 5, 0), 0);
        assert_eq!(pick("a", 7, 0, 3), 0);
    }
}
