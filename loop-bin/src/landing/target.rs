//! The branch on which the work lands.
//!
//! Where the project's checkout cannot follow, because that would overwrite uncommitted work, the
//! work waits on a branch of ours, and the run goes on from there.

use camino::Utf8Path;
use ralph_core::git::{Git, GitError};

use super::follow::{self, Followed};
use super::loop_files::LoopFile;
use super::waiting::{Cause, Waiting};
use crate::exit::Failure;
use crate::git_output::text_at;
use crate::workspace::Source;

/// The branch on which work waits that the project's checkout cannot follow to.
pub(super) fn waiting_for(branch: &str) -> String {
    format!("ralph/{branch}")
}

/// Git's word for a ref that is not to be there.
const NOTHING: &str = "";

/// What became of an attempt to move the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Advance {
    /// The work is on the target; the project's files followed, if it is checked out there.
    Landed,
    /// Another process moved the target first.
    Moved,
    /// The work is on a branch of ours.
    Waits(Cause),
}

/// The branch on which the work lands.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    source: Source,
    branch: String,
    is_waiting: bool,
}

impl Target {
    /// The branch of this name, or the one that is checked out. A missing one is made by
    /// [`Target::make`].
    pub(crate) fn find(source: &Source, name: &str) -> Result<Self, Failure> {
        let branch = match name {
            "" => checked_out(&source.git())
                .and_then(|name| Some(name.strip_prefix("refs/heads/")?.to_owned()))
                .ok_or_else(|| {
                    Failure::usage(
                        "no branch is checked out (HEAD is detached), so there is none to land on; \
                         check one out, or name one with --branch",
                    )
                })?,
            name => name.to_owned(),
        };
        if source.git().run(&["check-ref-format", "--branch", &branch]).is_err() {
            return Err(Failure::usage(format!(
                "`{branch}` cannot be the name of a branch; give another one with --branch"
            )));
        }
        if let Some(path) = other_work_tree(source, &branch)? {
            return Err(Failure::because(format!(
                "{branch} is checked out in {path} as well, where its files would not follow; \
                 remove that work tree, or name another branch with --branch"
            )));
        }
        let mut target = Self { source: source.clone(), branch, is_waiting: false };
        target.is_waiting = target.has_waiting_work()?;
        Ok(target)
    }

    /// Makes the branch at what is checked out, if it is missing. A branch of ours whose work was
    /// taken is not needed any more.
    pub(crate) fn make(&self) -> Result<(), Failure> {
        let git = self.source.git();
        let waiting = self.waiting_name();
        let is_taken = !self.is_waiting && checked_out(&git).as_ref() != Some(&waiting);
        if let (Some(old), true) = (resolve(&git, &waiting)?, is_taken) {
            git.run(&["update-ref", "-d", &waiting, &old])?;
        }
        if resolve(&git, &self.name())?.is_some() {
            return Ok(());
        }
        let Some(head) = resolve(&git, "HEAD")? else { return Ok(()) };
        let made = git.run(&["update-ref", "-m", "ralph: begin", &self.name(), &head, NOTHING]);
        let branch = &self.branch;
        made.map(drop).map_err(|why| Failure::because(format!("{branch} cannot be made: {why}")))
    }

