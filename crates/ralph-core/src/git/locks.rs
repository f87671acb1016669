//! Locks that git or another program holds, or left in the repository.

use std::path::{Path, PathBuf};

use super::repo::Repo;

/// The locks that are there now.
pub fn locks(repo: &Repo) -> Vec<PathBuf> {
    let (own, shared) = (repo.git_dir(), repo.shared_git_dir());
    let mut found =
        vec![own.join("index.lock"), own.join("HEAD.lock"), shared.join("packed-refs.lock")];
    found.retain(|lock| lock.exists());
    collect(&shared.join("refs"), &mut found);
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs_err::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            found.push(path);
        }
    }
}
