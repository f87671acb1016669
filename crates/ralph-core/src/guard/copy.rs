//! `outside-copy`: the agent works in a copy of the project, and the project itself is the user's.
//!
//! Edits are held to the copy and the temp folder. Of commands only those are refused that write
//! into the project or change its repository: what programs write elsewhere is often a cache.

use camino::{Utf8Path, Utf8PathBuf};

use super::act::Act;
use super::facts::Facts;
use super::paths::{self, Place};
use super::protected;
use shell_reader::Word;

/// The name of the rule, which edits share with commands.
pub(super) const NAME: &str = "outside-copy";

/// What to do instead of an edit outside of the copy; none if the edit is fine.
pub(super) fn instead_of_edit(path: &Utf8Path, facts: &Facts) -> Option<String> {
    let copy = facts.copy.as_ref().filter(|_| !protected::is_own(path, facts))?;
    if let Some(right) = copy.counterpart(path) {
        return Some(format!("edit {right}"));
    }
    let is_temporary = path.starts_with(&facts.temp) && facts.temp != "";
    let is_fine = path.starts_with(&copy.top) || is_temporary;
    (!is_fine).then(|| format!("write below {} or in the temp folder", copy.top))
}

/// What to do instead of a command that writes into the project or changes its repository: the same
/// at the place that stands in the copy for the first one in the project.
pub(super) fn instead_of_command(act: &Act) -> Option<String> {
    let copy = act.facts.copy.as_ref()?;
    let written = act.touched.iter().filter_map(|word| act.place(word).known());
    let written = written.filter(|path| !protected::is_own(path, act.facts));
    let right = written.chain(git_places(act)).find_map(|path| copy.counterpart(&path))?;
    Some(format!("do it in the copy, at {right}"))
}

/// The work tree and the git folder that a call of git changes, as far as the line tells.
fn git_places(act: &Act) -> Vec<Utf8PathBuf> {
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
