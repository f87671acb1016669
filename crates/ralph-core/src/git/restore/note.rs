//! The note that a restore leaves in the git folder, so that one which is interrupted is finished by
//! the next one.

use std::io;
use std::path::PathBuf;

use crate::git::repo::Repo;
use crate::git::snapshot::take::SnapshotError;
use crate::git::snapshot::target::Target;
use crate::git::status::Status;
use crate::state;

/// Stands in the note for a repository without commits.
const NO_COMMIT: &str = "none";

/// The target of a restore that was interrupted, if there is one; restoring it again finishes it.
/// Where something was committed or checked out since, it is too late for that: what the restore
/// would have taken away is kept, and the note of it is removed.
pub fn interrupted(repo: &Repo) -> Result<Option<Target>, SnapshotError> {
    let note = match fs_err::read_to_string(note_path(repo)) {
        Ok(note) => note,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut words = note.split_whitespace();
    let target = match (words.next(), words.next()) {
        (Some("snapshot"), Some(name)) => match Target::load(repo, name) {
            Err(SnapshotError::Gone { .. }) => {
                // It cannot be finished; what it would have taken away was saved before it began.
                remove(repo)?;
                return Ok(None);
            }
            other => other?,
        },
        (Some("commit"), Some(commit)) => Target::Commit(commit.to_owned()),
        // A note that was never finished belongs to a restore that had not begun.
        _ => return Ok(None),
    };
    let head = Status::read(repo)?.head;
    let is_as_it_was =
        words.next().is_none_or(|before| Some(before) == head.as_deref().or(Some(NO_COMMIT)));
    if is_as_it_was || head.as_deref() == target.head() {
        return Ok(Some(target));
    }
    remove(repo)?;
    Ok(None)
}

/// The target, and the commit from which it is returned to.
pub(in crate::git) fn leave(repo: &Repo, target: &Target, now: &Status) -> io::Result<()> {
    let from = now.head.as_deref().unwrap_or(NO_COMMIT);
    let note = match target {
        // A submodule's: the note of the repository around it stands for both.
        Target::Snapshot(snapshot) if snapshot.name.is_empty() => return Ok(()),
        Target::Snapshot(snapshot) => format!("snapshot {} {from}\n", snapshot.name),
        Target::Commit(commit) => format!("commit {commit} {from}\n"),
    };
    let path = note_path(repo);
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
