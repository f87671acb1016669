//! The outcome of a landing, and why work waits.

use std::path::PathBuf;

use ralph_base::listing::named_files;

use run_history::words::printable;

/// The outcome of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advance {
    /// The work is on the user's branch, and in the user's files if that is checked out.
    Landed,
    /// Another process moved the branch first; nothing landed.
    Moved,
    /// The work has landed on our branch, but the user's branch cannot follow yet.
    Waits(Cause),
}

/// Why work is not in the user's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The user's uncommitted changes in these files would be overwritten.
    InTheWay(Vec<PathBuf>),
    /// Another process holds this lock file of git.
    Locked(PathBuf),
    /// A git operation of several steps, such as a rebase, is in progress on the branch.
    Busy(&'static str),
    /// The branch has commits that the work does not build on.
    Diverged,
    /// The branch no longer exists.
    Gone,
    /// The system does not allow this path to be written, for this reason.
    Refused(PathBuf, &'static str),
    /// A landing was interrupted, and has not been undone yet.
    Interrupted,
    /// Git could not write the files or move the branch, with this output.
    Failed(String),
    /// The branch is checked out in another work tree, at this path.
    Elsewhere(String),
    /// The project is on another branch.
    NotCheckedOut,
    /// The cause no longer exists.
    Nothing,
}

impl Cause {
    /// Whether no story can land until the user intervenes.
    pub fn ends_run(&self) -> bool {
        *self == Self::Gone
    }

    /// Returns why the work for `target` waits.
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

    /// Returns how the user can get the work for `target` from `branch`.
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
