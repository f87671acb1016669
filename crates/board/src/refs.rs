//! Queries and updates of branches and commits.

use ralph_core::git::{Git, GitError};

use super::notes::{Note, move_refs};

/// The state of a branch at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Branch {
    /// The commit at its tip; `None` if the branch does not exist.
    pub(super) commit: Option<String>,
    /// Whether it is checked out in the project; it may have no commit yet.
    pub(super) is_here: bool,
    /// The work tree in which it is checked out, the project's or another; empty if none.
    pub(super) work_tree: String,
}

impl Branch {
    /// Returns the other work tree in which it is checked out, if any.
    pub(super) fn elsewhere(&self) -> Option<&str> {
        (!self.is_here && !self.work_tree.is_empty()).then_some(&self.work_tree)
    }
}

/// Returns the full ref name of a branch.
pub(super) fn full(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

/// Returns the name of our branch on which work for a branch lands first. Git does not allow
/// `ralph/x` beside a branch `ralph`.
pub(super) fn ours_for(git: &Git, branch: &str) -> Result<String, GitError> {
    let (usual, other) = (format!("ralph/{branch}"), format!("ralph-work/{branch}"));
    let listed =
        git.line(&["for-each-ref", "--format=%(refname)", "refs/heads/ralph", &full(&other)])?;
    let is_used = |name: &str| name == "refs/heads/ralph" || name == full(&other);
    Ok(if branch == "ralph" || listed.lines().any(is_used) { other } else { usual })
}

/// Returns the full ref name of the checked-out branch; `None` if HEAD is detached.
pub(super) fn checked_out(git: &Git) -> Option<String> {
    git.line(&["symbolic-ref", "--quiet", "HEAD"]).ok()
}

/// Whether the text starts with git's mark of the checked-out branch.
fn is_marked(place: &str) -> bool {
    place.starts_with('*')
}

/// Reads these branches, all at the same moment.
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

/// Moves a branch by compare-and-swap; `None` stands for a missing branch, so it can delete one.
pub(super) fn swap(
    git: &Git,
    branch: &str,
    old: Option<&str>,
    new: Option<&str>,
) -> Result<(), GitError> {
    swap_noted(git, branch, (old, new), &[])
}

/// The same, and writes notes in the same transaction.
pub(super) fn swap_noted(
    git: &Git,
    branch: &str,
    (old, new): (Option<&str>, Option<&str>),
    notes: &[Note],
) -> Result<(), GitError> {
    let [old, new] = [old, new].map(|commit| commit.unwrap_or("\"\""));
    move_refs(git, &format!("update {} {new} {old}\n", full(branch)), notes)
}

/// Resolves a name to a commit, if there is one.
pub fn resolve(git: &Git, name: &str) -> Result<Option<String>, GitError> {
    let commit = format!("{name}^{{commit}}");
    match git.line(&["rev-parse", "--quiet", "--verify", &commit]) {
        Ok(id) => Ok(Some(id)),
        Err(GitError::Failed { code: Some(1 | 128), .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Deletes all of our refs below a folder.
pub fn forget(git: &Git, folder: &str) -> Result<(), GitError> {
    let all = git.run(&["for-each-ref", "--format=delete %(refname)", folder])?;
    git.feed(&["update-ref", "--stdin"], &all).map(drop)
}

/// Whether commit `old` is `new` or an ancestor of it.
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
