//! Where HEAD was when a run was last alive: what moved it afterwards was not the run's agent.
//!
//! The note is written only when HEAD moves while an agent is at work, so that most iterations
//! write none. HEAD and branches are read as files: this is asked many times a second. Where refs
//! are kept otherwise nothing is noted, and nobody can tell who moved HEAD.

use serde::{Deserialize, Serialize};

use super::repo::Repo;
use crate::state;

/// A place of HEAD: the branch, none if it is detached; and the commit, none if there is none yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The branch.
    pub branch: Option<String>,
    /// The commit.
    pub commit: Option<String>,
}

/// Looks after HEAD while the agent of a run is at work.
#[derive(Debug)]
pub struct HeadWatch {
    repo: Repo,
    run: String,
    seen: Option<Texts>,
}

/// The files that tell where HEAD is; the second is missing where the branch is packed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Texts {
    head: String,
    tip: Option<String>,
}

impl HeadWatch {
    /// Begins to look after it, for an attempt of `run` that began at a position.
    pub fn begin(repo: &Repo, run: &str, began: &Position) -> Self {
        // A note of an earlier attempt says nothing about this one.
        forget_sighting(repo);
        let seen = Texts::read(repo);
        let watch = Self { repo: repo.clone(), run: run.to_owned(), seen };
        // An attempt that is continued may have moved it before.
        if Position::of(repo).is_some_and(|now| now != *began) {
            note_head(repo, run);
        }
        watch
    }

    /// Notes where HEAD is, if it moved.
    pub fn look(&mut self) {
        let now = Texts::read(&self.repo);
        if now == self.seen {
            return;
        }
        match now {
            Some(_) => note_head(&self.repo, &self.run),
            None => leave_no_trace(&self.repo),
        }
        self.seen = now;
    }
}

/// Somebody is removing the git folder: a note that was written meanwhile must not keep it there.
fn leave_no_trace(repo: &Repo) {
    forget_sighting(repo);
    // It stays if there is anything else in it.
    let _ = fs_err::remove_dir(repo.git_dir());
}

/// Notes where HEAD is now, for a run that is alive.
pub fn note_head(repo: &Repo, run: &str) {
    let (Some(path), Some(now)) = (repo.own_file(state::HEAD_SEEN), Position::of(repo)) else {
        return;
    };
    let line = |text: Option<String>| text.unwrap_or_default();
    let text = format!("{run}\n{}\n{}\n", line(now.branch), line(now.commit));
    // Without the note a move counts as somebody else's, and then nothing is taken back.
    let _ = state::replace_unsynced(&path, text.as_bytes());
}

/// Forgets where HEAD was: no attempt is under way any more.
pub fn forget_sighting(repo: &Repo) {
    // One that stays is told from others by the name of its run.
    repo.own_file(state::HEAD_SEEN).map(fs_err::remove_file);
}

/// Where HEAD was last while an agent of `run` was at work; none if it did not move.
pub fn last_sighting(repo: &Repo, run: &str) -> Option<Position> {
    let text = fs_err::read_to_string(repo.own_file(state::HEAD_SEEN)?).ok()?;
    let mut lines = text.split('\n');
    lines.next().filter(|noted| *noted == run)?;
    let mut line =
        || lines.next().map(|line| Some(line.to_owned()).filter(|line| !line.is_empty()));
    let (branch, commit) = (line()?, line()?);
    // The last line is whole only if another one, empty, comes after it.
    lines.next().map(|_| Position { branch, commit })
}

impl Position {
    /// Where HEAD is; none where refs are not kept as files.
    pub fn of(repo: &Repo) -> Option<Self> {
        let texts = Texts::read(repo)?;
        let head = texts.head.trim_end();
        let Some(name) = head.strip_prefix("ref: ") else {
            return Some(Self { branch: None, commit: Some(head.to_owned()) });
        };
        let branch = name.strip_prefix("refs/heads/").filter(|branch| *branch != ".invalid")?;
        let commit = match texts.tip {
            Some(tip) => Some(tip.trim_end().to_owned()),
            None => packed(repo, name),
        };
        Some(Self { branch: Some(branch.to_owned()), commit })
    }
}

impl Texts {
    fn read(repo: &Repo) -> Option<Self> {
        let head = fs_err::read_to_string(repo.git_dir().join("HEAD")).ok()?;
        let tip = match head.trim_end().strip_prefix("ref: ") {
            Some(name) => fs_err::read_to_string(repo.shared_git_dir().join(name)).ok(),
            None => None,
        };
        Some(Self { head, tip })
    }
}

/// A branch that has no file of its own.
fn packed(repo: &Repo, name: &str) -> Option<String> {
    let text = fs_err::read_to_string(repo.shared_git_dir().join("packed-refs")).ok()?;
    let mut entries = text.lines().filter_map(|line| line.split_once(' '));
    entries.find(|(_, packed)| *packed == name).map(|(commit, _)| commit.to_owned())
}

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::*;

    fn position(branch: Option<&str>, commit: String) -> Position {
        Position { branch: branch.map(str::to_owned), commit: Some(commit) }
    }

    #[test]
    fn a_position_is_known_however_the_branch_is_kept() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        let first = position(Some("main"), test.head());
        assert_eq!(Position::of(&repo), Some(first.clone()));
        test.git(["pack-refs", "--all"]);
        assert_eq!(Position::of(&repo), Some(first));
        test.git(["checkout", "-q", "--detach"]);
        assert_eq!(Position::of(&repo), Some(position(None, test.head())));
        let linked = test.scratch().path("linked");
        test.git(["worktree", "add", "-q", "-b", "other", linked.as_str()]);
        let repo = Repo::open(&linked).unwrap();
        assert_eq!(Position::of(&repo), Some(position(Some("other"), test.head())));
    }

    #[test]
    fn only_moves_are_noted_and_only_for_their_run() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        let began = Position::of(&repo).unwrap();
        let mut watch = HeadWatch::begin(&repo, "r1", &began);
        watch.look();
        assert_eq!(last_sighting(&repo, "r1"), None);
        test.commit_all("by the agent");
        watch.look();
        assert_eq!(last_sighting(&repo, "r1"), Position::of(&repo));
        assert_eq!(last_sighting(&repo, "r2"), None);
        test.commit_all("by hand, after the run");
        assert_ne!(last_sighting(&repo, "r1"), Position::of(&repo));
        HeadWatch::begin(&repo, "r1", &Position::of(&repo).unwrap());
        assert_eq!(last_sighting(&repo, "r1"), None, "that was another attempt");
        HeadWatch::begin(&repo, "r1", &began);
        assert_eq!(last_sighting(&repo, "r1"), Position::of(&repo), "it had moved before");
    }
}
