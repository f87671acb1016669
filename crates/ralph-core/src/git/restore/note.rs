//! The note that a restore leaves in the git folder, so that one which is interrupted is finished by
//! the next one.

use std::io;
use std::path::PathBuf;

use crate::git::repo::Repo;
use crate::git::snapshot::error::SnapshotError;
use crate::git::snapshot::target::Target;
use crate::git::status::Status;
use crate::state;

/// Stands in the note for a repository without commits.
const NO_COMMIT: &str = "none";

/// The target of a restore that was interrupted, if there is one; restoring it again finishes it.
/// Where something was committed or checked out since, it is too late for that: what the restore
/// would have taken away is kept, and the note of it is removed.
pub(in crate::git) fn interrupted(repo: &Repo) -> Result<Option<Target>, SnapshotError> {
    let note = match fs_err::read_to_string(note_path(repo)) {
        Ok(note) => note,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let words: Vec<&str> = note.split_whitespace().collect();
    let (target, before) = match words.as_slice() {
        ["snapshot", name, before] => match Target::load(repo, name) {
            // It cannot be finished; what it would have taken away was saved before it began.
            Err(SnapshotError::Gone { .. }) => return forget(repo),
            other => (other?, *before),
        },
        ["commit", commit, before] => (Target::Commit((*commit).to_owned()), *before),
        // A note that was never finished belongs to a restore that had not begun.
        _ => return forget(repo),
    };
    let head = repo.head()?;
    if head.as_deref().unwrap_or(NO_COMMIT) == before || head.as_deref() == target.head() {
        return Ok(Some(target));
    }
    forget(repo)
}

fn forget(repo: &Repo) -> Result<Option<Target>, SnapshotError> {
    remove(repo)?;
    Ok(None)
}

/// The target, and the commit from which it is returned to.
pub(in crate::git) fn leave(repo: &Repo, target: &Target, now: &Status) -> io::Result<()> {
    let from = now.head.as_deref().unwrap_or(NO_COMMIT);
    let note = match target {
        Target::Snapshot(snapshot) => format!("snapshot {} {from}\n", snapshot.name),
        Target::Commit(commit) => format!("commit {commit} {from}\n"),
    };
    let path = note_path(repo);
    path.parent().map_or(Ok(()), fs_err::create_dir_all)?;
    let temporary = path.with_extension("tmp");
    fs_err::write(&temporary, note)?;
    fs_err::rename(temporary, path)
}

pub(in crate::git) fn remove(repo: &Repo) -> io::Result<()> {
    state::remove_if_there(note_path(repo))
}

fn note_path(repo: &Repo) -> PathBuf {
    repo.git_dir().join(state::RESTORE_NOTE)
}
