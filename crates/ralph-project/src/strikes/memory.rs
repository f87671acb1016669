//! The memory of an attempt between two test runs: strikes, and what failed at its start.
//!
//! It is bound to the checkpoint: a new checkpoint starts with an empty memory.

use std::{fmt, io};

use serde::{Deserialize, Serialize};

use ralph_base::state::{self, StateDir};
use ralph_core::git::Checkpoint;

use crate::failed_before::FailedBefore;

/// The memory of the current attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    checkpoint: String,
    /// The number of consecutive failing runs that counted.
    pub failures: u64,
    /// How many tests failed in the last failing run, if its runner counts them.
    pub failing: u64,
    /// When the attempt was last rolled back, in milliseconds since 1970.
    pub rolled_back_at: u64,
    /// Rollbacks by hooks, for the loop to report.
    pub rollbacks: Vec<HookRollback>,
    /// What failed while the tree still equalled the checkpoint.
    pub failed_before: FailedBefore,
}

/// A rollback of the attempt by a hook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookRollback {
    /// How many failing runs led to it.
    pub failures: u64,
    /// What failed, in one line.
    pub why: String,
    /// The ref under which the attempt was saved.
    pub saved_as: String,
}

impl fmt::Display for HookRollback {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = if self.failures == 1 { "run" } else { "runs" };
        write!(
            out,
            "rolled back by a hook after {} failing test {runs} ({})",
            self.failures, self.why
        )
    }
}

impl Memory {
    /// Starts the memory of a new checkpoint with the known failures.
    pub fn begin(
        state: &StateDir,
        checkpoint: &Checkpoint,
        failed_before: FailedBefore,
    ) -> io::Result<()> {
        let checkpoint = name_of(checkpoint);
        Self { checkpoint, failed_before, ..Self::default() }.save(state)
    }

    /// Loads the memory of this checkpoint. It is empty if the file cannot be read, or belongs to
    /// another checkpoint.
    pub fn load(state: &StateDir, checkpoint: &Checkpoint) -> Self {
        let fresh = Self { checkpoint: name_of(checkpoint), ..Self::default() };
        let text = state::read(state.strikes()).unwrap_or_default();
        match serde_json::from_slice::<Self>(&text) {
            Ok(memory) if memory.checkpoint == fresh.checkpoint => memory,
            _ => fresh,
        }
    }

    /// Writes the memory.
    pub fn save(&self, state: &StateDir) -> io::Result<()> {
        state::replace(&state.strikes(), &serde_json::to_vec_pretty(self)?)
    }
}

fn name_of(checkpoint: &Checkpoint) -> String {
    let commit = checkpoint.commit.as_deref().unwrap_or_default();
    format!("{commit} {}", checkpoint.snapshot.as_deref().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    fn checkpoint(commit: &str) -> Checkpoint {
        Checkpoint { commit: Some(commit.to_owned()), snapshot: None }
    }

    #[test]
    fn a_rollback_names_the_failing_tests() {
        let why = "pytest failed: test_a".to_owned();
        let shown = HookRollback { failures: 1, why, ..HookRollback::default() }.to_string();
        let expected = "rolled back by a hook after 1 failing test run (pytest failed: test_a)";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_new_checkpoint_or_a_broken_file_resets_the_count() {
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
}
