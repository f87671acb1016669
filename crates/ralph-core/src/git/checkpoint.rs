//! The checkpoint: where an attempt began, written down so that any process can return to it.

use std::io;

use super::command::GitError;
use super::just_committed::JustCommitted;
use super::repo::Repo;
use super::snapshot::clean;
use super::snapshot::ledger::{self, CHECKPOINTS};
use super::snapshot::take::{Snapshot, SnapshotError};
use super::snapshot::target::Target;
use super::stamp::stamp;
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
    /// The ref of the snapshot; missing if somebody else's loop wrote the file.
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
         again, which writes it anew and keeps what is half done for `ralph-loop undo`, or remove \
         the file"
    )]
    Unreadable {
        /// The file.
        path: String,
    },
}

impl Checkpoint {
    /// Saves the tree as it is and writes the checkpoint down.
    pub fn create(repo: &Repo, state: &StateDir, message: &str) -> Result<Self, CheckpointError> {
        Ok(Self::create_for(repo, state, message, None, None)?.0)
    }

    /// The same for a run of the loop, with the status that was saved. Only sessions of a loop are
    /// ever rolled back to it: a person who works in the same project has no part in it.
    pub fn create_for(
        repo: &Repo,
        state: &StateDir,
        message: &str,
        run: Option<&str>,
        known: Option<&JustCommitted>,
    ) -> Result<(Self, Status), CheckpointError> {
        repo.refuse_if_busy().map_err(SnapshotError::from)?;
        let status = match known.and_then(|known| known.status(repo)) {
            Some(status) => status,
            None => Status::read(repo).map_err(SnapshotError::from)?,
        };
        let name = format!("{CHECKPOINTS}{}", stamp());
        let snapshot = match clean::take(repo, &name, &status, run).map_err(SnapshotError::from)? {
            Some(snapshot) => {
                ledger::note(repo, &snapshot.name, &snapshot.commit);
                snapshot
            }
            None => Snapshot::take_of(repo, &name, message, &status, run)?,
        };
        fault::point("checkpoint.saved");
        let checkpoint =
            Self { commit: snapshot.record.head.clone(), snapshot: Some(snapshot.name.clone()) };
        checkpoint.save(state)?;
        Ok((checkpoint, status))
    }

    /// An empty file counts as none, and no tree is changed before the disk has it.
    pub(super) fn save(&self, state: &StateDir) -> io::Result<()> {
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
        if !is_id || snapshot.as_ref().is_some_and(|name| !name.starts_with("refs/ralph/")) {
            return Err(CheckpointError::Unreadable { path: path.to_string() });
        }
        let commit = (!commit.bytes().all(|b| b == b'0')).then(|| commit.to_owned());
        Ok(Some(Self { commit, snapshot }))
    }

    /// Whether its snapshot holds files that were uncommitted.
    pub fn has_uncommitted(&self) -> bool {
        let is_plain = |name: &str| clean::parse(name, "").is_some();
        self.snapshot.as_deref().is_some_and(|name| !is_plain(name))
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

    /// The same, and the bare commit where the snapshot is gone for good. Only for the loop, whose
    /// attempt began at that commit: a snapshot also tells whose sessions may be rolled back.
    pub(super) fn target_or_commit(&self, repo: &Repo) -> Result<Target, SnapshotError> {
        match (self.target(repo), &self.commit) {
            (Err(SnapshotError::Gone { .. }), Some(_)) => {
                Self { snapshot: None, ..self.clone() }.target(repo)
            }
            (found, _) => found,
        }
    }

    /// The snapshots of all checkpoints, newest first, one a line.
    pub(super) fn names(repo: &Repo) -> Result<String, GitError> {
        let args = ["for-each-ref", "--sort=-refname", "--format=%(refname)", CHECKPOINTS];
        repo.git().line(&args)
    }

    /// Removes the snapshots of older checkpoints, all but this one and the newest `keep`. If the
    /// clock was set back, this one is not the newest by name.
    pub fn prune_others(&self, repo: &Repo, keep: usize) -> Result<(), GitError> {
        let names = Self::names(repo)?;
        let old = names.lines().skip(keep).filter(|name| self.snapshot.as_deref() != Some(name));
        let old: String = old.map(|name| format!("delete {name}\n")).collect();
        if old.is_empty() {
            return Ok(());
        }
        repo.git().feed(&["update-ref", "--stdin"], old.as_bytes()).map(drop)
    }
}
