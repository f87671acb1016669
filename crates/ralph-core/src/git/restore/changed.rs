//! Which files differ from a saved state? Asked before a rollback, and without writing anything.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::diff::{self, Change, Content};
use super::procedure::differing;
use crate::git::repo::Repo;
use crate::git::snapshot::error::SnapshotError;
use crate::git::snapshot::target::Target;
use crate::git::status::Status;

/// The files that are not as they were in the target, our own folders aside, and submodules and
/// repositories inside that had no work of their own then.
pub fn changed_since(repo: &Repo, target: &Target) -> Result<Vec<PathBuf>, SnapshotError> {
    let status = Status::read(repo)?;
    let committed = differing(repo, target, &status)?.into_iter().map(|change| change.path);
    // A file that the target took from the commit differs from it as soon as git says so. One that
    // it took from disk is compared byte by byte, because git calls it changed in any case.
    let mut changed: BTreeSet<PathBuf> = status.changed.into_iter().chain(committed).collect();
    changed.retain(|path| !target.modes().contains_key(path));
    changed.extend(different(repo, target)?);
    let was_left_alone =
        |path: &PathBuf| target.left_alone().iter().any(|name| Path::new(name) == path);
    changed.extend(status.nested.into_iter().filter(|path| !was_left_alone(path)));
    Ok(changed.into_iter().filter(|path| !repo.is_untouched(path)).collect())
}

/// Those of the files that the target took from disk which are not the same on disk now.
fn different(repo: &Repo, target: &Target) -> Result<Vec<PathBuf>, SnapshotError> {
    let modes = target.modes();
    if modes.is_empty() {
        return Ok(Vec::new());
    }
    let absent = modes.iter().filter(|(_, mode)| mode.is_none()).map(|(path, _)| path);
    let is_file = |path: &&PathBuf| {
        fs_err::symlink_metadata(repo.top().join(path)).is_ok_and(|found| !found.is_dir())
    };
    let mut different: Vec<PathBuf> = absent.filter(is_file).cloned().collect();
    let mut saved = diff::between(repo.git(), &repo.base(None)?, target.tree())?;
    saved.retain(|file| modes.get(&file.path).is_some_and(Option::is_some));
    let saved: Vec<&Change> = saved.iter().filter(|file| file.to.object().is_some()).collect();
    diff::read_each(repo.git(), &saved, |file, content| {
        let mode = modes.get(&file.path).copied().flatten().unwrap_or_default();
        if !is_as(&repo.top().join(&file.path), mode, &file.to, content)? {
            different.push(file.path.clone());
        }
        Ok(())
    })?;
    Ok(different)
}

/// Whether a file or link is as a tree has it, byte by byte, without git and its filters.
fn is_as(full: &Path, mode: u32, wanted: &Content, content: &mut dyn Read) -> io::Result<bool> {
    let Ok(found) = fs_err::symlink_metadata(full) else { return Ok(false) };
    if let Content::Link { .. } = wanted {
        let is_link = found.is_symlink();
        return Ok(is_link && is_same(content, fs_err::read_link(full)?.as_os_str().as_bytes())?);
    }
    if !found.is_file() || found.mode() & 0o7777 != mode {
        return Ok(false);
    }
    is_same(content, fs_err::File::open(full)?)
}

/// How many bytes are compared at once.
const PART: u64 = 64 * 1024;

/// Whether two readers have the same to say.
fn is_same(mut one: &mut dyn Read, mut other: impl Read) -> io::Result<bool> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    loop {
        ours.clear();
        theirs.clear();
        (&mut one).take(PART).read_to_end(&mut ours)?;
        (&mut other).take(PART).read_to_end(&mut theirs)?;
        if ours != theirs || ours.is_empty() {
            return Ok(ours == theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_the_same_to_the_last_byte_whatever_their_length() {
        for length in [0, 1, PART - 1, PART, PART + 1, 3 * PART] {
            let content = vec![7; usize::try_from(length).unwrap()];
            let other = |change: fn(&mut Vec<u8>)| {
                let mut other = content.clone();
                change(&mut other);
                is_same(&mut other.as_slice(), content.as_slice()).unwrap()
            };
            assert!(other(|_| {}), "{length}");
            assert!(!other(|content| content.push(7)), "{length}");
            let is_shorter = other(|content| content.truncate(content.len().saturating_sub(1)));
            let is_other = other(|content| content.last_mut().into_iter().for_each(|b| *b = 8));
            assert_eq!((is_shorter, is_other), (length == 0, length == 0), "{length}");
        }
    }
}
