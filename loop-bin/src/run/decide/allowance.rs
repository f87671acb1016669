//! What an iteration may take at most, in time and money, and which limit that is: the agent's own or
//! the run's.

use std::time::Duration;

use ralph_project::config::{Agent, Limits};

/// The least time that is worth a start.
const LEAST_TIME: Duration = Duration::from_secs(1);

/// The least sum that is worth a start; clients refuse to begin with none.
const LEAST_COST: f64 = 0.0001;

/// Whose limit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Iteration,
    Run,
    /// One of several workers: what is left of the run's money is divided among them, so that all of
    /// them together cannot spend more.
    Share(u64),
}

/// What an iteration may take at most.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Allowance {
    pub(crate) time: Option<(Duration, Owner)>,
    pub(crate) cost_usd: Option<(f64, Owner)>,
}

impl Allowance {
    /// What is left of a run that is `elapsed` old and spent `cost_usd` with so many workers.
    pub(crate) fn of(
        agent: &Agent,
        limits: &Limits,
        elapsed: Duration,
        (cost_usd, workers): (f64, u64),
    ) -> Self {
        let of_run = limits.max_duration.limit();
        let of_run = of_run.map(|limit| limit.saturating_sub(elapsed).max(LEAST_TIME));
        let times = [
            of_run.map(|left| (left, Owner::Run)),
            agent.timeout.limit().map(|limit| (limit, Owner::Iteration)),
        ];
        let left = (limits.max_cost_usd - cost_usd).max(LEAST_COST);
        let owned = match workers {
            0 | 1 => (left, Owner::Run),
            many => ((left / many as f64).max(LEAST_COST), Owner::Share(many)),
        };
        Self {
            // The first of equals counts, so that the end of a run is reported as such.
            time: times.into_iter().flatten().min_by_key(|(time, _)| *time),
            cost_usd: (limits.max_cost_usd > 0.0).then_some(owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use ralph_project::config::Seconds;

    use super::*;

    fn check(limits: [u64; 2], elapsed: u64, expected: Option<(u64, Owner)>) {
        let [timeout, max_duration] = limits.map(Seconds);
        let agent = Agent { timeout, ..Agent::default() };
        let limits = Limits { max_duration, ..Limits::default() };
        let found = Allowance::of(&agent, &limits, Duration::from_secs(elapsed), (0.0, 1));
        assert_eq!(found.time.map(|(time, owner)| (time.as_secs(), owner)), expected);
        assert_eq!(found.cost_usd, None);
    }

    #[test]
    fn the_nearest_limit_counts() {
        check([0, 0], 0, None);
        check([3600, 0], 9, Some((3600, Owner::Iteration)));
        check([3600, 900], 850, Some((50, Owner::Run)));
        check([60, 60], 0, Some((60, Owner::Run)));
        check([60, 60], 99, Some((1, Owner::Run)));
    }

    #[test]
    fn workers_share_what_is_left_of_the_money() {
        let found = |max_cost_usd: f64, spent: f64| {
            let limits = Limits { max_cost_usd, ..Limits::default() };
            let of = |workers| {
                Allowance::of(&Agent::default(), &limits, Duration::ZERO, (spent, workers)).cost_usd
            };
            [of(1), of(4)]
        };
        let share = Owner::Share(4);
        assert_eq!(found(0.0, 1.0), [None, None]);
        assert_eq!(found(5.0, 4.0), [Some((1.0, Owner::Run)), Some((0.25, share))]);
        let expected = [Some((LEAST_COST, Owner::Run)), Some((LEAST_COST, share))];
        assert_eq!(found(5.0, 6.0), expected);
    }
}
