//! Which files differ from a saved state? Asked before a rollback, and without writing anything.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::diff::{self, Change, Content};
use super::nested::Nested;
use super::on_disk::is_as;
use super::procedure::differing;
use crate::git::blobs;
use crate::git::repo::Repo;
use crate::git::snapshot::take::SnapshotError;
use crate::git::snapshot::target::Target;
use crate::git::status::Status;

/// The files that are not as they were in the target, our own folders aside.
pub fn changed_since(repo: &Repo, target: &Target) -> Result<Vec<PathBuf>, SnapshotError> {
    let status = Status::read(repo)?;
    let modes = target.modes();
    let committed = differing(repo, target, &status)?;
    let nested = Nested::plan(repo, target, &status, &committed)?;
    let mut suspects: BTreeSet<PathBuf> = status.changed.into_iter().collect();
    suspects.extend(committed.into_iter().map(|change| change.path));
    // A file that the target took from the commit differs from it as soon as git says so. One that
    // it took from disk is compared byte by byte, because git calls it changed in any case.
    let mut changed: BTreeSet<PathBuf> =
        suspects.into_iter().filter(|path| !modes.contains_key(path)).collect();
    changed.extend(different(repo, target)?);
    changed.extend(nested.changed());
    Ok(changed.into_iter().filter(|path| !repo.is_untouched(path)).collect())
}

/// The files that the target took from disk, because they were uncommitted, and that are the same
/// on disk now.
pub(crate) fn unchanged_since(
    repo: &Repo,
    target: &Target,
) -> Result<BTreeSet<PathBuf>, SnapshotError> {
    let different = different(repo, target)?;
    let all = target.modes().into_keys();
    Ok(all.filter(|path| !different.contains(path)).collect())
}

/// Those of the files that the target took from disk which are not the same on disk now.
fn different(repo: &Repo, target: &Target) -> Result<Vec<PathBuf>, SnapshotError> {
    let modes = target.modes();
    if modes.is_empty() {
        return Ok(Vec::new());
    }
    let absent = modes.iter().filter(|(_, mode)| mode.is_none()).map(|(path, _)| path);
    let mut different: Vec<PathBuf> = absent
        .filter(|path| repo.top().join(path).is_symlink() || repo.top().join(path).is_file())
        .cloned()
        .collect();
    let all = diff::all_of(repo.git(), target.tree())?;
    let is_file = |file: &&Change| {
        file.to != Content::Submodule && modes.get(&file.path).is_some_and(Option::is_some)
    };
    let saved: Vec<&Change> = all.iter().filter(is_file).collect();
    blobs::read(repo, &saved, |file, content| {
        let mode = modes.get(&file.path).copied().flatten().unwrap_or_default();
        if !is_as(&repo.top().join(&file.path), &file.to, content, |now| now == mode)? {
            different.push(file.path.clone());
        }
        Ok(())
    })?;
    Ok(different)
}
