//! Which files differ from a saved state? Asked before a rollback, and without writing anything.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::access::open_to_read;
use super::blobs;
use super::diff::{self, Change, Content};
use super::nested::Nested;
use super::repo::Repo;
use super::restore::differing;
use super::snapshot::SnapshotError;
use super::status::Status;
use super::target::Target;

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
    let saved: Vec<&Change> =
        all.iter().filter(|file| modes.get(&file.path).is_some_and(Option::is_some)).collect();
    blobs::read(repo, &saved, |file, content| {
        let mode = modes.get(&file.path).copied().flatten().unwrap_or_default();
        if !is_same(&repo.top().join(&file.path), &file.to, content, mode)? {
            different.push(file.path.clone());
        }
        Ok(())
    })?;
    Ok(different)
}

fn is_same(full: &Path, saved: &Content, content: &[u8], mode: u32) -> io::Result<bool> {
    let Ok(metadata) = fs_err::symlink_metadata(full) else { return Ok(false) };
    match saved {
        Content::Link { .. } => {
            Ok(metadata.is_symlink() && fs_err::read_link(full)?.as_os_str().as_bytes() == content)
        }
        Content::File { .. } => Ok(metadata.is_file()
            && metadata.mode() & 0o7777 == mode
            && metadata.len() == content.len() as u64
            && is_read_as(full, content)?),
        Content::Absent | Content::Submodule => Ok(true),
    }
}

fn is_read_as(full: &Path, content: &[u8]) -> io::Result<bool> {
    let mut now = Vec::new();
    open_to_read(full)?.read_to_end(&mut now)?;
    Ok(now == content)
}
