//! The branch on which the work lands.
//!
//! Where the project's checkout cannot follow, because that would overwrite uncommitted work, the
//! work waits on a branch of ours, and the run goes on from there.

use super::follow::follow;
use super::loop_files::LoopFile;
use super::refs::{
    Look, Tip, checked_out, is_ancestor, look_at, other_work_tree, resolve, waiting_for,
};
use super::waiting::{Advance, Cause, Waiting};
use crate::exit::Failure;
use crate::git_output::text_at;
use crate::workspace::Source;
use ralph_core::git::GitError;

/// Git's word for a ref that is not to be there.
const NOTHING: &str = "";

/// The branch on which the work lands.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    source: Source,
    /// The branch's name as people write it.
    pub(crate) branch: String,
    /// Whether work waits that the project's checkout did not follow to.
    pub(crate) is_waiting: bool,
    /// What was there when it was found.
    pub(crate) found: Look,
}

impl Target {
    /// The branch of this name, or the one that is checked out. A missing one is made by
    /// [`Target::make`].
    pub(crate) fn find(source: &Source, name: &str) -> Result<Self, Failure> {
        let (git, branch) = (source.git(), Self::branch_name(source, name)?);
        if let Some(path) = other_work_tree(source, &branch)? {
            return Err(Failure::because(format!(
                "{branch} is also checked out in {path}, whose files would not be updated; remove \
                 that work tree, or specify another branch with --branch"
            )));
        }
        let found = look_at(&git, &branch)?;
        let mut target = Self::new(source, branch, found);
        target.is_waiting = target.has_waiting_work(&target.found)?;
        if let Some(subject) = target.users_commit()? {
            let (branch, waiting) = (&target.branch, waiting_for(&target.branch));
            return Err(Failure::because(format!(
                "{waiting} is reserved for work that cannot land on {branch} yet, but it has a \
                 commit of yours: {subject}; merge that branch, rename it (`git branch -m \
                 {waiting} NAME`), or specify another target with --branch"
            )));
        }
        Ok(target)
    }

    /// The branch that is meant by a name; that which is checked out, if there is none.
    pub(crate) fn branch_name(source: &Source, name: &str) -> Result<String, Failure> {
        let git = source.git();
        Ok(match name {
            "" => checked_out(&git)
                .and_then(|name| Some(name.strip_prefix("refs/heads/")?.to_owned()))
                .ok_or_else(|| {
                    Failure::usage(
                        "no branch is checked out (HEAD is detached), so work cannot land; check \
                         out a branch, or specify one with --branch",
                    )
                })?,
            name if git.run(&["check-ref-format", "--branch", name]).is_err() => {
                return Err(Failure::usage(format!(
                    "`{name}` is not a valid branch name; specify another with --branch"
                )));
            }
            name => name.to_owned(),
        })
    }

    fn new(source: &Source, branch: String, found: Look) -> Self {
        let source = source.clone();
        Self { source, branch, is_waiting: false, found }
    }

    /// Makes the branch at what is checked out, if it was missing. A branch of ours whose work was
    /// taken is not needed any more.
    pub(crate) fn make(&self) -> Result<(), Failure> {
        let git = self.source.git();
        if let ((Some(old), false), false) = (&self.found.work, self.is_waiting) {
            git.run(&["update-ref", "-d", &self.waiting_name(), old])?;
        }
        if self.is_waiting || self.found.own.0.is_some() {
            return Ok(());
        }
        let Some(head) = resolve(&git, "HEAD")? else { return Ok(()) };
        let made = git.run(&["update-ref", "-m", "ralph: begin", &self.name(), &head, NOTHING]);
        let branch = &self.branch;
        made.map(drop).map_err(|why| Failure::because(format!("cannot create {branch}: {why}")))
    }

    /// Where the work is now: the branch, or the one on which it waits.
    pub(crate) fn current_branch(&self) -> String {
        if self.is_waiting { waiting_for(&self.branch) } else { self.branch.clone() }
    }

    fn name(&self) -> String {
        format!("refs/heads/{}", self.current_branch())
    }

