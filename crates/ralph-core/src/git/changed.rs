//! Which files differ from a saved state? Asked before a rollback, and before an undo.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::diff::{self, Change, split};
use super::files::look;
use super::{Repo, Snapshot, SnapshotError, Status};
use ralph_base::state;

/// The files that are not as they were in the target; our own folders aside, and whatever is in
/// submodules and repositories inside. What is staged does not count: the work is what is on disk.
pub fn changed_since(repo: &Repo, target: &Snapshot) -> Result<Vec<PathBuf>, SnapshotError> {
    let status = Status::read(repo)?;
    let mut changed: BTreeSet<PathBuf> = status.changed.into_iter().collect();
    if status.head != target.record.head {
        let from = repo.base(status.head.as_deref())?;
        let to = repo.base(target.record.head.as_deref())?;
        changed.extend(diff::between(repo.git(), &from, &to)?.into_iter().map(|c| c.path));
    }
    // Of a file that the target took from disk, git says that it is changed in any case.
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
        // A file may be out of the index and on disk as it was.
        let wanted = diff::in_tree(repo.git(), &target.commit, &staged)?;
        for path in &staged {
            changed.remove(path);
        }
        changed.extend(not_on_disk(repo, &wanted)?);
    }
    changed.retain(|path| !repo.is_untouched(path));
    Ok(changed.into_iter().collect())
}

/// Those of the changes that are not made on disk, neither byte by byte nor in the eyes of git, which
/// converts line endings, for instance. What the user has set for a file in git does not matter.
pub(super) fn not_on_disk(
    repo: &Repo,
    changes: &[Change],
) -> Result<BTreeSet<PathBuf>, SnapshotError> {
    let (mut entries, mut found) = (Vec::new(), BTreeSet::new());
    for change in changes.iter().filter(|change| !change.is_inner) {
        let Change { mode, object, path, .. } = change;
        let is_there = look(repo.top(), path)?.is_some();
        if change.is_absent() == is_there {
            found.insert(path.clone());
        } else if is_there {
            let name = path.as_os_str().as_bytes();
            entries.extend([format!("{mode} {object}\t").as_bytes(), name, b"\0"].concat());
        }
    }
    if !entries.is_empty() {
        // An index that holds nothing else.
        let index = repo.git_dir().join(format!("ralph-index-{}", std::process::id()));
        state::remove_if_there(&index)?;
        let git = repo.git().on_index(index.clone());
        git.feed(&["update-index", "--add", "-z", "--index-info"], &entries)?;
        let diff = ["-c", "core.autocrlf=false", "diff", "--no-ext-diff", "--name-only", "-z"];
        let converted = git.run(diff.get(2..).unwrap_or_default())?;
        // Without the attributes, and so without conversions: what was saved is what was on disk.
        let raw = git.with_var("GIT_ATTR_SOURCE", repo.base(None)?).run(&diff)?;
        state::remove_if_there(&index)?;
        let raw: BTreeSet<PathBuf> = split(&raw).collect();
        found.extend(split(&converted).filter(|path| raw.contains(path)));
    }
    Ok(found)
}
