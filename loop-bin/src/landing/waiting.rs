//! Work that has landed and is not in the user's files: how much of it, why, and what to do about it.

use std::path::PathBuf;

use ralph_base::listing::named_files;
use ralph_core::git::{Git, GitError};

use super::checkout::{Checkout, Note, Step};
use super::index_lock;
use super::refs::{Look, is_ancestor, look_at, other_work_tree, resolve, waiting_for};
use crate::exit::Failure;
use crate::terminal::{counted, printable};
use crate::workspace::Source;

/// What became of an attempt to move the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Advance {
    /// The work is on the target; the project's files followed, if it is checked out there.
    Landed,
    /// Another process moved the target first.
    Moved,
    /// The target cannot be moved; the work is on a branch of ours.
    Waits(Cause),
}

/// Why work is not in the user's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Files of the user's would be overwritten.
    InTheWay(Vec<PathBuf>),
    /// Another process holds git's lock on the index.
    Locked(PathBuf),
    /// The branch has commits that the work does not build on.
    Diverged,
    /// The branch is not there any more.
    Gone,
    /// Git refused to move the branch, with these words.
    Refused(String),
    /// Another work tree has the branch.
    Elsewhere(String),
    /// The project is on another branch.
    NotCheckedOut,
    /// Whatever it was, it is over.
    Nothing,
}

impl Cause {
    /// Whether no story can land until a person has seen to it.
    pub(crate) fn ends_run(&self) -> bool {
        matches!(self, Self::Gone | Self::Refused(_))
    }

    /// Why the work for `target` waits.
    pub(crate) fn why(&self, target: &str) -> String {
        match self {
            Self::InTheWay(files) => {
                format!("landing would overwrite your uncommitted {}", named_files(files))
            }
            Self::Locked(path) => format!("another process holds {}", path.display()),
            Self::Diverged => format!("{target} has moved on"),
            Self::Gone => format!("{target} no longer exists (deleted or renamed)"),
            Self::Refused(said) => format!("git refused to move {target} ({})", printable(said)),
            Self::Elsewhere(path) => format!("{target} is checked out in {path}"),
            Self::NotCheckedOut => format!("{target} is not checked out"),
            Self::Nothing => "nothing is in the way now".to_owned(),
        }
    }

    /// How the user takes the work for `target` from the branch on which it is.
    pub(crate) fn way_on(&self, target: &str, branch: &str) -> String {
        let merge = format!("`git merge --ff-only {branch}`");
        match self {
            Self::InTheWay(_) => {
                format!("stash or move it, then run {merge}; or commit it, then run `ralph-loop`")
            }
            Self::Locked(_) => {
                format!("wait for it, or delete the file if git is not running; then run {merge}")
            }
            Self::Diverged => format!(
                "run `ralph-loop` to rebase the work and check it again, or `git merge {branch}` \
                 to merge it unchecked"
            ),
            Self::Gone => format!(
                "run `git branch {target} {branch}` to create it again, or `git merge {branch}` on \
                 the branch that replaced it"
            ),
            Self::Refused(_) => format!("fix this, then run {merge}"),
            Self::Elsewhere(_) => format!("run {merge} in that folder"),
            Self::NotCheckedOut => format!("run `git switch {target}`, then {merge}"),
            Self::Nothing => format!("run {merge}, or let the next run do it"),
        }
    }
}

/// Work that is not in the user's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waiting {
    target: String,
    /// Where it is.
    pub(crate) branch: String,
    commits: usize,
    cause: Cause,
}

impl Waiting {
    /// What waits for `target`, if anything does.
    pub(crate) fn find(source: &Source, target: &str) -> Result<Option<Self>, Failure> {
        if target.is_empty() {
            return Ok(None);
        }
        Self::of(source, target, look_at(&source.git(), target)?)
    }

    /// The same for what was seen just now.
    pub(super) fn of(source: &Source, target: &str, look: Look) -> Result<Option<Self>, Failure> {
        let git = source.git();
        let Look { own: (own, is_here), work: (work, _) } = look;
        let found = |branch: &str, commits, cause| {
            let (target, branch) = (target.to_owned(), branch.to_owned());
            Some(Self { target, branch, commits, cause })
        };
        let waiting = waiting_for(target);
        if let Some(work) = work {
            let head = if own.is_none() { resolve(&git, "HEAD")? } else { None };
            let commits = count(&git, &work, own.as_deref().or(head.as_deref()), &[])?;
            if commits > 0 {
                let cause = match own {
                    Some(tip) => why_not_here(source, target, is_here, tip, work)?,
                    None => Cause::Gone,
                };
                return Ok(found(&waiting, commits, cause));
            }
        }
        let (Some(tip), false) = (own, is_here) else { return Ok(None) };
        // Of another branch only what the loop has made is of interest here.
        let head = resolve(&git, "HEAD")?;
        let commits = count(&git, &tip, head.as_deref(), &["--grep=^Ralph-"])?;
        if commits == 0 {
            return Ok(None);
        }
        Ok(found(target, commits, Cause::NotCheckedOut))
    }

