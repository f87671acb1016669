//! Finds the files that differ from a saved state, before a rollback or an undo.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::diff::{self, Change, split};
use super::files::entry_at;
use super::{Repo, Snapshot, SnapshotError, Status};
use ralph_base::state;

/// Returns the files that differ from the target, except our own folders and the contents of
/// submodules and nested repositories. Staging does not matter, only the files on disk.
pub fn changed_since(repo: &Repo, target: &Snapshot) -> Result<Vec<PathBuf>, SnapshotError> {
    let status = Status::read(repo)?;
    let mut changed: BTreeSet<PathBuf> = status.changed.into_iter().collect();
    if status.head != target.record.head {
        let from = repo.base(status.head.as_deref())?;
        let to = repo.base(target.record.head.as_deref())?;
        changed.extend(diff::between(repo.git(), &from, &to)?.into_iter().map(|c| c.path));
    }
    // Git reports files that the target took from disk as changed in any case.
    let uncommitted = target.uncommitted(repo)?;
    for change in &uncommitted {
        changed.remove(&change.path);
    }
    changed.extend(not_on_disk(repo, &uncommitted)?);
    let is_uncommitted = |path: &PathBuf| uncommitted.iter().any(|change| change.path == *path);
    let staged = status.staged.into_iter().filter(|change| !change.is_inner);
    let staged: Vec<PathBuf> =
        staged.map(|change| change.path).filter(|path| !is_uncommitted(path)).collect();
    if !staged.is_empty() {
        // A file may be missing from the index and unchanged on disk.
        let wanted = diff::in_tree(repo.git(), &target.commit, &staged)?;
        for path in &staged {
            changed.remove(path);
        }
        changed.extend(not_on_disk(repo, &wanted)?);
    }
    changed.retain(|path| !repo.is_untouched(path));
    Ok(changed.into_iter().collect())
}

/// Returns the changes that are not present on disk, neither byte for byte nor after git's
/// conversions, for example of line endings. What the user has set in git for a file is ignored.
pub(super) fn not_on_disk(
    repo: &Repo,
    changes: &[Change],
) -> Result<BTreeSet<PathBuf>, SnapshotError> {
    let (mut entries, mut found) = (Vec::new(), BTreeSet::new());
    for change in changes.iter().filter(|change| !change.is_inner) {
        let Change { mode, object, path, .. } = change;
        let is_there = entry_at(repo.top(), path)?.is_some();
        if change.is_absent() == is_there {
            found.insert(path.clone());
        } else if is_there {
            let name = path.as_os_str().as_bytes();
            entries.extend([format!("{mode} {object}\t").as_bytes(), name, b"\0"].concat());
        }
    }
    if !entries.is_empty() {
        // A temporary index that holds only these files.
        let index = repo.git_dir().join(format!("ralph-index-{}", std::process::id()));
        state::remove_if_there(&index)?;
        let git = repo.git().on_index(index.clone());
        git.feed(&["update-index", "--add", "-z", "--index-info"], &entries)?;
        let diff = ["-c", "core.autocrlf=false", "diff", "--no-ext-diff", "--name-only", "-z"];
        let converted = git.run(diff.get(2..).unwrap_or_default())?;
        // Without attributes there are no conversions: the bytes on disk were saved.
        let raw = git.with_var("GIT_ATTR_SOURCE", repo.base(None)?).run(&diff)?;
        state::remove_if_there(&index)?;
        let raw: BTreeSet<PathBuf> = split(&raw).collect();
        found.extend(split(&converted).filter(|path| raw.contains(path)));
    }
    Ok(found)
}
