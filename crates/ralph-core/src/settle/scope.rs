//! Files that an attempt changed outside of the story's scope. The guard forbids the edits one by
//! one; here they are found whichever way they were made, by an agent without hooks for instance.

use std::path::PathBuf;

use camino::Utf8PathBuf;

use super::attempt::Attempt;
use super::named_files::first_few;
use super::procedure::{Place, SettleError};
use crate::guard::{Edit, out_of_scope};
use crate::state::{Event, Id};
use crate::surroundings::scope_of;

/// The rule, as users know and switch it.
const RULE: &str = "scope";

/// How many files a refusal names.
const NAMED: usize = 10;

/// Why these files, named from the top of the work tree, cannot become the story's commit; none if
/// they can.
pub(super) fn refusal(
    place: &Place<'_>,
    attempt: &Attempt,
    files: &[PathBuf],
) -> Result<Option<String>, SettleError> {
    let scope = scope_of(Id::parse(&attempt.story).ok().as_ref(), place.config);
    if scope.is_empty() || !place.config.guard.in_force(RULE, true) {
        return Ok(None);
    }
    // No glob of the user's can mean a name that is no text.
    let path = |file: &PathBuf| {
        Utf8PathBuf::from(place.repo.top().join(file).to_string_lossy().into_owned())
    };
    let root = place.root.canonicalize_utf8().unwrap_or_else(|_| place.root.to_owned());
    let edit = Edit { root, scope, ..Edit::default() };
    let outside = out_of_scope(files.iter().map(path).collect(), &edit);
    if outside.is_empty() {
        return Ok(None);
    }
    let short = |path: &Utf8PathBuf| path.strip_prefix(&edit.root).unwrap_or(path).to_string();
    let target = first_few(outside.iter().map(short), NAMED);
    let (rule, tool) = (RULE.to_owned(), "commit".to_owned());
    place.journal.append(&Event::Denied { rule, tool, target: target.clone() })?;
    Ok(Some(format!(
        "the story may only touch {}, but changed are also {target}; leave these as they were, and \
         say in your summary what else is needed",
        edit.scope.join(", ")
    )))
}