    /// Whether it is on the branch that was asked for, which is just not checked out.
    pub(crate) fn is_landed(&self) -> bool {
        self.branch == self.target
    }

    /// All about it, in one line, with the reason why the last run could not rebase it.
    pub(crate) fn told(&self, misfit: Option<&str>) -> String {
        let Self { target, branch, commits, cause } = self;
        if self.is_landed() {
            let commits = counted(*commits, "commit is", "commits are");
            return format!(
                "{commits} on {branch}; run `git merge {branch}` to bring the work into your branch"
            );
        }
        let commits = counted(*commits, "commit waits", "commits wait");
        let (mut why, mut way_on) = (cause.why(target), cause.way_on(target, branch));
        if let (Cause::Diverged, Some(misfit)) = (cause, misfit) {
            why = format!("it cannot be rebased onto {target} ({misfit})");
            way_on = format!("merge it by hand with `git merge {branch}`");
        }
        format!("{commits} on {branch}: {why}; {way_on}")
    }
}

/// How many commits one has that the other does not.
fn count(git: &Git, of: &str, not: Option<&str>, which: &[&str]) -> Result<usize, GitError> {
    let mut args = [&["rev-list", "--count", of], which].concat();
    args.extend(not.iter().flat_map(|not| ["--not", not]));
    Ok(git.line(&args)?.parse().unwrap_or(0))
}

/// Why a branch that is there has not been moved to the work.
fn why_not_here(
    source: &Source,
    target: &str,
    is_here: bool,
    tip: String,
    work: String,
) -> Result<Cause, Failure> {
    if !is_ancestor(&source.git(), &tip, &work)? {
        return Ok(Cause::Diverged);
    }
    if let Some(path) = other_work_tree(source, target)? {
        return Ok(Cause::Elsewhere(path));
    }
    if !is_here {
        return Ok(Cause::NotCheckedOut);
    }
    let place = Checkout::of(source);
    let lock = index_lock::path_in(&place.git_dir);
    if lock.exists() && !index_lock::is_left(&place.git_dir) {
        return Ok(Cause::Locked(lock));
    }
    let branch = format!("refs/heads/{target}");
    let note = Note { branch, old: Some(tip), new: work, loop_files: Vec::new() };
    let in_the_way = Step::of(&place, &note, &[])?.in_the_way()?;
    Ok(if in_the_way.is_empty() { Cause::Nothing } else { Cause::InTheWay(in_the_way) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(cause: Cause) -> String {
        told_after(cause, None)
    }

    fn told_after(cause: Cause, misfit: Option<&str>) -> String {
        let waiting = Waiting {
            target: "main".to_owned(),
            branch: "ralph/main".to_owned(),
            commits: 2,
            cause,
        };
        waiting.told(misfit)
    }

    #[test]
    fn every_cause_has_its_own_way_on() {
        let files = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let causes = [
            Cause::InTheWay(files(&["a.txt", "b.txt"])),
            Cause::Locked(".git/index.lock".into()),
            Cause::Diverged,
            Cause::Gone,
            Cause::Refused("locked\n".to_owned()),
            Cause::Elsewhere("/other".to_owned()),
            Cause::NotCheckedOut,
            Cause::Nothing,
        ];
        let lines: Vec<String> = causes.into_iter().map(told).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        2 commits wait on ralph/main: landing would overwrite your uncommitted a.txt, b.txt; stash or move it, then run `git merge --ff-only ralph/main`; or commit it, then run `ralph-loop`
        2 commits wait on ralph/main: another process holds .git/index.lock; wait for it, or delete the file if git is not running; then run `git merge --ff-only ralph/main`
        2 commits wait on ralph/main: main has moved on; run `ralph-loop` to rebase the work and check it again, or `git merge ralph/main` to merge it unchecked
        2 commits wait on ralph/main: main no longer exists (deleted or renamed); run `git branch main ralph/main` to create it again, or `git merge ralph/main` on the branch that replaced it
        2 commits wait on ralph/main: git refused to move main (locked); fix this, then run `git merge --ff-only ralph/main`
        2 commits wait on ralph/main: main is checked out in /other; run `git merge --ff-only ralph/main` in that folder
        2 commits wait on ralph/main: main is not checked out; run `git switch main`, then `git merge --ff-only ralph/main`
        2 commits wait on ralph/main: nothing is in the way now; run `git merge --ff-only ralph/main`, or let the next run do it
        ");
    }
    #[test]
    fn work_that_could_not_be_rebased_is_for_a_person_to_merge() {
        insta::assert_snapshot!(told_after(Cause::Diverged, Some("both changed a.txt")), @"2 \
                                                                                           commits \
                                                                                           wait on \
                                                                                           ralph/main: \
                                                                                           it \
                                                                                           cannot \
                                                                                           be \
                                                                                           rebased \
                                                                                           onto \
                                                                                           main \
                                                                                           (both \
                                                                                           changed \
                                                                                           a.txt); \
                                                                                           merge \
                                                                                           it by \
                                                                                           hand \
                                                                                           with \
                                                                                           `git \
                                                                                           merge \
                                                                                           ralph/main`");
    }
}
