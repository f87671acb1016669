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

    /// The plan.
    pub fn feature_list(&self) -> Utf8PathBuf {
        self.root.join("feature_list.json")
    }

    /// How far the loop has come.
    pub fn progress(&self) -> Utf8PathBuf {
        self.root.join("progress.txt")
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

    /// Lines `Read: <absolute path>`.
    pub fn reads(&self) -> Utf8PathBuf {
        self.root.join("session.log")
    }

    /// A loop that runs inside the session.
    pub fn loop_state(&self) -> Utf8PathBuf {
        self.root.join("loop.json")
    }

    /// An orchestrator's conditions.
    pub fn orchestrator(&self) -> Utf8PathBuf {
        self.root.join("orchestrator.json")
    }

    /// The result of a quality gate.
    pub fn quality_gate(&self) -> Utf8PathBuf {
        self.root.join("quality-gate.json")
    }

    /// One file a task.
    pub fn tasks(&self) -> Utf8PathBuf {
        self.root.join("tasks")
    }

    /// How the last test run ended.
    pub fn last_verdict(&self) -> Utf8PathBuf {
        self.root.join("verdict.json")
    }

    /// How often this session was blocked, so that blocking ends.
    pub fn block_counters(&self) -> Utf8PathBuf {
        self.root.join("blocks.json")
    }

    /// Held while a block is counted.
    pub fn block_lock(&self) -> Utf8PathBuf {
        self.root.join("blocks.lock")
    }

    /// How the session stopped last.
    pub fn last_stop(&self) -> Utf8PathBuf {
        self.root.join("stop.json")
    }

    /// Every single file in the folder, but for those of tasks.
    pub fn files(&self) -> Vec<Utf8PathBuf> {
        vec![
            self.block_counters(),
            self.block_lock(),
            self.last_stop(),
            self.last_verdict(),
            self.loop_state(),
            self.orchestrator(),
            self.quality_gate(),
            self.reads(),
        ]
    }
}
