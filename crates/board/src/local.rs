//! The board of this repository: the target branch for finished work.
//!
//! Work lands on our own branch first, by compare-and-swap; then the user's branch and the
//! project's files follow, and our branch is deleted. So work waits exactly while our branch has
//! commits that the user's lacks, and no other state is needed.

use ralph_base::fault;

use super::cause::{Advance, Cause};
use super::follow::{follow, unmoved};
use super::notes::{Note, move_refs};
use super::refs::{
    Branch, checked_out, full, is_ancestor, look_at, ours_for, resolve, swap, swap_noted,
};
use super::{LoopFile, Waiting};
use ralph_project::failure::Failure;
use work_copy::Source;
use work_copy::git_output::text_at;

/// The current tip of the work.
#[derive(Debug, Clone)]
pub struct Tip {
    /// The last commit; `None` in a repository without commits.
    pub commit: Option<String>,
    /// Whether that branch is checked out in the project.
    pub is_followed: bool,
    /// The short name of the branch with the work: ours while work waits.
    pub branch: String,
}

/// The target branch on which work lands.
#[derive(Debug, Clone)]
pub struct Board {
    source: Source,
    /// The branch's short name.
    pub branch: String,
    /// The short name of our branch for it.
    ours: String,
}

impl Board {
    /// Finds the board for the branch of this name, or for the checked-out one if the name is
    /// empty. [`Board::make`] creates a branch that is missing.
    pub fn find(source: &Source, name: &str) -> Result<Self, Failure> {
        let branch = Self::branch_name(source, name)?;
        let ours = ours_for(&source.git(), &branch)?;
        let board = Self { source: source.clone(), branch, ours };
        let [theirs, ours] = board.branches()?;
        if let Some(path) = theirs.elsewhere() {
            let branch = &board.branch;
            return Err(Failure::because(format!(
                "{branch} is also checked out in {path}, whose files would not be updated; remove \
                 that work tree, or specify another branch with --branch"
            )));
        }
        if board.is_ahead(&theirs, &ours)?
            && let Some(subject) = board.users_commit(&theirs)?
        {
            let Self { branch, ours, .. } = &board;
            return Err(Failure::because(format!(
                "{ours} is reserved for work that cannot land on {branch} yet, but it has a commit \
                 of yours: {subject}; merge that branch, rename it (`git branch -m {ours} NAME`), \
                 or specify another target with --branch"
            )));
        }
        Ok(board)
    }

