//! What git says of branches and commits.

use camino::Utf8Path;
use ralph_core::git::{Git, GitError};

use crate::exit::Failure;
use crate::workspace::Source;

const TIPS: &str = "--format=%(refname) %(objectname) %(HEAD)";

/// The branch on which work waits that the project's checkout cannot follow to.
pub(super) fn waiting_for(branch: &str) -> String {
    format!("ralph/{branch}")
}

/// Another work tree in which the branch is checked out.
pub(super) fn other_work_tree(source: &Source, branch: &str) -> Result<Option<String>, Failure> {
    if !source.shared.join("worktrees").is_dir() {
        return Ok(None);
    }
    let listed = source.git().run(&["worktree", "list", "--porcelain", "-z"])?;
    let listed = String::from_utf8_lossy(&listed);
    let wanted = format!("branch refs/heads/{branch}");
    let mut path = "";
    for line in listed.split('\0') {
        if let Some(found) = line.strip_prefix("worktree ") {
            path = found;
        }
        let real = |path: &Utf8Path| path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned());
        if line == wanted && real(Utf8Path::new(path)) != real(&source.top) {
            return Ok(Some(path.to_owned()));
        }
    }
    Ok(None)
}

/// The full name of the branch that is checked out; none if HEAD is detached.
pub(super) fn checked_out(git: &Git) -> Option<String> {
    git.line(&["symbolic-ref", "--quiet", "HEAD"]).ok()
}

/// The commit at the end of a branch, if it has one, and whether that branch is checked out.
pub(super) type Tip = (Option<String>, bool);

/// A branch, and the one on which work for it waits, at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Look {
    pub(super) own: Tip,
    pub(super) work: Tip,
}

/// Looks at a branch, and at the one on which work for it waits.
pub(super) fn look_at(git: &Git, branch: &str) -> Result<Look, GitError> {
    let [own, work] = [branch, &waiting_for(branch)].map(|name| format!("refs/heads/{name}"));
    let listed = git.line(&["for-each-ref", TIPS, &own, &work])?;
    Ok(Look { own: tip_in(&listed, &own), work: tip_in(&listed, &work) })
}

/// The tip of a branch, which may be checked out and have no commit yet.
pub(super) fn tip_of(git: &Git, branch: &str) -> Result<Tip, GitError> {
    match tip_in(&git.line(&["for-each-ref", TIPS, branch])?, branch) {
        (None, _) => Ok((None, checked_out(git).as_deref() == Some(branch))),
        found => Ok(found),
    }
}

fn tip_in(listed: &str, branch: &str) -> Tip {
    let tip = |line: &str| {
        let (commit, mark) = line.strip_prefix(branch)?.strip_prefix(' ')?.split_once(' ')?;
        Some((Some(commit.to_owned()), mark == "*"))
    };
    listed.lines().find_map(tip).unwrap_or_default()
}

/// The commit that a name stands for, if there is one.
pub(crate) fn resolve(git: &Git, name: &str) -> Result<Option<String>, GitError> {
    let commit = format!("{name}^{{commit}}");
    match git.line(&["rev-parse", "--quiet", "--verify", &commit]) {
        Ok(id) => Ok(Some(id)),
        Err(GitError::Failed { code: Some(1 | 128), .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes all refs of ours below a folder.
pub(crate) fn forget(git: &Git, folder: &str) -> Result<(), GitError> {
    let all = git.run(&["for-each-ref", "--format=delete %(refname)", folder])?;
    git.feed(&["update-ref", "--stdin"], &all).map(drop)
}

/// Whether one commit is part of the history of another.
pub(crate) fn is_ancestor(git: &Git, old: &str, new: &str) -> Result<bool, GitError> {
    match git.run(&["merge-base", "--is-ancestor", old, new]) {
        Ok(_) => Ok(true),
        Err(error) if error.exit_code() == Some(1) => Ok(false),
        Err(error) => Err(error),
    }
}
