//! The checkpoint: where an attempt began, written down so that any process can return to it.

use std::io;

use super::snapshot::{CHECKPOINTS, OWN, Record, Snapshot};
use super::{Repo, SnapshotError, Status};
use ralph_base::fault;
use ralph_base::state::{self, StateDir, stamp};

/// Stands for "no commit" in a repository that has none.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// A checkpoint as the file `.checkpoint` holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The commit to return to; none in a repository without commits.
    pub commit: Option<String>,
    /// The ref of the snapshot; missing if another loop wrote the file.
    pub snapshot: Option<String>,
}

impl Checkpoint {
    /// Saves the tree as it is and writes the checkpoint down.
    pub fn create(repo: &Repo, state: &StateDir, message: &str) -> Result<Self, SnapshotError> {
        Self::create_for(repo, state, message, None, Status::read(repo)?)
    }

    /// The same for a run of the loop: only its sessions are ever rolled back to it. A person who
    /// works in the same project has no part in it. The status is that of now.
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

    /// An empty file counts as none, and no tree is changed before the disk has it.
    fn save(&self, state: &StateDir) -> io::Result<()> {
        let commit = self.commit.as_deref().unwrap_or(NO_COMMIT);
        let snapshot = self.snapshot.as_deref().unwrap_or_default();
        state::replace(&state.checkpoint(), format!("{commit}\n{snapshot}\n").as_bytes())
    }

    /// Reads the checkpoint; none if there is no such file, or an empty one.
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

    /// Forgets the checkpoint; its snapshot stays.
    pub fn clear(state: &StateDir) -> io::Result<()> {
        state::remove_if_there(state.checkpoint())
    }

    /// What to return to.
    pub fn target(&self, repo: &Repo) -> Result<Snapshot, SnapshotError> {
        match (&self.snapshot, &self.commit) {
            (Some(name), _) => Snapshot::load(repo, name),
            (None, Some(commit)) => {
                // It may be the id of something else.
                let is_commit = format!("{commit}^{{commit}}");
                repo.git().run(&["rev-parse", "--quiet", "--verify", &is_commit])?;
                Ok(Snapshot::bare(commit))
            }
            (None, None) => Err(SnapshotError::NoCheckpoint),
        }
    }
}
