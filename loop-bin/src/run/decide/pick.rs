//! Picks the next story, its agent and its limits, and decides which limit ends the run. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use ralph_core::plan::{Next, Plan, State, Story};
use ralph_project::config::{Agent, Limits};
use ralph_project::dialect::Dialect;
use run_history::{Spent, Tally};

use super::finish::Finish;
use crate::terminal::seconds as seconds_of;

/// The least time with which to start an agent.
const LEAST_TIME: Duration = Duration::from_secs(1);

/// The least sum with which to start an agent; clients refuse zero.
const LEAST_COST: f64 = 0.0001;

/// After this many sessions of unknown cost in a row, a cost limit counts as reached: unknown is
/// not zero.
const MOST_UNPRICED: u64 = 2;

/// The result of picking a story.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    Story(String),
    /// Stories in progress may unblock the rest, so wait.
    Wait,
    Complete,
    /// The requested story depends on one that is not done.
    Depends(String),
    /// No story can be worked on; with the reason.
    Stuck(String),
}

/// Picks the first story that can be worked on.
pub(crate) fn pick(
    plan: &Plan,
    given_up: &BTreeSet<String>,
    under_way: &BTreeSet<String>,
) -> Picked {
    let passed_over: BTreeSet<String> = given_up.union(under_way).cloned().collect();
    match plan.next_story(&passed_over) {
        Next::Complete => Picked::Complete,
        Next::Stuck { waiting, blocked } if under_way.is_empty() => {
            Picked::Stuck(stuck(&waiting, &blocked))
        }
        Next::Stuck { .. } => Picked::Wait,
        Next::Story(story) => Picked::Story(story.id.clone()),
    }
}

/// Picks this story, if it can be worked on.
pub(crate) fn pick_only(plan: &Plan, id: &str, given_up: &BTreeSet<String>) -> Picked {
    let Some(story) = plan.story(id) else {
        return Picked::Stuck(format!("there is no story {id} in {}", plan.path()));
    };
    match story.state {
        State::Done => return Picked::Complete,
        State::Open if !given_up.contains(&story.id) => {}
        _ => return Picked::Stuck(format!("{id} is blocked")),
    }
    let mut waits = None;
    for other in &story.depends {
        match pick_only(plan, other, given_up) {
            Picked::Complete => {}
            Picked::Stuck(_) => {
                return Picked::Stuck(format!("{id} depends on {other}, which is blocked"));
            }
            _ => waits = Some(format!("{id} depends on {other}, which is not done")),
        }
    }
    waits.map_or_else(|| Picked::Story(story.id.clone()), Picked::Depends)
}

/// Why no story can be worked on, with the stories in question.
fn stuck(waiting: &[&Story], blocked: &[&Story]) -> String {
    let ids = |stories: &[&Story]| {
        stories.iter().map(|story| story.id.clone()).collect::<Vec<_>>().join(", ")
    };
    let mut why = format!("no story can be worked on; blocked: {}", ids(blocked));
    if !waiting.is_empty() {
        why.push_str(&format!("; dependent on them: {}", ids(waiting)));
    }
    why
}

/// The agent for a story: the named one, or else the run's own (the empty name). If that has reached its usage limit,
/// the first fallback that has not. The error is an unknown name.
pub(crate) fn agent_for<'a>(
    named: Option<&'a str>,
    fallback: &'a [String],
    tally: &'a Tally,
    now: i64,
) -> (&'a str, Result<(), &'a str>) {
    let known = named.filter(|name| Dialect::find(name).is_some());
    let is_available = |name: &&str| fallback.is_empty() || is_free(tally, name, now);
    let agent = known.filter(is_available).or_else(|| free_agents(fallback, tally, now).next());
    (agent.unwrap_or_default(), named.filter(|_| known.is_none()).map_or(Ok(()), Err))
}

/// The run's own agent and its fallbacks, without those that have reached their usage limits.
pub(crate) fn free_agents<'a>(
    fallback: &'a [String],
    tally: &'a Tally,
    now: i64,
) -> impl Iterator<Item = &'a str> {
    let all = [""].into_iter().chain(fallback.iter().map(String::as_str));
    all.filter(move |name| is_free(tally, name, now))
}

