//! `outside-copy`: the agent works in a copy of the project, and the project itself is the user's.
//!
//! Edits must be in the copy or the temp folder. Commands are refused only if they write into the
//! project or change its repository, because programs often write caches elsewhere.

use camino::{Utf8Path, Utf8PathBuf};

use super::act::Act;
use super::facts::Facts;
use super::paths::{self, Location};
use super::protected;
use shell_reader::Word;

/// The name of the rule, shared by edits and commands.
pub(super) const NAME: &str = "outside-copy";

/// Returns what to do instead of an edit outside of the copy; `None` if the edit is allowed.
pub(super) fn instead_of_edit(path: &Utf8Path, facts: &Facts) -> Option<String> {
    let copy = facts.copy.as_ref().filter(|_| !protected::is_own(path, facts))?;
    if let Some(right) = copy.counterpart(path) {
        return Some(format!("edit {right}"));
    }
    let is_temporary = path.starts_with(&facts.temp) && facts.temp != "";
    let is_fine = path.starts_with(&copy.top) || is_temporary;
    (!is_fine).then(|| format!("write below {} or in the temp folder", copy.top))
}

/// Returns what to do instead of a command that writes into the project or changes its repository:
/// the same at the path in the copy that corresponds to the first one in the project.
pub(super) fn instead_of_command(act: &Act) -> Option<String> {
    let copy = act.facts.copy.as_ref()?;
    let written = act.touched.iter().filter_map(|word| act.place(word).known());
    let written = written.filter(|path| !protected::is_own(path, act.facts));
    let right = written.chain(git_places(act)).find_map(|path| copy.counterpart(&path))?;
    Some(format!("do it in the copy, at {right}"))
}

/// Returns the work tree and the git folder that a git call changes, as far as the line shows.
fn git_places(act: &Act) -> Vec<Utf8PathBuf> {
    let Some(git) = act.git.as_ref().filter(|git| !git.only_looks()) else { return Vec::new() };
    let here = [Word::from(".")];
    let words = git.repository.iter().chain(&here);
    let places = words.map(|word| paths::place(word, git.directory.as_ref(), act.facts));
    let known = places.filter_map(|place| match place {
        Location::At(path) => Some(path),
        _ => None,
    });
    known.collect()
}
