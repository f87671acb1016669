//! Which files differ from a saved state? Asked before a rollback, and without writing anything.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::diff::{self, Change};
use super::files::look;
use super::repo::Repo;
use super::snapshot::Snapshot;
use super::snapshot_error::SnapshotError;
use super::status::Status;

/// The files that are not as they were in the target; our own folders aside, and whatever is in
/// submodules and repositories inside.
pub fn changed_since(repo: &Repo, target: &Snapshot) -> Result<Vec<PathBuf>, SnapshotError> {
    let status = Status::read(repo)?;
    let mut changed: BTreeSet<PathBuf> = status.changed.into_iter().collect();
    if status.head != target.record.head {
        let from = repo.base(status.head.as_deref())?;
        let to = repo.base(target.record.head.as_deref())?;
        changed.extend(diff::between(repo.git(), &from, &to)?.into_iter().map(|c| c.path));
    }
    // A file that the target took from the commit differs from it as soon as git says so. One that
    // it took from disk is compared byte by byte, because git calls it changed in any case.
    let uncommitted = target.uncommitted(repo)?;
    let uncommitted: Vec<&Change> = uncommitted.iter().filter(|c| !c.is_inner).collect();
    let made = made_on_disk(repo, &uncommitted, &target.record.modes)?;
    changed.extend(uncommitted.iter().map(|change| change.path.clone()));
    changed.retain(|path| !made.contains(path) && !repo.is_untouched(path));
    Ok(changed.into_iter().collect())
}

/// Those of the changes that are on disk already: byte by byte, without git and its filters.
pub(super) fn made_on_disk(
    repo: &Repo,
    changes: &[&Change],
    modes: &BTreeMap<String, u32>,
) -> Result<BTreeSet<PathBuf>, SnapshotError> {
    let mut made = BTreeSet::new();
    let (absent, present): (Vec<&Change>, Vec<&Change>) =
        changes.iter().partition(|change| change.is_absent());
    for Change { path, .. } in absent {
        if look(repo.top(), path)?.is_none() {
            made.insert(path.clone());
        }
    }
    diff::read_each(repo.git(), &present, |change, content| {
        let mode = change.path.to_str().and_then(|path| modes.get(path));
        if is_on_disk(repo.top(), change, mode, content)? {
            made.insert(change.path.clone());
        }
        Ok(())
    })?;
    Ok(made)
}

fn is_on_disk(
    top: &Path,
    wanted: &Change,
    mode: Option<&u32>,
    content: &mut dyn Read,
) -> io::Result<bool> {
    let full = top.join(&wanted.path);
    match look(top, &wanted.path)? {
        Some(found) if found.is_link && wanted.is_link() => {
            Ok(is_same(content, fs_err::read_link(full)?.as_os_str().as_bytes()))
        }
        Some(found) if !found.is_link && !wanted.is_link() => {
            let is_executable = (found.mode & 0o100 != 0) == (wanted.mode == "100755");
            let has_mode = mode.map_or(is_executable, |mode| *mode == found.mode);
            Ok(has_mode && is_same(content, fs_err::File::open(full)?))
        }
        _ => Ok(false),
    }
}

/// Whether two readers have the same to say.
fn is_same(one: impl Read, other: impl Read) -> bool {
    let bytes = BufReader::new(one).bytes().map(Result::ok);
    bytes.eq(BufReader::new(other).bytes().map(Result::ok))
}
