//! Where HEAD is, read from git's files: to start git takes a hundred times longer, and this is asked
//! all the time. Where refs are kept in another way nothing is known, and git has to be asked.

use serde::{Deserialize, Serialize};

use super::command::GitError;
use super::repo::{Repo, is_object_id};
use super::status::Status;

/// A place of HEAD: the branch, none if it is detached; and the commit, none if there is none yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The branch.
    pub branch: Option<String>,
    /// The commit.
    pub commit: Option<String>,
}

impl Position {
    /// Where HEAD is; none where refs are not kept as files, or anything else is out of the ordinary.
    pub fn of(repo: &Repo) -> Option<Self> {
        let files = HeadFiles::read(repo)?;
        let head = files.head.trim_end();
        let Some(name) = head.strip_prefix("ref: ") else {
            return is_object_id(head)
                .then(|| Self { branch: None, commit: Some(head.to_owned()) });
        };
        let branch = name.strip_prefix("refs/heads/").filter(|branch| *branch != ".invalid")?;
        let commit = match files.tip {
            Some(tip) => Some(tip.trim_end().to_owned()),
            None => packed(repo, name),
        };
        let is_known = commit.as_deref().is_none_or(is_object_id);
        is_known.then(|| Self { branch: Some(branch.to_owned()), commit })
    }

    /// The same, and where the files do not tell, git is asked.
    pub fn read(repo: &Repo) -> Result<Self, GitError> {
        match Self::of(repo) {
            Some(position) => Ok(position),
            None => {
                let Status { branch, head: commit, .. } = Status::read(repo)?;
                Ok(Self { branch, commit })
            }
        }
    }

    /// The branch, for messages.
    pub fn branch_name(&self) -> &str {
        self.branch.as_deref().unwrap_or("a detached HEAD")
    }
}

/// The files that tell where HEAD is; the second is missing where the branch is packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeadFiles {
    head: String,
    tip: Option<String>,
}

impl HeadFiles {
    /// What is in them now.
    pub(super) fn read(repo: &Repo) -> Option<Self> {
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

    fn position(branch: Option<&str>, commit: String) -> Option<Position> {
        Some(Position { branch: branch.map(str::to_owned), commit: Some(commit) })
    }

    #[test]
    fn a_position_is_known_however_the_branch_is_kept() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        assert_eq!(Position::of(&repo), position(Some("main"), test.head()));
        test.git(["pack-refs", "--all"]);
        assert_eq!(Position::of(&repo), position(Some("main"), test.head()));
        test.git(["checkout", "-q", "--detach"]);
        assert_eq!(Position::of(&repo), position(None, test.head()));
        let linked = test.scratch().path("linked");
        test.git(["worktree", "add", "-q", "-b", "other", linked.as_str()]);
        let repo = Repo::open(&linked).unwrap();
        assert_eq!(Position::of(&repo), position(Some("other"), test.head()));
    }

    #[test]
    fn what_is_out_of_the_ordinary_is_left_to_git() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        let head = repo.head().unwrap();
        test.git(["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
        test.git(["symbolic-ref", "HEAD", "refs/heads/alias"]);
        assert_eq!((Position::of(&repo), repo.head().unwrap()), (None, head.clone()));
        assert_eq!(Position::read(&repo).unwrap().commit, head);
        test.git(["symbolic-ref", "HEAD", "refs/heads/new"]);
        let unborn = Position { branch: Some("new".to_owned()), commit: None };
        assert_eq!((Position::of(&repo), repo.head().unwrap()), (Some(unborn), None));
        test.write(".git/HEAD", "ref: refs/heads/.invalid\n");
        assert_eq!(Position::of(&repo), None);
    }
}
