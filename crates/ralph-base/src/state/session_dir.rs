//! The file names of one client session, and of the folder in which another loop keeps its plan.

use camino::{Utf8Path, Utf8PathBuf};

/// A folder with a feature list, where another loop than ours keeps its plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopDir {
    root: Utf8PathBuf,
}

impl LoopDir {
    /// The loop's files in this folder.
    pub fn at(root: Utf8PathBuf) -> Self {
        Self { root }
    }

    paths! {
        /// The plan.
        feature_list: root / "feature_list.json";
        /// How far the loop has come.
        progress: root / "progress.txt";
    }
}

/// The files of one client session, ours and those that other tools write for the gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDir {
    root: Utf8PathBuf,
}

impl SessionDir {
    /// The files of the session in this folder.
    pub(super) fn at(root: Utf8PathBuf) -> Self {
        Self { root }
    }

    /// The folder itself.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    paths! {
        /// Lines `Read: <absolute path>`.
        reads: root / "session.log";
        /// A loop that runs inside the session.
        loop_state: root / "loop.json";
        /// An orchestrator's conditions.
        orchestrator: root / "orchestrator.json";
        /// The result of a quality gate.
        quality_gate: root / "quality-gate.json";
        /// One file a task.
        tasks: root / "tasks";
        /// How the last test run ended.
        last_verdict: root / "verdict.json";
        /// The commits that its commands made.
        commits: root / "commits.log";
        /// How often this session was blocked, so that blocking ends.
        block_counters: root / "blocks.json";
        /// Held while a block is counted.
        block_lock: root / "blocks.lock";
        /// How the session stopped last.
        last_stop: root / "stop.json";
    }
}