    fn own_name(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    fn waiting_name(&self) -> String {
        format!("refs/heads/{}", waiting_for(&self.branch))
    }

    /// What is on the target and not in the user's files, if anything is.
    pub(crate) fn waiting(&self, look: Look) -> Result<Option<Waiting>, Failure> {
        Waiting::of(&self.source, &self.branch, look)
    }

    /// Looks at it, and whether a person took the work that waits, and perhaps removed its branch.
    pub(crate) fn look_again(&mut self) -> Result<Tip, Failure> {
        let look = self.see()?;
        self.is_waiting = self.has_waiting_work(&look)?;
        self.standing(&look)
    }

    /// The tip of the branch and that of the work that waits, if neither follows from the other.
    pub(crate) fn diverged(&self) -> Result<Option<(String, String)>, Failure> {
        let Look { own: (own, _), work: (work, _) } = self.see()?;
        let (Some(own), Some(work), true) = (own, work, self.is_waiting) else { return Ok(None) };
        let follows = is_ancestor(&self.source.git(), &own, &work)?;
        Ok(if follows { None } else { Some((own, work)) })
    }

    /// Puts work that was rebased in the place of that which waited.
    pub(crate) fn replace_waiting(&self, old: &str, new: &str) -> Result<(), Failure> {
        let message = "ralph: rebase work that waits";
        let name = self.waiting_name();
        self.source.git().run(&["update-ref", "-m", message, &name, new, old])?;
        Ok(())
    }

    /// Looks at the branch, and at what waits.
    pub(crate) fn see(&self) -> Result<Look, GitError> {
        look_at(&self.source.git(), &self.branch)
    }

    /// The commit at its end, if there is one, and whether the project's files are those of the
    /// target, so that they follow it.
    pub(crate) fn look(&self) -> Result<Tip, Failure> {
        self.standing(&self.see()?)
    }

    /// The same as it was seen.
    pub(crate) fn standing(&self, look: &Look) -> Result<Tip, Failure> {
        let git = self.source.git();
        match (&look.own, self.is_waiting) {
            (_, true) => Ok(look.work.clone()),
            // A branch that is about to be made begins where the project is.
            ((None, _), false) => {
                Ok((resolve(&git, "HEAD")?, checked_out(&git) == Some(self.own_name())))
            }
            (own, false) => Ok(own.clone()),
        }
    }

    /// Work from before that waits and is not on the branch yet.
    fn has_waiting_work(&self, look: &Look) -> Result<bool, Failure> {
        let Some(work) = &look.work.0 else { return Ok(false) };
        let Some(tip) = &look.own.0 else { return Ok(true) };
        Ok(!is_ancestor(&self.source.git(), work, tip)?)
    }

    /// The subject of a commit on the branch for work that waits which is not the loop's own.
    fn users_commit(&self) -> Result<Option<String>, Failure> {
        if !self.is_waiting {
            return Ok(None);
        }
        let git = self.source.git();
        let own = self.found.own.0.as_ref().map(|tip| format!("^{tip}"));
        let waiting = self.waiting_name();
        let others = ["log", "-1", "--format=%h %s", "--invert-grep", "--grep=^Ralph-", &waiting];
        let args: Vec<&str> = others.into_iter().chain(own.as_deref()).collect();
        let subject = git.line(&args)?;
        Ok(if subject.is_empty() { None } else { Some(subject) })
    }

    /// Moves the target from `old` to `new`, if it is still there.
    pub(crate) fn advance(
        &mut self,
        old: Option<&str>,
        new: &str,
        files: &[LoopFile],
    ) -> Result<Advance, Failure> {
        if let Some(path) = other_work_tree(&self.source, &self.branch)? {
            return self.wait(new, Cause::Elsewhere(path));
        }
        let git = self.source.git();
        if self.is_waiting
            && let Some(tip) = resolve(&git, &self.own_name())?
            && is_ancestor(&git, &tip, new)?
        {
            // The branch may be free again, and then all that waits lands at once.
            let since = |file: &LoopFile| file.since(text_at(&git, &tip, &file.path));
            let files: Vec<LoopFile> = files.iter().map(since).collect();
            let moved = follow(&self.source, &self.own_name(), Some(&tip), new, &files)?;
            if moved == Advance::Landed {
                self.is_waiting = false;
                git.run(&["update-ref", "-d", &self.waiting_name()])?;
                return Ok(Advance::Landed);
            }
        }
        let name = self.name();
        match follow(&self.source, &name, old, new, files)? {
            Advance::Moved if old.is_some() && resolve(&git, &name)?.is_none() => {
                if !self.is_waiting {
                    return self.wait(new, Cause::Gone);
                }
                // A person took what waited, and the branch itself is the target again.
                self.is_waiting = false;
                Ok(Advance::Moved)
            }
            Advance::Waits(cause) => self.wait(new, cause),
            landed_or_moved => Ok(landed_or_moved),
        }
    }

    /// Puts the work on a branch of ours, from which the run goes on.
    fn wait(&mut self, new: &str, cause: Cause) -> Result<Advance, Failure> {
        let message = "ralph: work that waits";
        self.source.git().run(&["update-ref", "-m", message, &self.waiting_name(), new])?;
        self.is_waiting = true;
        Ok(Advance::Waits(cause))
    }
}