    /// The branch's name as people write it.
    pub(crate) fn branch(&self) -> &str {
        &self.branch
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

    /// Whether work waits that the project's checkout did not follow to.
    pub(crate) fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// What is on the target and not in the user's files, if anything is.
    pub(crate) fn waiting(&self) -> Result<Option<Waiting>, Failure> {
        Waiting::find(&self.source, &self.branch)
    }

    /// Looks whether a person took the work that waits, and perhaps removed its branch.
    pub(crate) fn look_again(&mut self) -> Result<(), Failure> {
        self.is_waiting = self.is_waiting && self.has_waiting_work()?;
        Ok(())
    }

    /// The tip of the branch and that of the work that waits, if neither follows from the other.
    pub(crate) fn diverged(&self) -> Result<Option<(String, String)>, Failure> {
        let git = self.source.git();
        let own = resolve(&git, &self.own_name())?;
        let work = resolve(&git, &self.waiting_name())?;
        let (Some(own), Some(work), true) = (own, work, self.is_waiting) else { return Ok(None) };
        let follows = is_ancestor(&git, &own, &work)?;
        Ok(if follows { None } else { Some((own, work)) })
    }

    /// Puts work that was rebased in the place of that which waited.
    pub(crate) fn replace_waiting(&self, old: &str, new: &str) -> Result<(), Failure> {
        let message = "ralph: rebase work that waits";
        let name = self.waiting_name();
        self.source.git().run(&["update-ref", "-m", message, &name, new, old])?;
        Ok(())
    }

    /// The commit at its end; none in a repository without commits.
    pub(crate) fn tip(&self) -> Result<Option<String>, Failure> {
        Ok(self.look()?.0)
    }

    /// The commit at its end, and whether the project's files are those of the target, so that they
    /// follow it.
    pub(crate) fn look(&self) -> Result<(Option<String>, bool), Failure> {
        let git = self.source.git();
        match look_at(&git, &self.name())? {
            // A branch that is about to be made begins where the project is.
            (None, is_followed) if !self.is_waiting => Ok((resolve(&git, "HEAD")?, is_followed)),
            found => Ok(found),
        }
    }

    /// Whether the branch itself is there.
    pub(crate) fn exists(&self) -> Result<bool, Failure> {
        Ok(resolve(&self.source.git(), &self.name())?.is_some())
    }

    /// Whether the project's files are those of the target, so that they follow it.
    pub(crate) fn is_followed(&self) -> bool {
        self.look().is_ok_and(|(_, is_followed)| is_followed)
    }

    /// Work from before that waits and is not on the branch yet.
    fn has_waiting_work(&self) -> Result<bool, Failure> {
        let git = self.source.git();
        let Some(waiting) = resolve(&git, &self.waiting_name())? else { return Ok(false) };
        let Some(tip) = resolve(&git, &self.own_name())? else { return Ok(true) };
        Ok(!is_ancestor(&git, &waiting, &tip)?)
    }

    /// Moves the target from `old` to `new`, if it is still there.
    pub(crate) fn advance(
        &mut self,
        old: Option<&str>,
        new: &str,
        files: &[LoopFile],
    ) -> Result<Advance, Failure> {
        if self.source.shared.join("worktrees").is_dir()
            && let Some(path) = other_work_tree(&self.source, &self.branch)?
        {
            return self.wait(new, Cause::Elsewhere(path));
        }
        if self.is_waiting && self.can_return(new)? {
            // The branch may be free again, and then all that waits lands at once.
            let git = self.source.git();
            let branch = self.own_name();
            let tip = resolve(&git, &branch)?;
            let text = |file: &LoopFile| text_at(&git, tip.as_deref()?, &file.path);
            let files: Vec<LoopFile> = files.iter().map(|file| file.since(text(file))).collect();
            let moved = follow::follow(&self.source, &branch, tip.as_deref(), new, &files)?;
            if moved == Followed::Yes {
                self.is_waiting = false;
                git.run(&["update-ref", "-d", &self.waiting_name()])?;
                return Ok(Advance::Landed);
            }
        }
        let name = self.name();
        match follow::follow(&self.source, &name, old, new, files)? {
            Followed::Yes => Ok(Advance::Landed),
            Followed::Moved if old.is_none() || self.exists()? => Ok(Advance::Moved),
            Followed::Moved if self.is_waiting => {
                // A person took what waited, and the branch itself is the target again.
                self.is_waiting = false;
                Ok(Advance::Moved)
            }
            Followed::Moved => self.wait(new, Cause::Gone),
            Followed::No(cause) => self.wait(new, cause),
        }
    }

    /// Whether the branch could simply be moved on to a commit on top of what waits.
    fn can_return(&self, new: &str) -> Result<bool, Failure> {
        let git = self.source.git();
        match resolve(&git, &self.own_name())? {
            Some(tip) => Ok(is_ancestor(&git, &tip, new)?),
            None => Ok(false),
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
        if line == wanted && !is_same_folder(Utf8Path::new(path), &source.top) {
            return Ok(Some(path.to_owned()));
        }
    }
    Ok(None)
}

fn is_same_folder(one: &Utf8Path, other: &Utf8Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|o| o == one))
}

/// The full name of the branch that is checked out; none if HEAD is detached.
fn checked_out(git: &Git) -> Option<String> {
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
