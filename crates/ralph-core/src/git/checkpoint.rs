//! The checkpoint: where an attempt began, written down so that any process can return to it.

use std::io;

use super::error::GitError;
use super::refs::{self, CHECKPOINTS, OWN};
use super::repo::Repo;
use super::snapshot::error::SnapshotError;
use super::snapshot::record::{SaveAs, SnapshotRecord};
use super::snapshot::take::{Extra, Snapshot};
use super::snapshot::target::Target;
use super::status::Status;
use crate::fault;
use crate::state::{self, StateDir};

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

/// Why there is no checkpoint to return to, or none could be made.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The snapshot could not be made or read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The file could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file holds something else.
    #[error(
        "{path} holds something else than a commit id and a snapshot of ours; start `ralph-loop` \
         again, which writes it anew, or remove the file"
    )]
    Unreadable {
        /// The file.
        path: String,
    },
}

impl Checkpoint {
    /// Saves the tree as it is and writes the checkpoint down.
    pub fn create(repo: &Repo, state: &StateDir, message: &str) -> Result<Self, CheckpointError> {
        Self::create_for(repo, state, message, None)
    }

    /// The same for a run of the loop: only its sessions are ever rolled back to it. A person who
    /// works in the same project has no part in it.
    pub fn create_for(
        repo: &Repo,
        state: &StateDir,
        message: &str,
        run: Option<&str>,
    ) -> Result<Self, CheckpointError> {
        let status = Status::read(repo).map_err(SnapshotError::from)?;
        let run = run.map(str::to_owned);
        let record = SnapshotRecord { run, ..SnapshotRecord::of(&status) };
        let save_as = SaveAs { name: &refs::new_checkpoint(), message };
        let snapshot = Snapshot::take_with(repo, save_as, &status, record, Extra::default())?;
        fault::point("checkpoint.saved");
        let checkpoint = Self { commit: status.head, snapshot: Some(snapshot.name) };
        checkpoint.save(state)?;
        Ok(checkpoint)
    }

    /// An empty file counts as none, and no tree is changed before the disk has it.
    fn save(&self, state: &StateDir) -> io::Result<()> {
        let commit = self.commit.as_deref().unwrap_or(NO_COMMIT);
        let snapshot = self.snapshot.as_deref().unwrap_or_default();
        state::replace_soon(&state.checkpoint(), format!("{commit}\n{snapshot}\n").as_bytes())
    }

    /// Reads the checkpoint; none if there is no such file, or an empty one.
    pub fn load(state: &StateDir) -> Result<Option<Self>, CheckpointError> {
        let path = state.checkpoint();
        let text = match fs_err::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let Some(commit) = lines.next() else { return Ok(None) };
        let is_id =
            matches!(commit.len(), 40 | 64) && commit.bytes().all(|b| b.is_ascii_hexdigit());
        let snapshot = lines.next().map(str::to_owned);
        if !is_id || snapshot.as_ref().is_some_and(|name| !name.starts_with(OWN)) {
            return Err(CheckpointError::Unreadable { path: path.to_string() });
        }
        let commit = (!commit.bytes().all(|b| b == b'0')).then(|| commit.to_owned());
        Ok(Some(Self { commit, snapshot }))
    }

    /// Forgets the checkpoint; its snapshot stays until it is pruned.
    pub fn clear(state: &StateDir) -> io::Result<()> {
        state::remove_if_there(state.checkpoint())
    }

    /// What to return to.
    pub fn target(&self, repo: &Repo) -> Result<Target, SnapshotError> {
        match (&self.snapshot, &self.commit) {
            (Some(name), _) => Target::load(repo, name),
            (None, Some(commit)) => {
                // It may be the id of something else.
                let is_commit = format!("{commit}^{{commit}}");
                repo.git().run(&["rev-parse", "--quiet", "--verify", &is_commit])?;
                Ok(Target::Commit(commit.clone()))
            }
            (None, None) => Err(SnapshotError::Foreign {
                name: NO_COMMIT.to_owned(),
                why: "it names neither a commit nor a snapshot".to_owned(),
            }),
        }
    }

    /// Removes the snapshots of older checkpoints, all but this one and the newest `keep`. If the
    /// clock was set back, this one is not the newest by name.
    pub fn prune_others(&self, repo: &Repo, keep: usize) -> Result<(), GitError> {
        let args = ["for-each-ref", "--sort=-refname", "--format=%(refname)", CHECKPOINTS];
        let names = repo.git().line(&args)?;
        let old = names.lines().skip(keep).filter(|name| self.snapshot.as_deref() != Some(name));
        let old: String = old.map(|name| format!("delete {name}\n")).collect();
        if old.is_empty() {
            return Ok(());
        }
        repo.git().feed(&["update-ref", "--stdin"], old.as_bytes()).map(drop)
    }
}
