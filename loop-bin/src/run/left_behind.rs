//! Files of an interrupted run that belong to another branch than the one that is checked out by
//! now: they are not put into this one. Told with the way to them; what no commit holds of them is
//! copied to where nothing is committed.

use camino::{Utf8Path, Utf8PathBuf};
use ralph_core::git::Repo;
use ralph_core::settle::{self, Attempt, named_files};
use ralph_core::state::{self, StateDir};

use crate::exit::Failure;
use crate::terminal::View;

/// Tells of these files, given with the content that they had.
pub(super) fn tell(
    repo: &Repo,
    attempt: &Attempt,
    files: &[(&Utf8Path, &[u8])],
    state: &StateDir,
    view: &View,
) -> Result<(), Failure> {
    let paths: Vec<_> = files.iter().map(|(path, _)| path.as_std_path().to_owned()).collect();
    let back = match (&attempt.branch, &attempt.head) {
        (Some(branch), _) => format!("git switch {branch}"),
        (None, head) => format!("git switch --detach {}", head.clone().unwrap_or_default()),
    };
    let paths = named_files(&paths);
    view.warn(format!(
        "a run was interrupted on another branch; this one does not have {paths}, and it is not put \
         into it: `{back}` goes back to it"
    ));
    for (path, content) in files {
        if let Some(copy) = copied(repo, attempt, path, content, state)? {
            view.warn(format!("what was not committed of {path} is kept as {copy}"));
        }
    }
    Ok(())
}

/// The copy of a file that was not as its commit has it. To make it again at the next start changes
/// nothing.
fn copied(
    repo: &Repo,
    attempt: &Attempt,
    path: &Utf8Path,
    content: &[u8],
    state: &StateDir,
) -> Result<Option<Utf8PathBuf>, Failure> {
    let head = attempt.head.as_deref().unwrap_or_default();
    if settle::committed(repo, head, path)?.as_deref() == Some(content) {
        return Ok(None);
    }
    let name = path.file_name().unwrap_or_default();
    let copy = state.logs().join(format!("left-by-{}-{name}", attempt.run));
    state::replace(&copy, content)?;
    Ok(Some(copy))
}
