//! `outside-copy`: the agent works in a copy of the project, and the project itself is the user's.
//!
//! Edits are held to the copy and the temp folder. Of commands only those are refused that write
//! into the project or change its repository: what programs write elsewhere is often a cache.

use camino::{Utf8Path, Utf8PathBuf};

use super::act::Act;
use super::edit::Edit;
use super::paths::{self, Place};
use super::writes;
use crate::shell::Word;

/// The name of the rule, which edits share with commands.
pub(super) const NAME: &str = "outside-copy";

/// Why it exists; goes into the answer.
pub(super) const REASON: &str = "you work in a copy of the project; the project is the user's";

/// Which folder stands for which: the top of the copy for that of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyOf {
    /// The top of the copy's repository.
    pub top: Utf8PathBuf,
    /// The top of the project's repository, by each name that it has.
    pub project: Vec<Utf8PathBuf>,
    /// The project's folder, relative to its top; empty if it is the top.
    pub below: Utf8PathBuf,
}

impl CopyOf {
    /// The path in the copy that stands for one in the project; none if it does not lie there. The
    /// copy may itself lie in the project's folder.
    pub fn counterpart(&self, path: &Utf8Path) -> Option<Utf8PathBuf> {
        if path.starts_with(&self.top) {
            return None;
        }
        let inside = self.project.iter().find_map(|top| path.strip_prefix(top).ok())?;
        Some(joined(&self.top, inside))
    }

    /// The project's own folder, by its first name.
    pub(super) fn project_root(&self) -> Option<Utf8PathBuf> {
        self.project.first().map(|top| joined(top, &self.below))
    }

    /// The folders whose state, settings and history are not the agent's to write.
    pub(super) fn guarded(&self) -> impl Iterator<Item = Utf8PathBuf> {
        let tops = self.project.iter().chain([&self.top]);
        tops.flat_map(|top| [top.clone(), joined(top, &self.below)])
    }
}

/// Without the slash at the end that joining nothing would leave.
fn joined(folder: &Utf8Path, below: &Utf8Path) -> Utf8PathBuf {
    folder.components().chain(below.components()).collect()
}

/// What to do instead of an edit outside of the copy; none if the edit is fine.
pub(super) fn instead_of_edit(edit: &Edit) -> Option<String> {
    let copy = edit.copy.as_ref()?;
    if let Some(right) = copy.counterpart(&edit.path) {
        return Some(format!("edit {right}"));
    }
    let is_temporary = edit.path.starts_with(&edit.temp) && edit.temp != "";
    let is_fine = edit.path.starts_with(&copy.top) || is_temporary;
    (!is_fine).then(|| format!("write below {} or in the temp folder", copy.top))
}

/// Whether a command writes into the project or changes its repository.
pub(super) fn forbids(act: &Act) -> bool {
    right_place(act).is_some()
}

/// Where to do it instead.
pub(super) fn instead(act: &Act) -> String {
    let place = right_place(act).unwrap_or_else(|| act.facts.root.clone());
    format!("do it in the copy, at {place}")
}

/// What stands in the copy for the first place in the project that a command would change.
fn right_place(act: &Act) -> Option<Utf8PathBuf> {
    let copy = act.facts.copy.as_ref().filter(|_| !act.is_elsewhere())?;
    let written = writes::touched(act.command);
    let written = written.iter().filter_map(|word| match act.place(word) {
        Place::At(path) | Place::In { folder: path, .. } => Some(path),
        Place::Unknown => None,
    });
    let written = written.filter(|path| !paths::is_own(path, act.facts));
    let changed_by_git = git_places(act).into_iter();
    written.chain(changed_by_git).find_map(|path| copy.counterpart(path.as_str().into()))
}

/// The work tree and the git folder that a call of git changes, as far as the line tells.
fn git_places(act: &Act) -> Vec<String> {
    let Some(git) = act.git.as_ref().filter(|git| !git.only_looks()) else { return Vec::new() };
    let here = [Word::from(".")];
    let words = git.repository.iter().chain(&here);
    let places = words.map(|word| paths::place(word, git.directory.as_ref(), act.facts));
    let known = places.filter_map(|place| match place {
        Place::At(path) => Some(path),
        _ => None,
    });
    known.collect()
}