    /// Resolves a branch name from the user: an empty one means the checked-out branch.
    pub fn branch_name(source: &Source, name: &str) -> Result<String, Failure> {
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

    /// Creates the branch at HEAD if it is missing, and deletes our branch if no work waits there.
    pub fn make(&self) -> Result<(), Failure> {
        let git = self.source.git();
        let [theirs, ours] = self.branches()?;
        if self.is_ahead(&theirs, &ours)? {
            return Ok(());
        }
        self.put_back(&ours, ours.commit.as_deref(), None)?;
        let (None, Some(head)) = (&theirs.commit, resolve(&git, "HEAD")?) else { return Ok(()) };
        let branch = &self.branch;
        swap(&git, branch, None, Some(&head))
            .map_err(|why| Failure::because(format!("cannot create {branch}: {why}")))
    }

    /// Returns the current tip of the work. A branch that does not exist yet starts at HEAD.
    pub fn tip(&self) -> Result<Tip, Failure> {
        let [theirs, ours] = self.branches()?;
        let is_ahead = self.is_ahead(&theirs, &ours)?;
        let (found, name) = if is_ahead { (ours, &self.ours) } else { (theirs, &self.branch) };
        let commit = match found.commit {
            None => resolve(&self.source.git(), "HEAD")?,
            commit => commit,
        };
        Ok(Tip { commit, is_followed: found.is_here, branch: name.clone() })
    }

    /// Returns the work that has landed but is not in the user's files, if any.
    pub fn waiting(&self) -> Result<Option<Waiting>, Failure> {
        Waiting::find(&self.source, &self.branch)
    }

    /// Returns the tips of the user's branch and of the waiting work, if the two have diverged.
    pub fn diverged(&self) -> Result<Option<(String, String)>, Failure> {
        let [theirs, ours] = self.branches()?;
        let is_ahead = self.is_ahead(&theirs, &ours)?;
        let (Some(tip), Some(work), true) = (theirs.commit, ours.commit, is_ahead) else {
            return Ok(None);
        };
        let follows = is_ancestor(&self.source.git(), &tip, &work)?;
        Ok(if follows { None } else { Some((tip, work)) })
    }

    /// Replaces the waiting work with its rebased version, about which there are notes.
    pub fn replace_waiting(&self, old: &str, new: &str, notes: &[Note]) -> Result<(), Failure> {
        Ok(swap_noted(&self.source.git(), &self.ours, (Some(old), Some(new)), notes)?)
    }

    /// Moves the checked-out branch to a commit whose files are already there, and writes the note.
    pub fn land_in_place(&self, new: &str, notes: &[Note]) -> Result<(), Failure> {
        Ok(move_refs(&self.source.git(), &format!("update HEAD {new}\n"), notes)?)
    }

    /// Lands work that was made on top of `old`: on our branch, and then on the user's if that one
    /// can follow. With `waits`, work stays on our branch if the user's branch has moved. The notes are
    /// written with the first move.
    pub fn land(
        &self,
        (old, waits): (Option<&str>, bool),
        new: &str,
        (files, notes): (&[LoopFile], &[Note]),
    ) -> Result<Advance, Failure> {
        let [theirs, ours] = self.branches()?;
        let waited = self.is_ahead(&theirs, &ours)?;
        let tip = if waited { &ours.commit } else { &theirs.commit };
        let is_moved = tip.is_some() && tip.as_deref() != old;
        if is_moved && (waited || !waits) {
            return Ok(Advance::Moved);
        }
        if self.keep(&ours, new, (files, notes))? == Advance::Moved {
            return Ok(Advance::Moved);
        }
        fault::point("land.kept");
        if is_moved {
            return Ok(Advance::Waits(Cause::Diverged));
        }
        let advance = if waited {
            self.follow(files)?
        } else {
            self.bring(&theirs, new, files, old.is_none())?
        };
        if advance == Advance::Moved {
            self.put_back(&ours, Some(new), ours.commit.as_deref())?;
        }
        Ok(advance)
    }

    /// Moves the user's branch to the waiting work, if there is any.
    pub fn follow(&self, files: &[LoopFile]) -> Result<Advance, Failure> {
        let [theirs, ours] = self.branches()?;
        let (Some(new), true) = (&ours.commit, self.is_ahead(&theirs, &ours)?) else {
            return Ok(Advance::Landed);
        };
        let git = self.source.git();
        let tip = theirs.commit.as_deref();
        let since =
            |file: &LoopFile| file.since(tip.and_then(|tip| text_at(&git, tip, &file.path)));
        let files: Vec<LoopFile> = files.iter().map(since).collect();
        let advance = self.bring(&theirs, new, &files, false)?;
        Ok(if advance == Advance::Moved { Advance::Waits(Cause::Diverged) } else { advance })
    }

    fn branches(&self) -> Result<[Branch; 2], Failure> {
        Ok(look_at(&self.source.git(), [&self.branch, &self.ours])?)
    }

    /// Whether our branch has work that the user's branch lacks.
    fn is_ahead(&self, theirs: &Branch, ours: &Branch) -> Result<bool, Failure> {
        Ok(match (&theirs.commit, &ours.commit) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(tip), Some(work)) => !is_ancestor(&self.source.git(), work, tip)?,
        })
    }

    /// Returns the subject of a commit on our branch that is neither the loop's nor in the user's
    /// branch or its reflog: a user may have amended a commit, and git drops old reflog entries.
    fn users_commit(&self, theirs: &Branch) -> Result<Option<String>, Failure> {
        let (git, ours) = (self.source.git(), full(&self.ours));
        let fork = git.line(&["merge-base", "--fork-point", &full(&self.branch), &ours]).ok();
        let known = theirs.commit.iter().cloned().chain(fork.filter(|id| !id.is_empty()));
        let not: Vec<String> = known.map(|id| format!("^{id}")).collect();
        let others = ["log", "-1", "--format=%h %s", "--invert-grep", "--grep=^Ralph-", &ours];
        let args: Vec<&str> = others.into_iter().chain(not.iter().map(String::as_str)).collect();
        let subject = git.line(&args)?;
        Ok(if subject.is_empty() { None } else { Some(subject) })
    }

    /// Moves our branch to the work. The user may have it checked out.
    fn keep(
        &self,
        ours: &Branch,
        new: &str,
        (files, notes): (&[LoopFile], &[Note]),
    ) -> Result<Advance, Failure> {
        let (git, name, old) = (self.source.git(), &self.ours, ours.commit.as_deref());
        let kept = if !ours.work_tree.is_empty() {
            // A note about a commit that does not land in the end says nothing about any branch.
            move_refs(&git, "", notes)?;
            follow(&self.source, name, old, new, files)?
        } else if let Err(error) = swap_noted(&git, name, (old, Some(new)), notes) {
            unmoved(&git, name, old, error)?
        } else {
            Advance::Landed
        };
        let Advance::Waits(cause) = kept else { return Ok(kept) };
        let why = cause.why(name);
        Err(Failure::because(format!(
            "work cannot land on {name}: {why}; switch to another branch"
        )))
    }

    /// Moves the user's branch to `new`, which is on our branch, and deletes our branch.
    fn bring(
        &self,
        theirs: &Branch,
        new: &str,
        files: &[LoopFile],
        is_first: bool,
    ) -> Result<Advance, Failure> {
        let git = self.source.git();
        match &theirs.commit {
            None if !theirs.is_here && !is_first => return Ok(Advance::Waits(Cause::Gone)),
            Some(tip) if !is_ancestor(&git, tip, new)? => return Ok(Advance::Moved),
            _ => {}
        }
        let old = theirs.commit.as_deref();
        let followed = follow(&self.source, &self.branch, old, new, files)?;
        if followed == Advance::Landed {
            let [_, ours] = self.branches()?;
            self.put_back(&ours, Some(new), None)?;
        }
        Ok(followed)
    }

    /// Moves our branch back to `to`, or deletes it. A checked-out branch is left alone.
    fn put_back(&self, ours: &Branch, from: Option<&str>, to: Option<&str>) -> Result<(), Failure> {
        if from.is_some() && ours.work_tree.is_empty() {
            swap(&self.source.git(), &self.ours, from, to)?;
        }
        Ok(())
    }
}
