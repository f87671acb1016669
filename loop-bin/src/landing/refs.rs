//! What git says of branches and commits.

use camino::Utf8Path;
use ralph_core::git::{Git, GitError};

use crate::exit::Failure;
use crate::workspace::Source;

/// The branch on which work waits that the project's checkout cannot follow to.
pub(super) fn waiting_for(branch: &str) -> String {
    format!("ralph/{branch}")
}

/// Another work tree in which the branch is checked out.
pub(super) fn other_work_tree(source: &Source, branch: &str) -> Result<Option<String>, Failure> {
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

/// The commit at the end of a branch, if it has one, and whether the branch is checked out.
pub(super) fn look_at(git: &Git, branch: &str) -> Result<(Option<String>, bool), GitError> {
    let listed = git.line(&["for-each-ref", "--format=%(objectname) %(HEAD)", branch])?;
    // A branch `a` may not hide one that is called `a/b`.
    match (listed.split_once(' '), listed.lines().count()) {
        (Some((tip, mark)), 1) => Ok((Some(tip.to_owned()), mark == "*")),
        _ => Ok((resolve(git, branch)?, checked_out(git).as_deref() == Some(branch))),
    }
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

/// Whether a commit has come to any branch.
pub(crate) fn is_on_a_branch(git: &Git, commit: &str) -> bool {
    let list = ["for-each-ref", "--count=1", "--contains", commit, "refs/heads"];
    git.line(&list).is_ok_and(|found| !found.is_empty())
}

/// Whether one commit is part of the history of another.
pub(crate) fn is_ancestor(git: &Git, old: &str, new: &str) -> Result<bool, GitError> {
    match git.run(&["merge-base", "--is-ancestor", old, new]) {
        Ok(_) => Ok(true),
        Err(error) if error.exit_code() == Some(1) => Ok(false),
        Err(error) => Err(error),
    }
}
