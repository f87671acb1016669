//! The user's stash: remembered while an agent is at work, because nothing else names its commits.
//!
//! Its list is read as a file, so that an iteration starts no git where there is no stash. Where there
//! is one, refs of ours keep its commits from a git that tidies up.

use super::repo::Repo;
use crate::state;

/// The ref of git's, whose log is the list, and where ours are.
const STASH: &str = "refs/stash";
const PINS: &str = "refs/ralph/stash";

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
    /// Until it is forgotten, its commits are not removed, whatever an agent does to the list.
    pub fn remember(repo: &Repo) -> Self {
        let text = read_log(repo);
        if let (false, Some(path)) = (text.is_empty(), repo.own_file(state::STASH_SEEN)) {
            // Without the copy only the list in memory is left.
            let _ = state::replace_unsynced(&path, text.as_bytes());
        }
        let stash = Self::parse(&text);
        stash.each_pin(repo, |pin, commit| format!("update {pin} {commit}\n"));
        stash
    }

    /// The list that somebody remembered who was killed; empty if nobody was.
    pub fn left(repo: &Repo) -> Self {
        let text =
            repo.own_file(state::STASH_SEEN).and_then(|path| fs_err::read_to_string(path).ok());
        Self::parse(&text.unwrap_or_default())
    }

    /// Makes the list again where its log was removed, though git still has the newest entry: a
    /// `git reflog expire`, for instance. Tells whether it did.
    pub fn mend_list(&self, repo: &Repo) -> bool {
        if self.entries.is_empty() || !Self::parse(&read_log(repo)).entries.is_empty() {
            return false;
        }
        let git = repo.git();
        let Ok(top) = git.line(&["rev-parse", "--quiet", "--verify", STASH]) else { return false };
        let mut entries = self.entries.clone();
        if !entries.iter().any(|entry| entry.commit == top) {
            // One of the agent's own.
            let message = git.line(&["log", "-1", "--format=%s", &top]).unwrap_or_default();
            entries.push(StashEntry { commit: top, message });
        }
        // Git writes no log for a ref that stays where it is.
        let _ = git.run(&["update-ref", "-d", STASH]);
        entries.iter().filter(|entry| entry.store(repo)).count() == entries.len()
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

    /// The entries that were not in the list before, oldest first.
    pub fn added(&self, repo: &Repo) -> Vec<StashEntry> {
        let mut now = Self::parse(&read_log(repo)).entries;
        now.retain(|entry| !self.entries.iter().any(|old| old.commit == entry.commit));
        now
    }

    /// Forgets the copy, and lets go of the commits.
    pub fn forget(&self, repo: &Repo) {
        self.each_pin(repo, |pin, _| format!("delete {pin}\n"));
        // One that stays is compared again at the next start, which does no harm.
        repo.own_file(state::STASH_SEEN).map(fs_err::remove_file);
    }

    /// Has git do something with the ref of ours for each entry; nothing without entries.
    fn each_pin(&self, repo: &Repo, order: impl Fn(&str, &str) -> String) {
        let orders: Vec<String> = self
            .entries
            .iter()
            .map(|entry| order(&format!("{PINS}/{}", entry.commit), &entry.commit))
            .collect();
        let give = |orders: &str| repo.git().feed(&["update-ref", "--stdin"], orders.as_bytes());
        // All at once or none; where one of the commits is gone already, the others are worth it.
        if !orders.is_empty() && give(&orders.concat()).is_err() {
            orders.iter().for_each(|order| drop(give(order)));
        }
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
        stash.forget(&repo);
        assert_eq!(Stash::left(&repo), Stash::default());
        assert_eq!(test.git(["for-each-ref", PINS]), "");
    }

    #[test]
    fn a_list_whose_log_is_gone_is_made_again_with_what_was_stashed_since() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        for count in [1, 2] {
            test.write("a.txt", format!("{count}"));
            test.git(["stash", "push", "-q", "-m", &format!("{count}")]);
            let before = test.fingerprint().stash;
            let stash = Stash::remember(&repo);
            assert!(!stash.mend_list(&repo), "nothing is amiss");
            test.git(["reflog", "expire", "--expire=now", "--all"]);
            test.git(["gc", "-q", "--prune=now"]);
            assert_eq!(test.fingerprint().stash, "");
            assert!(stash.mend_list(&repo));
            assert_eq!(test.fingerprint().stash, before);
            stash.forget(&repo);
        }
        let stash = Stash::remember(&repo);
        test.write("a.txt", "agent");
        test.git(["stash", "push", "-q", "-m", "agent"]);
        fs_err::remove_file(test.root().join(".git/logs/refs/stash")).unwrap();
        assert!(stash.mend_list(&repo));
        let list = test.git(["stash", "list", "--format=%gs"]);
        assert_eq!(list, "On main: agent\nOn main: 2\nOn main: 1\n");
    }
}
