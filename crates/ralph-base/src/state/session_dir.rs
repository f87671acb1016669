//! The file names of a client session, and of the folder in which another loop keeps its plan.

use camino::{Utf8Path, Utf8PathBuf};

/// A folder with a feature list, in which a loop other than ours keeps its plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopDir {
    root: Utf8PathBuf,
}

impl LoopDir {
    /// Returns the loop's files in this folder.
    pub fn at(root: Utf8PathBuf) -> Self {
        Self { root }
    }

    paths! {
        /// The plan.
        feature_list: root / "feature_list.json";
        /// The loop's progress.
        progress: root / "progress.txt";
    }
}

/// The files of one client session: ours and those that other tools write for the gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDir {
    root: Utf8PathBuf,
}

impl SessionDir {
    /// Returns the files of the session in this folder.
    pub(super) fn at(root: Utf8PathBuf) -> Self {
        Self { root }
    }

    /// Returns the folder itself.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    paths! {
        /// The files that were read, as lines `Read: <absolute path>`.
        reads: root / "session.log";
        /// The state of a loop that runs inside the session.
        loop_state: root / "loop.json";
        /// An orchestrator's conditions.
        orchestrator: root / "orchestrator.json";
        /// The result of a quality gate.
        quality_gate: root / "quality-gate.json";
        /// The tasks, one file per task.
        tasks: root / "tasks";
        /// How the last test run ended.
        last_verdict: root / "verdict.json";
        /// The commits made by the session's commands.
        commits: root / "commits.log";
        /// How often stops of this session were blocked, so that blocking is limited.
        block_counters: root / "blocks.json";
        /// The lock that is held while a block is counted.
        block_lock: root / "blocks.lock";
        /// How the session last stopped.
        last_stop: root / "stop.json";
    }
}
