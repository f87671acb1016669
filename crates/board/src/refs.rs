//! What git says of branches and commits.

use ralph_core::git::{Git, GitError};

/// A branch as it is at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Branch {
    /// The commit at its end, if it has one.
    pub(super) commit: Option<String>,
    /// Whether it is checked out in the project; it may have no commit yet.
    pub(super) is_here: bool,
    /// The work tree in which it is checked out, here or elsewhere; empty if in none.
    pub(super) work_tree: String,
}

impl Branch {
    /// Another work tree in which it is checked out.
    pub(super) fn elsewhere(&self) -> Option<&str> {
        (!self.is_here && !self.work_tree.is_empty()).then_some(&self.work_tree)
    }
}

/// The full name of a branch.
pub(super) fn full(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

/// The name of the branch of ours on which work for a branch lands first. Git does not allow `ralph/x`
/// beside a branch `ralph`.
pub(super) fn ours_for(git: &Git, branch: &str) -> Result<String, GitError> {
    let (usual, other) = (format!("ralph/{branch}"), format!("ralph-work/{branch}"));
    let listed =
        git.line(&["for-each-ref", "--format=%(refname)", "refs/heads/ralph", &full(&other)])?;
    let is_used = |name: &str| name == "refs/heads/ralph" || name == full(&other);
    Ok(if branch == "ralph" || listed.lines().any(is_used) { other } else { usual })
}

/// The full name of the branch that is checked out; none if HEAD is detached.
pub(super) fn checked_out(git: &Git) -> Option<String> {
    git.line(&["symbolic-ref", "--quiet", "HEAD"]).ok()
}

/// Whether git's mark for the branch that is checked out comes first.
fn is_marked(place: &str) -> bool {
    place.starts_with('*')
}

/// These branches, all at the same moment.
pub(super) fn look_at<const N: usize>(
    git: &Git,
    names: [&str; N],
) -> Result<[Branch; N], GitError> {
    let names = names.map(full);
    let list = ["for-each-ref", "--format=%(refname) %(objectname) %(HEAD)%(worktreepath)"];
    let listed = git.line(&[&list[..], &names.each_ref().map(String::as_str)].concat())?;
    let is_one_here = listed.lines().any(|line| line.split(' ').nth(2).is_some_and(is_marked));
    let found = |name: &String| {
        let mut rest =
            listed.lines().filter_map(|line| line.strip_prefix(name.as_str())?.strip_prefix(' '));
        let Some((commit, place)) = rest.next().and_then(|rest| rest.split_once(' ')) else {
            let is_here = !is_one_here && checked_out(git).as_ref() == Some(name);
            return Branch { is_here, ..Branch::default() };
        };
        let (is_here, work_tree) = (is_marked(place), place[1..].to_owned());
        Branch { commit: Some(commit.to_owned()), is_here, work_tree }
    };
    Ok(names.each_ref().map(found))
}

/// Moves a branch by compare-and-swap; where there is no commit, it is not there or goes.
pub(super) fn swap(
    git: &Git,
    branch: &str,
    old: Option<&str>,
    new: Option<&str>,
) -> Result<(), GitError> {
    let [old, new] = [old, new].map(|commit| commit.unwrap_or("\"\""));
    let update = format!("update {} {new} {old}\n", full(branch));
    git.feed(&["update-ref", "-m", "ralph: land", "--stdin"], update.as_bytes()).map(drop)
}

/// The commit that a name stands for, if there is one.
pub fn resolve(git: &Git, name: &str) -> Result<Option<String>, GitError> {
    let commit = format!("{name}^{{commit}}");
    match git.line(&["rev-parse", "--quiet", "--verify", &commit]) {
        Ok(id) => Ok(Some(id)),
        Err(GitError::Failed { code: Some(1 | 128), .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes all refs of ours below a folder.
pub fn forget(git: &Git, folder: &str) -> Result<(), GitError> {
    let all = git.run(&["for-each-ref", "--format=delete %(refname)", folder])?;
    git.feed(&["update-ref", "--stdin"], &all).map(drop)
}

/// Whether one commit is part of the history of another.
pub fn is_ancestor(git: &Git, old: &str, new: &str) -> Result<bool, GitError> {
    if old == new {
        return Ok(true);
    }
    match git.run(&["merge-base", "--is-ancestor", old, new]) {
        Ok(_) => Ok(true),
        Err(error) if error.exit_code() == Some(1) => Ok(false),
        Err(error) => Err(error),
    }
}
