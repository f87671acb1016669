//! Locks that git or another program left in the repository, and whether anybody holds them.

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

/// Whether any git is at work here, or any program has one of these files open, as far as the system
/// tells.
pub fn is_held(repo: &Repo, locks: &[PathBuf]) -> bool {
    let processes = fs_err::read_dir("/proc").into_iter().flatten().flatten();
    processes.map(|process| process.path()).any(|process| {
        let name = fs_err::read_to_string(process.join("comm")).unwrap_or_default();
        let folder = fs_err::read_link(process.join("cwd"));
        let is_git_here =
            name.starts_with("git") && folder.is_ok_and(|folder| folder.starts_with(repo.top()));
        let mut files = fs_err::read_dir(process.join("fd")).into_iter().flatten().flatten();
        is_git_here
            || files.any(|file| fs_err::read_link(file.path()).is_ok_and(|it| locks.contains(&it)))
    })
}

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::*;

    #[test]
    fn a_lock_is_held_while_a_program_has_it_open() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        test.write(".git/refs/heads/main.lock", "");
        test.write(".git/index.lock", "");
        let locks = locks(&repo);
        assert_eq!(locks.len(), 2);
        let held = fs_err::File::open(&locks[0]).unwrap();
        assert!(is_held(&repo, &locks));
        drop(held);
        assert!(!is_held(&repo, &locks));
    }
}
