//! What is remembered of an attempt between two test runs: strikes, and what failed at its start.
//!
//! Bound to the checkpoint: a new checkpoint begins with an empty memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde::{Deserialize, Serialize};

use ralph_base::state::{self, StateDir};
use ralph_core::git::Checkpoint;
use ralph_core::verdict::Verdict;

/// What is remembered of the attempt under way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    checkpoint: String,
    /// Failing runs that counted, without a passing one between.
    pub failures: u64,
    /// When the attempt was last rolled back, in milliseconds since 1970.
    pub rolled_back_at: u64,
    /// Tests that failed while the tree still equalled the checkpoint.
    failed_at_start: BTreeSet<String>,
    /// Runners that failed then without naming their tests, and how many they said had failed.
    unnamed_at_start: BTreeMap<String, u64>,
}

impl Memory {
    /// What is remembered under this checkpoint. A file that cannot be read, or that belongs to
    /// another checkpoint, is an empty memory.
    pub fn load(state: &StateDir, checkpoint: &Checkpoint) -> Self {
        let fresh = Self { checkpoint: name_of(checkpoint), ..Self::default() };
        let text = state::read(state.strikes()).unwrap_or_default();
        match serde_json::from_slice::<Self>(&text) {
            Ok(memory) if memory.checkpoint == fresh.checkpoint => memory,
            _ => fresh,
        }
    }

    /// Writes it down.
    pub fn save(&self, state: &StateDir) -> io::Result<()> {
        state::replace(&state.strikes(), &serde_json::to_vec_pretty(self)?)
    }

    /// Remembers tests that fail before anything was changed.
    pub fn note_start(&mut self, verdict: &Verdict) {
        if verdict.failing.is_empty() {
            let failed = self.unnamed_at_start.entry(runner_of(verdict)).or_default();
            *failed = (*failed).max(verdict.counts.bad());
        }
        self.failed_at_start.extend(verdict.failing.iter().map(|test| test.name.clone()));
    }

    /// Whether all of these tests failed at the start. A run that names no tests is only known to
    /// fail as before if the same runner named none then, and if no more have failed since.
    pub fn failed_at_start(&self, verdict: &Verdict) -> bool {
        if verdict.failing.is_empty() {
            let before = self.unnamed_at_start.get(&runner_of(verdict));
            before.is_some_and(|failed| verdict.counts.bad() <= *failed)
        } else {
            verdict.failing.iter().all(|test| self.failed_at_start.contains(&test.name))
        }
    }
}

fn runner_of(verdict: &Verdict) -> String {
    verdict.runner.unwrap_or_default().to_owned()
}

fn name_of(checkpoint: &Checkpoint) -> String {
    let commit = checkpoint.commit.as_deref().unwrap_or_default();
    format!("{commit} {}", checkpoint.snapshot.as_deref().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;
    use ralph_core::verdict::{Counts, FailingTest, Kind};

    fn checkpoint(commit: &str) -> Checkpoint {
        Checkpoint { commit: Some(commit.to_owned()), snapshot: None }
    }

    #[test]
    fn a_new_checkpoint_and_a_broken_file_begin_anew() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        let mut memory = Memory::load(&state, &checkpoint("aa"));
        memory.failures = 2;
        memory.save(&state).unwrap();
        assert_eq!(Memory::load(&state, &checkpoint("aa")).failures, 2);
        assert_eq!(Memory::load(&state, &checkpoint("bb")).failures, 0);
        state::replace(&state.strikes(), b"{\"failures\":9").unwrap();
        assert_eq!(Memory::load(&state, &checkpoint("aa")).failures, 0);
    }

    fn run(runner: Option<&'static str>, failed: u64, names: &[&str]) -> Verdict {
        let failing = names.iter().map(|name| FailingTest {
            name: (*name).to_owned(),
            file: None,
            line: None,
        });
        Verdict {
            kind: Kind::Failed,
            runner,
            counts: Counts { failed, ..Counts::default() },
            failing: failing.collect(),
        }
    }

    #[test]
    fn only_what_failed_at_the_start_is_excused() {
        let mut memory = Memory::default();
        memory.note_start(&run(Some("pytest"), 2, &["a", "b"]));
        assert!(memory.failed_at_start(&run(Some("pytest"), 1, &["b"])));
        assert!(!memory.failed_at_start(&run(Some("pytest"), 2, &["b", "c"])));
        assert!(!memory.failed_at_start(&run(Some("pytest"), 1, &[])));
        memory.note_start(&run(None, 1, &[]));
        assert!(memory.failed_at_start(&run(None, 1, &[])));
        assert!(!memory.failed_at_start(&run(None, 3, &[])));
        assert!(!memory.failed_at_start(&run(Some("jest"), 1, &[])));
    }
}
