//! What a run with several workers has done is the sum of what each of them has: every worker counts
//! for itself, on disk as well, and looks at the others before it decides.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Sum;

use super::words::{Counters, Spent};

impl Counters {
    /// What this worker has done, and what each of the others has.
    fn each(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.rest)
    }

    /// The sum of something over the whole run.
    pub(crate) fn all<T: Sum>(&self, of: impl Fn(&Self) -> T) -> T {
        self.each().map(of).sum()
    }

    /// What the whole run has spent on a story.
    pub(crate) fn spent_on(&self, story: &str) -> Spent {
        self.all(|one| one.story_spent.get(story).copied().unwrap_or_default())
    }

    /// Whether a story has met the work of another one before.
    pub(crate) fn has_met_others(&self, story: &str) -> bool {
        self.each().any(|one| one.conflicts.contains_key(story))
    }

    /// The stories that the run does not try again.
    pub(crate) fn all_set_aside(&self) -> BTreeSet<String> {
        self.each().flat_map(|one| one.set_aside.iter().cloned()).collect()
    }

    /// What both have done. What is only of one worker, as the end of its last iteration, is this one's.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        sum.rest = Vec::new();
        sum.iteration += other.iteration;
        sum.unpriced_sessions += other.unpriced_sessions;
        sum.costless_sessions += other.costless_sessions;
        sum.commits += other.commits;
        sum.unchecked += other.unchecked;
        sum.is_config_changed |= other.is_config_changed;
        sum.priced = sum.priced.plus(other.priced);
        sum.spent = sum.spent.plus(other.spent);
        sum.moved.extend(other.moved.iter().cloned());
        sum.set_aside.extend(other.set_aside.iter().cloned());
        sum.ticked.extend(other.ticked.iter().cloned());
        if let Some(done) = &other.done {
            sum.done.get_or_insert_default().extend(done.iter().cloned());
        }
        add(&mut sum.attempts, &other.attempts);
        add(&mut sum.handovers, &other.handovers);
        add(&mut sum.conflicts, &other.conflicts);
        for (story, spent) in &other.story_spent {
            let own = sum.story_spent.entry(story.clone()).or_default();
            *own = own.plus(*spent);
        }
        sum
    }
}

impl Spent {
    fn plus(self, other: Self) -> Self {
        Self {
            cost_usd: self.cost_usd + other.cost_usd,
            seconds: self.seconds + other.seconds,
            tokens: self.tokens + other.tokens,
            unpriced: self.unpriced + other.unpriced,
        }
    }
}

impl Sum for Spent {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Self::plus)
    }
}

fn add(sums: &mut BTreeMap<String, u64>, more: &BTreeMap<String, u64>) {
    for (story, count) in more {
        *sums.entry(story.clone()).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use ralph_project::config::Limits;

    use super::*;
    use crate::run::decide::{Finish, Outcome};

    fn worker(story: &str, cost_usd: f64) -> Counters {
        let mut counters = Counters { iteration: 2, ..Counters::default() };
        counters.book(story, Spent { cost_usd, seconds: 10.0, ..Spent::default() });
        counters
    }

    #[test]
    fn limits_hold_for_the_run_as_a_whole() {
        let rest = vec![worker("B", 3.0), worker("A", 1.0)];
        let counters = Counters { rest, ..worker("A", 2.0) };
        let limits = Limits { max_cost_usd: 6.0, ..Limits::default() };
        assert!(matches!(counters.limit_reached(&limits, 0, 0.0), Some(Finish::Budget(_))));
        let limits = Limits { max_cost_usd: 6.5, ..Limits::default() };
        assert_eq!(counters.limit_reached(&limits, 0, 0.0), None);
        assert_eq!(counters.limit_reached(&limits, 6, 0.0), Some(Finish::MaxIterations));
        let limits = Limits { story_max_cost_usd: 3.0, ..Limits::default() };
        assert!(counters.given_up("A", &limits).is_some());
        assert_eq!(counters.all(|one| one.spent).seconds, 30.0);
    }

    #[test]
    fn attempts_at_a_story_count_wherever_they_were_made() {
        let limits = Limits { attempts_per_story: 3, ..Limits::default() };
        let mut other = Counters::default();
        for _ in 0..2 {
            other.fail(Outcome::Failed, "red".to_owned(), "A", &limits);
        }
        let mut own = Counters { rest: vec![other], ..Counters::default() };
        assert_eq!(own.attempts_at("A"), 2);
        let kept = own.fail(Outcome::Failed, "red".to_owned(), "A", &limits);
        let given_up = "gave up after 3 failed attempts; last failure: red";
        assert_eq!(kept.set_aside.as_deref(), Some(given_up));
    }
}
