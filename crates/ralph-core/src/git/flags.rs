//! Files that the user told git to overlook: `--skip-worktree` and `--assume-unchanged`. Their
//! changes are in no status, so whoever saves a state has to know them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::command::GitError;
use super::ignore::paths_in;
use super::repo::Repo;

/// The entries of an index that are overlooked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Flags {
    skipped: Vec<PathBuf>,
    assumed: Vec<PathBuf>,
}

impl Flags {
    /// Those of the index as it is.
    pub(super) fn read(repo: &Repo) -> Result<Self, GitError> {
        Ok(Self::parse(&repo.git().run(&["ls-files", "-v", "-z", "--full-name"])?))
    }

    /// `<tag> <path>`, each ended by NUL; a small letter for what is assumed to be unchanged.
    fn parse(output: &[u8]) -> Self {
        let mut flags = Self::default();
        for entry in output.split(|byte| *byte == 0) {
            let [tag, b' ', path @ ..] = entry else { continue };
            let path = || PathBuf::from(OsStr::from_bytes(path));
            if tag.eq_ignore_ascii_case(&b'S') {
                flags.skipped.push(path());
            }
            if tag.is_ascii_lowercase() {
                flags.assumed.push(path());
            }
        }
        flags
    }

    /// All of them that are on disk: a sparse checkout has flags for all that it leaves out.
    pub(super) fn files(&self, repo: &Repo) -> BTreeSet<PathBuf> {
        let all = self.skipped.iter().chain(&self.assumed);
        all.filter(|path| repo.top().join(path).symlink_metadata().is_ok()).cloned().collect()
    }

    /// Sets them again on an index that was made anew.
    pub(super) fn set_again(&self, repo: &Repo) -> Result<(), GitError> {
        if *self == Self::default() {
            return Ok(());
        }
        let there = repo.git().run(&["ls-files", "-z", "--full-name"])?;
        let there: BTreeSet<PathBuf> = paths_in(&there).collect();
        for (paths, option) in
            [(&self.skipped, "--skip-worktree"), (&self.assumed, "--assume-unchanged")]
        {
            let mut names = Vec::new();
            for path in paths.iter().filter(|path| there.contains(*path)) {
                names.extend_from_slice(path.as_os_str().as_bytes());
                names.push(0);
            }
            if !names.is_empty() {
                repo.git().feed(&["update-index", option, "-z", "--stdin"], &names)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_tell_the_two_kinds_apart() {
        let flags = Flags::parse(b"H plain\0S skip ped\0h assumed\0s both\0");
        assert_eq!(flags.skipped, [PathBuf::from("skip ped"), PathBuf::from("both")]);
        assert_eq!(flags.assumed, [PathBuf::from("assumed"), PathBuf::from("both")]);
        assert_eq!(Flags::parse(b"H a\0? b\0"), Flags::default());
    }
}
