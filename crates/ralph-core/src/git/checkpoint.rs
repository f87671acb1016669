//! The checkpoint: the state at the start of an attempt, stored for any process to return to.

use std::io;

use super::snapshot::{CHECKPOINTS, OWN, Record, Snapshot};
use super::{Repo, SnapshotError, Status};
use ralph_base::fault;
use ralph_base::state::{self, StateDir, stamp};

/// The value for "no commit", in a repository that has none.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// A checkpoint, as stored in the file `.checkpoint`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The commit to return to; `None` in a repository without commits.
    pub commit: Option<String>,
    /// The ref of the snapshot; `None` if another loop wrote the file.
    pub snapshot: Option<String>,
}

impl Checkpoint {
    /// Saves the current tree and stores the checkpoint.
    pub fn create(repo: &Repo, state: &StateDir, message: &str) -> Result<Self, SnapshotError> {
        Self::create_for(repo, state, message, None, Status::read(repo)?)
    }

    /// Creates a checkpoint for a run of the loop: only that run's sessions are ever rolled back to
    /// it, not a person working in the same project. `status` must be current.
    pub fn create_for(
        repo: &Repo,
        state: &StateDir,
        message: &str,
        run: Option<&str>,
        status: Status,
    ) -> Result<Self, SnapshotError> {
        let record = Record { run: run.map(str::to_owned), ..Record::default() };
        let name = format!("{CHECKPOINTS}{}", stamp());
        let (snapshot, _) = Snapshot::save(repo, &name, message, &status, record)?;
        fault::point("checkpoint.saved");
        let checkpoint = Self { commit: status.head, snapshot: Some(snapshot.name) };
        checkpoint.save(state)?;
        Ok(checkpoint)
    }

    /// Stores the checkpoint durably before any tree is changed; an empty file counts as none.
    fn save(&self, state: &StateDir) -> io::Result<()> {
        let commit = self.commit.as_deref().unwrap_or(NO_COMMIT);
        let snapshot = self.snapshot.as_deref().unwrap_or_default();
        state::replace(&state.checkpoint(), format!("{commit}\n{snapshot}\n").as_bytes())
    }

    /// Reads the checkpoint; `None` if the file is missing or empty.
    pub fn load(state: &StateDir) -> Result<Option<Self>, SnapshotError> {
        let path = state.checkpoint();
        let bytes = state::read_if_there(&path)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let Some(commit) = lines.next() else { return Ok(None) };
        let is_id =
            matches!(commit.len(), 40 | 64) && commit.bytes().all(|b| b.is_ascii_hexdigit());
        let snapshot = lines.next().map(str::to_owned);
        if !is_id || snapshot.as_ref().is_some_and(|name| !name.starts_with(OWN)) {
            return Err(SnapshotError::Refused(format!(
                "{path} does not contain a valid checkpoint; run `ralph-loop` to write a new one, \
                 or delete the file"
            )));
        }
        let commit = (!commit.bytes().all(|b| b == b'0')).then(|| commit.to_owned());
        Ok(Some(Self { commit, snapshot }))
    }

    /// Deletes the checkpoint; its snapshot stays.
    pub fn clear(state: &StateDir) -> io::Result<()> {
        state::remove_if_there(state.checkpoint())
    }

    /// Returns the snapshot or commit to return to.
    pub fn target(&self, repo: &Repo) -> Result<Snapshot, SnapshotError> {
        match (&self.snapshot, &self.commit) {
            (Some(name), _) => Snapshot::load(repo, name),
            (None, Some(commit)) => {
                // The id may name an object that is not a commit.
                let is_commit = format!("{commit}^{{commit}}");
                repo.git().run(&["rev-parse", "--quiet", "--verify", &is_commit])?;
                Ok(Snapshot::bare(commit))
            }
            (None, None) => Err(SnapshotError::NoCheckpoint),
        }
    }
}
