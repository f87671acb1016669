//! Files that the user told git to overlook: `--skip-worktree` and `--assume-unchanged`. Their
//! changes are in no status, so whoever saves a state has to know them; and what an agent tells git
//! to overlook would be neither judged nor committed nor rolled back.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::index::is_split;
use super::index_flags::parse;
use crate::git::command::GitError;
use crate::git::ignore::rules::{joined, paths_in};
use crate::git::position::Position;
use crate::git::repo::Repo;

/// The entries of an index that are overlooked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::git) struct Flags {
    skipped: Vec<PathBuf>,
    assumed: Vec<PathBuf>,
}

impl Flags {
    /// Those of the index as it is.
    pub(in crate::git) fn read(repo: &Repo) -> Result<Self, GitError> {
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

    /// One more entry.
    pub(in crate::git) fn add(&mut self, path: PathBuf, is_assumed: bool, is_skipped: bool) {
        if is_assumed {
            self.assumed.push(path.clone());
        }
        if is_skipped {
            self.skipped.push(path);
        }
    }

    /// The same as [`Self::read`], without git where that is possible.
    fn read_file(repo: &Repo) -> Result<Self, GitError> {
        // Where the index is split, a part of it is in another file.
        let content = fs_err::read(repo.git_dir().join("index")).ok().filter(|_| !is_split(repo));
        let id_length = Position::of(repo).and_then(|now| now.commit).map(|head| head.len() / 2);
        let parsed = content.zip(id_length).and_then(|(text, length)| parse(&text, length));
        parsed.map_or_else(|| Self::read(repo), Ok)
    }

    /// All of them that are on disk: a sparse checkout has flags for all that it leaves out.
    pub(in crate::git) fn files(&self, repo: &Repo) -> BTreeSet<PathBuf> {
        let all = self.skipped.iter().chain(&self.assumed);
        all.filter(|path| repo.top().join(path).symlink_metadata().is_ok()).cloned().collect()
    }

    /// Sets them again on an index that was made anew.
    pub(in crate::git) fn set_again(&self, repo: &Repo) -> Result<(), GitError> {
        if *self == Self::default() {
            return Ok(());
        }
        let there = repo.git().run(&["ls-files", "-z", "--full-name"])?;
        let there: BTreeSet<PathBuf> = paths_in(&there).collect();
        for (paths, option) in
            [(&self.skipped, "--skip-worktree"), (&self.assumed, "--assume-unchanged")]
        {
            mark(repo, option, paths.iter().filter(|path| there.contains(*path)))?;
        }
        Ok(())
    }
}

/// Makes the index overlook what it did when `before` was read, and no more; names the files that
/// were changed in that respect. What a sparse checkout leaves out is not on disk, and would be taken
/// for deleted; where it is the agent's own, and no setting is left of it, its files come back.
pub(in crate::git) fn put_back(repo: &Repo, before: &Flags) -> Result<Vec<PathBuf>, GitError> {
    let now = Flags::read_file(repo)?;
    if now == *before {
        return Ok(Vec::new());
    }
    let has_sparse_rules = repo.git_dir().join("info/sparse-checkout").exists();
    let is_sparse = has_sparse_rules && is_sparse(repo);
    let is_there = |path: &PathBuf| repo.top().join(path).symlink_metadata().is_ok();
    let new = |now: &[PathBuf], before: &[PathBuf]| {
        let before: BTreeSet<&PathBuf> = before.iter().collect();
        now.iter().filter(|path| !before.contains(path)).cloned().collect::<Vec<PathBuf>>()
    };
    let mut skipped = new(&now.skipped, &before.skipped);
    skipped.retain(|path| !is_sparse || is_there(path));
    let assumed = new(&now.assumed, &before.assumed);
    mark(repo, "--no-skip-worktree", skipped.iter())?;
    mark(repo, "--no-assume-unchanged", assumed.iter())?;
    let away = joined(skipped.iter().filter(|path| has_sparse_rules && !is_there(path)));
    if !away.is_empty() {
        repo.git().feed(&["checkout-index", "-z", "--stdin"], &away)?;
    }
    let mut lost = Flags {
        skipped: new(&before.skipped, &now.skipped),
        assumed: new(&before.assumed, &now.assumed),
    };
    lost.skipped.retain(is_there);
    lost.assumed.retain(is_there);
    lost.set_again(repo)?;
    let mut changed = [skipped, assumed, lost.skipped, lost.assumed].concat();
    changed.sort();
    changed.dedup();
    Ok(changed)
}

fn is_sparse(repo: &Repo) -> bool {
    let set = repo.git().line(&["config", "--type=bool", "--get", "core.sparseCheckout"]);
    set.is_ok_and(|set| set == "true")
}

fn mark<'a>(
    repo: &Repo,
    option: &str,
    paths: impl Iterator<Item = &'a PathBuf>,
) -> Result<(), GitError> {
    let names = joined(paths);
    match names.is_empty() {
        true => Ok(()),
        false => repo.git().feed(&["update-index", option, "-z", "--stdin"], &names).map(drop),
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
