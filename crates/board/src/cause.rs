//! What became of a landing, and why work waits.

use std::path::PathBuf;

use ralph_base::listing::named_files;

use run_history::words::printable;

/// What became of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advance {
    /// The work is on the user's branch, and in the user's files if that is checked out.
    Landed,
    /// Another process moved the branch first; nothing landed.
    Moved,
    /// The work has landed, on a branch of ours that the user's cannot follow yet.
    Waits(Cause),
}

/// Why work is not in the user's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// Files of the user's would be overwritten.
    InTheWay(Vec<PathBuf>),
    /// Another process holds a lock of git's.
    Locked(PathBuf),
    /// A git command of several steps, such as a rebase, is working on the branch.
    Busy(&'static str),
    /// The branch has commits that the work does not build on.
    Diverged,
    /// The branch is not there any more.
    Gone,
    /// The system does not let this be written, for this reason.
    Refused(PathBuf, &'static str),
    /// A landing was interrupted, and has not been undone yet.
    Interrupted,
    /// Git could not write the files or move the branch, with these words.
    Failed(String),
    /// Another work tree has the branch.
    Elsewhere(String),
    /// The project is on another branch.
    NotCheckedOut,
    /// Whatever it was, it is over.
    Nothing,
}

impl Cause {
    /// Whether no story can land until a person has seen to it.
    pub fn ends_run(&self) -> bool {
        *self == Self::Gone
    }

    /// Why the work for `target` waits.
    pub fn why(&self, target: &str) -> String {
        match self {
            Self::InTheWay(files) => {
                format!("landing would overwrite your uncommitted {}", named_files(files))
            }
            Self::Locked(path) => format!("another process holds {}", path.display()),
            Self::Busy(what) => format!("{what} is in progress on {target}"),
            Self::Diverged => format!("{target} has moved on"),
            Self::Gone => format!("{target} no longer exists (deleted or renamed)"),
            Self::Refused(path, why) => format!("{} cannot be written ({why})", path.display()),
            Self::Interrupted => "a landing was interrupted".to_owned(),
            Self::Failed(said) => format!("{target} cannot be updated ({})", printable(said)),
            Self::Elsewhere(path) => format!("{target} is checked out in {path}"),
            Self::NotCheckedOut => format!("{target} is not checked out"),
            Self::Nothing => "nothing is in the way now".to_owned(),
        }
    }

    /// How the user takes the work for `target` from the branch on which it is.
    pub fn way_on(&self, target: &str, branch: &str) -> String {
        let merge = format!("`git merge --ff-only {branch}`");
        match self {
            Self::InTheWay(_) => {
                format!("stash or move it, then run {merge}; or commit it, then run `ralph-loop`")
            }
            Self::Locked(_) => {
                format!("wait for it, or delete the file if git is not running; then run {merge}")
            }
            Self::Busy(_) => format!("finish or abort it, then run {merge}"),
            Self::Diverged => format!(
                "run `ralph-loop` to rebase the work and check it again, or `git merge {branch}` \
                 to merge it unchecked"
            ),
            Self::Gone => format!(
                "run `git branch {target} {branch}` to create it again, or `git merge {branch}` on \
                 the branch that replaced it"
            ),
            Self::Refused(..) => format!("make it writable, then run {merge} or `ralph-loop`"),
            Self::Interrupted => "run `ralph-loop` to finish it".to_owned(),
            Self::Failed(_) => format!("fix this, then run {merge}"),
            Self::Elsewhere(_) => format!("run {merge} in that folder"),
            Self::NotCheckedOut => format!("run `git switch {target}`, then {merge}"),
            Self::Nothing => format!("run {merge}, or let the next run do it"),
        }
    }
}
