//! Work that has landed but is not in the user's files: how much, why, and how to get it.

use ralph_core::git::{Git, GitError};

use super::cause::Cause;
use super::follow::why_not_here;
use super::refs::{is_ancestor, look_at, ours_for, resolve};
use ralph_project::failure::Failure;
use run_history::words::counted;
use work_copy::Source;

/// Work that has landed but is not in the user's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    target: String,
    /// The short name of the branch with the work.
    pub branch: String,
    commits: usize,
    /// How many stories that is.
    pub stories: usize,
    cause: Cause,
}

impl Waiting {
    /// Finds the work that waits for `target`, if any.
    pub fn find(source: &Source, target: &str) -> Result<Option<Self>, Failure> {
        if target.is_empty() {
            return Ok(None);
        }
        let git = source.git();
        let name = ours_for(&git, target)?;
        let [theirs, ours] = look_at(&git, [target, &name])?;
        let found = |branch: &str, (commits, stories), cause| {
            let (target, branch) = (target.to_owned(), branch.to_owned());
            Some(Self { target, branch, commits, stories, cause })
        };
        let head = if theirs.is_here { None } else { resolve(&git, "HEAD")? };
        if let Some(work) = &ours.commit {
            let base = theirs.commit.as_deref().or(head.as_deref());
            let commits = count(&git, work, base, &[])?;
            if commits > 0 {
                let cause = match (&theirs.commit, theirs.elsewhere()) {
                    (None, _) if !theirs.is_here => Cause::Gone,
                    (Some(tip), _) if !is_ancestor(&git, tip, work)? => Cause::Diverged,
                    (_, Some(path)) => Cause::Elsewhere(path.to_owned()),
                    (tip, None) => why_not_here(source, target, tip.as_deref(), work)?,
                };
                let stories = count(&git, work, base, &["--grep=^Ralph-Story: "])?;
                return Ok(found(&name, (commits, stories), cause));
            }
        }
        let (Some(tip), false) = (theirs.commit, theirs.is_here) else { return Ok(None) };
        // On another branch only the loop's own commits are of interest here.
        let commits = count(&git, &tip, head.as_deref(), &["--grep=^Ralph-"])?;
        if commits == 0 {
            return Ok(None);
        }
        // That is where they were to land.
        Ok(found(target, (commits, 0), Cause::NotCheckedOut))
    }

    /// Whether the work is on the target branch itself, which is just not checked out.
    pub fn is_landed(&self) -> bool {
        self.branch == self.target
    }

    /// Describes it in one line. `misfit` is why the last run could not rebase it.
    pub fn in_words(&self, misfit: Option<&str>) -> String {
        let Self { target, branch, commits, cause, .. } = self;
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

/// Counts the commits of `of` that `not` lacks.
fn count(git: &Git, of: &str, not: Option<&str>, which: &[&str]) -> Result<usize, GitError> {
    let mut args = [&["rev-list", "--count", of], which].concat();
    args.extend(not.iter().flat_map(|not| ["--not", not]));
    Ok(git.line(&args)?.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn in_words(cause: Cause, misfit: Option<&str>) -> String {
        let (target, branch) = ("main".to_owned(), "ralph/main".to_owned());
        Waiting { target, branch, commits: 2, stories: 2, cause }.in_words(misfit)
    }

    #[test]
    fn every_cause_has_its_own_instructions() {
        let files = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let causes = [
            Cause::InTheWay(files(&["a.txt", "b.txt"])),
            Cause::Locked(".git/index.lock".into()),
            Cause::Busy("a rebase"),
            Cause::Diverged,
            Cause::Gone,
            Cause::Refused("/project/vendor".into(), "Permission denied"),
            Cause::Interrupted,
            Cause::Failed("disk full\n".to_owned()),
            Cause::Elsewhere("/other".to_owned()),
            Cause::NotCheckedOut,
            Cause::Nothing,
        ];
        let mut lines: Vec<_> = causes.into_iter().map(|cause| in_words(cause, None)).collect();
        lines.push(in_words(Cause::Diverged, Some("both changed a.txt")));
        insta::assert_snapshot!(lines.join("\n"), @r"
        2 commits wait on ralph/main: landing would overwrite your uncommitted a.txt, b.txt; stash or move it, then run `git merge --ff-only ralph/main`; or commit it, then run `ralph-loop`
        2 commits wait on ralph/main: another process holds .git/index.lock; wait for it, or delete the file if git is not running; then run `git merge --ff-only ralph/main`
        2 commits wait on ralph/main: a rebase is in progress on main; finish or abort it, then run `git merge --ff-only ralph/main`
        2 commits wait on ralph/main: main has moved on; run `ralph-loop` to rebase the work and check it again, or `git merge ralph/main` to merge it unchecked
        2 commits wait on ralph/main: main no longer exists (deleted or renamed); run `git branch main ralph/main` to create it again, or `git merge ralph/main` on the branch that replaced it
        2 commits wait on ralph/main: /project/vendor cannot be written (Permission denied); make it writable, then run `git merge --ff-only ralph/main` or `ralph-loop`
        2 commits wait on ralph/main: a landing was interrupted; run `ralph-loop` to finish it
        2 commits wait on ralph/main: main cannot be updated (disk full); fix this, then run `git merge --ff-only ralph/main`
        2 commits wait on ralph/main: main is checked out in /other; run `git merge --ff-only ralph/main` in that folder
        2 commits wait on ralph/main: main is not checked out; run `git switch main`, then `git merge --ff-only ralph/main`
        2 commits wait on ralph/main: nothing is in the way now; run `git merge --ff-only ralph/main`, or let the next run do it
        2 commits wait on ralph/main: it cannot be rebased onto main (both changed a.txt); merge it by hand with `git merge ralph/main`
        ");
    }
}
