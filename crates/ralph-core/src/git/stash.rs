//! The user's stash: remembered while an agent is at work, because nothing else names its commits.
//!
//! Its list is read as a file, so that an iteration starts no git for it.

use super::repo::Repo;
use crate::state;

/// An entry of the stash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StashEntry {
    /// Its commit.
    pub commit: String,
    /// What the list says of it.
    pub message: String,
}

/// The stash as it was, oldest entry first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stash {
    entries: Vec<StashEntry>,
}

impl Stash {
    /// Reads the list, and leaves a copy of it in the git folder for the case that we are killed.
    pub fn remember(repo: &Repo) -> Self {
        let text = read_log(repo);
        if let (false, Some(path)) = (text.is_empty(), repo.own_file(state::STASH_SEEN)) {
            // Without the copy only the list in memory is left.
            let _ = state::replace_unsynced(&path, text.as_bytes());
        }
        Self::parse(&text)
    }

    /// The list that somebody remembered who was killed; empty if nobody was.
    pub fn left(repo: &Repo) -> Self {
        let text =
            repo.own_file(state::STASH_SEEN).and_then(|path| fs_err::read_to_string(path).ok());
        Self::parse(&text.unwrap_or_default())
    }

    /// The entries that are not in the list any more, oldest first.
    pub fn gone(&self, repo: &Repo) -> Vec<StashEntry> {
        if self.entries.is_empty() {
            return Vec::new();
        }
        let now = Self::parse(&read_log(repo)).entries;
        let is_gone = |entry: &&StashEntry| !now.iter().any(|other| other.commit == entry.commit);
        self.entries.iter().filter(is_gone).cloned().collect()
    }

    /// Forgets the copy.
    pub fn forget(repo: &Repo) {
        // One that stays is compared again at the next start, which does no harm.
        repo.own_file(state::STASH_SEEN).map(fs_err::remove_file);
    }

    /// `<before> <commit> <who> <when>\t<message>`
    fn parse(text: &str) -> Self {
        let parse = |line: &str| {
            let (header, message) = line.split_once('\t')?;
            let commit = header.split(' ').nth(1)?.to_owned();
            Some(StashEntry { commit, message: message.to_owned() })
        };
        Self { entries: text.lines().filter_map(parse).collect() }
    }
}

impl StashEntry {
    /// Puts it on top of the stash; false if its commit is gone as well.
    pub fn store(&self, repo: &Repo) -> bool {
        repo.git().run(&["stash", "store", "--message", &self.message, &self.commit]).is_ok()
    }
}

fn read_log(repo: &Repo) -> String {
    let log = fs_err::read(repo.shared_git_dir().join("logs/refs/stash")).unwrap_or_default();
    String::from_utf8_lossy(&log).into_owned()
}

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::*;

    #[test]
    fn entries_that_are_dropped_are_known_and_stored_again() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        assert_eq!(Stash::remember(&repo), Stash::default());
        for text in ["one", "two", "three"] {
            test.write("a.txt", text);
            test.git(["stash", "push", "-q", "-m", text]);
        }
        let before = test.fingerprint().stash;
        let stash = Stash::remember(&repo);
        assert_eq!((stash.gone(&repo), Stash::left(&repo)), (Vec::new(), stash.clone()));
        test.git(["stash", "drop", "-q", "stash@{1}"]);
        let gone = stash.gone(&repo);
        assert_eq!(
            gone.iter().map(|entry| entry.message.as_str()).collect::<Vec<_>>(),
            ["On main: two"]
        );
        test.git(["stash", "clear"]);
        assert!(stash.gone(&repo).iter().all(|entry| entry.store(&repo)));
        assert_eq!(test.fingerprint().stash, before);
        Stash::forget(&repo);
        assert_eq!(Stash::left(&repo), Stash::default());
    }
}
