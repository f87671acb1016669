//! Failures that existed before the work began, so that they do not count against it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use ralph_core::verdict::{Kind, Verdict};

/// The failures before the work began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FailedBefore {
    /// The failing tests, if the runner named them.
    pub tests: BTreeSet<String>,
    /// How many failures each runner counted.
    counted: BTreeMap<String, u64>,
    /// Runners that failed without naming a test.
    unnamed: BTreeSet<String>,
}

impl FailedBefore {
    /// Records a failed run.
    pub fn note(&mut self, verdict: &Verdict) {
        let runner = runner_of(verdict);
        if verdict.failing.is_empty() {
            self.unnamed.insert(runner.clone());
        }
        self.tests.extend(verdict.failing.iter().cloned());
        let counted = self.counted.entry(runner).or_default();
        *counted = (*counted).max(verdict.counts.bad());
    }

    /// Adds the failures of another record.
    pub fn extend(&mut self, other: &Self) {
        self.tests.extend(other.tests.iter().cloned());
        self.unnamed.extend(other.unnamed.iter().cloned());
        for (runner, count) in &other.counted {
            let counted = self.counted.entry(runner.clone()).or_default();
            *counted = (*counted).max(*count);
        }
    }

    /// Returns whether nothing fails that did not fail before. A run without test names only counts
    /// if the same runner named none before. A run that could not load its tests never counts.
    pub fn covers(&self, verdict: &Verdict) -> bool {
        let runner = runner_of(verdict);
        let named = verdict.failing.len() as u64;
        let known = self.counted.get(&runner).map_or(named, |counted| named.max(*counted));
        let is_known = if verdict.failing.is_empty() {
            self.unnamed.contains(&runner)
        } else {
            verdict.failing.iter().all(|test| self.tests.contains(test))
        };
        is_known && verdict.counts.bad() <= known && verdict.kind != Kind::Errored
    }
}

fn runner_of(verdict: &Verdict) -> String {
    verdict.runner.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::verdict::Counts;

    fn run(runner: Option<&'static str>, failed: u64, names: &[&str]) -> Verdict {
        let failing = names.iter().map(|name| (*name).to_owned());
        Verdict {
            kind: Kind::Failed,
            runner,
            counts: Counts { failed, ..Counts::default() },
            failing: failing.collect(),
        }
    }

    #[test]
    fn only_tests_that_failed_before_are_excused() {
        let mut before = FailedBefore::default();
        before.note(&run(Some("pytest"), 2, &["a", "b"]));
        assert!(before.covers(&run(Some("pytest"), 1, &["b"])));
        assert!(!before.covers(&run(Some("pytest"), 2, &["b", "c"])));
        assert!(!before.covers(&run(Some("pytest"), 1, &[])));
        // More tests failed than the run names.
        assert!(!before.covers(&run(Some("pytest"), 3, &["a", "b"])));
        let broken = Verdict { kind: Kind::Errored, ..run(Some("pytest"), 1, &["a"]) };
        assert!(!before.covers(&broken));
        before.note(&run(None, 1, &[]));
        assert!(before.covers(&run(None, 1, &[])));
        assert!(!before.covers(&run(None, 3, &[])));
        assert!(!before.covers(&run(Some("jest"), 1, &[])));
        let mut all = FailedBefore::default();
        all.extend(&before);
        assert_eq!(all, before);
    }
}