fn is_free(tally: &Tally, agent: &str, now: i64) -> bool {
    tally.run.limited.get(agent).is_none_or(|until| *until <= now)
}

/// Which limit an allowance comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Iteration,
    Run,
    /// One worker's share: the run's remaining money is divided among the workers, so that together they
    /// cannot exceed it.
    Share(u64),
}

/// Limits for an iteration.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Allowance {
    pub(crate) time: Option<(Duration, Owner)>,
    pub(crate) cost_usd: Option<(f64, Owner)>,
}

impl Allowance {
    /// The limits for an iteration of a run that has taken `elapsed`, cost `cost_usd`, and has several workers.
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
            // With equal limits the run's comes first, so that the end is reported as the run's.
            time: times.into_iter().flatten().min_by_key(|(time, _)| *time),
            cost_usd: (limits.max_cost_usd > 0.0).then_some(owned),
        }
    }
}

/// Why no further story may start, if the run has taken `seconds`.
pub(crate) fn limit_reached(
    tally: &Tally,
    limits: &Limits,
    max_iterations: u64,
    seconds: f64,
) -> Option<Finish> {
    let Spent { cost_usd: spent, unpriced, .. } = tally.run.spent;
    let most = limits.max_cost_usd;
    if most > 0.0 && spent >= most {
        let why = format!("budget exceeded: spent ${spent:.2} of ${most:.2}");
        return Some(Finish::Budget(why));
    }
    if most > 0.0 && tally.run.price.unpriced_sessions >= MOST_UNPRICED {
        return Some(Finish::Budget(format!(
            "the cost of {unpriced} tokens is unknown, so the limit of ${most:.2} cannot be kept"
        )));
    }
    if let Some(limit) = limits.max_duration.limit().filter(|limit| seconds >= limit.as_secs_f64())
    {
        return Some(Finish::Budget(format!("time limit of {} reached", seconds_of(limit))));
    }
    let is_last = max_iterations > 0 && tally.run.iteration >= max_iterations;
    if is_last { Some(Finish::MaxIterations) } else { None }
}

#[cfg(test)]
mod tests {
    use ralph_core::plan::Options;
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
    fn a_single_story_waits_for_open_and_is_stuck_on_blocked_dependencies() {
        let text = "- [x] A-1: a\n- [!] A-2: b\n- [ ] A-3: c (depends: A-1)\n\
                    - [ ] A-4: d (depends: A-3)\n- [ ] A-5: e (depends: A-2)\n\
                    - [ ] A-6: f (depends: A-3, A-5)\n";
        let plan = Plan::parse("plan.md".into(), text.into(), &Options::default()).unwrap();
        let stuck = |why: &str| Picked::Stuck(why.to_owned());
        for (id, expected) in [
            ("A-1", Picked::Complete),
            ("A-2", stuck("A-2 is blocked")),
            ("a-3", Picked::Story("A-3".to_owned())),
            ("A-4", Picked::Depends("A-4 depends on A-3, which is not done".to_owned())),
            ("A-5", stuck("A-5 depends on A-2, which is blocked")),
            ("A-6", stuck("A-6 depends on A-5, which is blocked")),
            ("A-7", stuck("there is no story A-7 in plan.md")),
        ] {
            assert_eq!(pick_only(&plan, id, &BTreeSet::new()), expected);
        }
        let given_up = BTreeSet::from(["A-3".to_owned()]);
        assert_eq!(pick_only(&plan, "A-3", &given_up), stuck("A-3 is blocked"));
    }

    #[test]
    fn the_nearest_limit_applies() {
        check([0, 0], 0, None);
        check([3600, 0], 9, Some((3600, Owner::Iteration)));
        check([3600, 900], 850, Some((50, Owner::Run)));
        check([60, 60], 0, Some((60, Owner::Run)));
        check([60, 60], 99, Some((1, Owner::Run)));
    }

    #[test]
    fn workers_share_the_remaining_budget() {
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
