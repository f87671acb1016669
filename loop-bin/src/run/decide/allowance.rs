//! What an iteration may take at most, in time and money, and which limit that is: the agent's own,
//! its story's or the run's.

use std::time::Duration;

use ralph_project::config::{Agent, Limits};

use super::tally::Spent;

/// The least time that is worth a start.
const LEAST_TIME: Duration = Duration::from_secs(1);

/// The least sum that is worth a start; clients refuse to begin with none.
const LEAST_COST: f64 = 0.0001;

/// Whose limit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Iteration,
    Story,
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
    /// What is left: `elapsed` is the run's time, `story` what earlier attempts took, `all` what
    /// the run spent with so many workers.
    pub(crate) fn of(
        agent: &Agent,
        limits: &Limits,
        elapsed: Duration,
        story: Spent,
        (all, workers): (Spent, u64),
    ) -> Self {
        let time = |limit: Option<Duration>, used: Duration, owner| {
            limit.map(|limit| (limit.saturating_sub(used).max(LEAST_TIME), owner))
        };
        let story_time = Duration::try_from_secs_f64(story.seconds).unwrap_or_default();
        let times = [
            time(limits.max_duration.limit(), elapsed, Owner::Run),
            time(limits.story_max_duration.limit(), story_time, Owner::Story),
            agent.timeout.limit().map(|limit| (limit, Owner::Iteration)),
        ];
        let cost = |limit: f64, used: f64, owner| {
            (limit > 0.0).then(|| ((limit - used).max(LEAST_COST), owner))
        };
        let costs = [
            cost(limits.max_cost_usd, all.cost_usd, Owner::Run).map(
                |(left, owner)| match workers {
                    0 | 1 => (left, owner),
                    many => ((left / many as f64).max(LEAST_COST), Owner::Share(many)),
                },
            ),
            cost(limits.story_max_cost_usd, story.cost_usd, Owner::Story),
        ];
        Self {
            // The first of equals counts, so that the end of a run is told as such.
            time: times.into_iter().flatten().min_by_key(|(time, _)| *time),
            cost_usd: costs.into_iter().flatten().min_by(|(one, _), (two, _)| one.total_cmp(two)),
        }
    }
}

#[cfg(test)]
mod tests {
    use ralph_project::config::Seconds;

    use super::*;

    fn check(limits: [u64; 3], used: [u64; 2], expected: Option<(u64, Owner)>) {
        let [timeout, story, run] = limits.map(Seconds);
        let agent = Agent { timeout, ..Agent::default() };
        let limits = Limits { max_duration: run, story_max_duration: story, ..Limits::default() };
        let [story, elapsed] = used;
        let spent = Spent { seconds: story as f64, ..Spent::default() };
        let elapsed = Duration::from_secs(elapsed);
        let found = Allowance::of(&agent, &limits, elapsed, spent, (Spent::default(), 1));
        assert_eq!(found.time.map(|(time, owner)| (time.as_secs(), owner)), expected);
        assert_eq!(found.cost_usd, None);
    }

    #[test]
    fn the_nearest_limit_counts() {
        check([0, 0, 0], [0, 0], None);
        check([3600, 0, 0], [9, 9], Some((3600, Owner::Iteration)));
        check([3600, 600, 0], [500, 500], Some((100, Owner::Story)));
        check([3600, 600, 900], [0, 850], Some((50, Owner::Run)));
        check([60, 0, 60], [0, 0], Some((60, Owner::Run)));
        check([60, 0, 60], [0, 99], Some((1, Owner::Run)));
    }

    #[test]
    fn so_does_the_smallest_sum() {
        let found = |story: f64, run: f64, spent: [f64; 2]| {
            let limits =
                Limits { story_max_cost_usd: story, max_cost_usd: run, ..Limits::default() };
            let [story, all] = spent.map(|cost_usd| Spent { cost_usd, ..Spent::default() });
            let of = |workers| {
                Allowance::of(&Agent::default(), &limits, Duration::ZERO, story, (all, workers))
            };
            [of(1).cost_usd, of(4).cost_usd]
        };
        let share = Owner::Share(4);
        assert_eq!(found(0.0, 0.0, [1.0, 1.0]), [None, None]);
        let expected = [Some((1.5, Owner::Story)), Some((1.0, share))];
        assert_eq!(found(2.0, 5.0, [0.5, 1.0]), expected);
        let expected = [Some((1.0, Owner::Run)), Some((0.25, share))];
        assert_eq!(found(2.0, 5.0, [0.0, 4.0]), expected);
        let expected = [Some((LEAST_COST, Owner::Run)), Some((LEAST_COST, share))];
        assert_eq!(found(0.0, 5.0, [0.0, 6.0]), expected);
    }
}
