//! What is kept is kept within bounds: attempts at stories that are done, logs and session folders.
//! The oldest go first; nothing that needs a person is dropped.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::SystemTime;

use camino::Utf8Path;
use ralph_core::git::Git;
use ralph_core::state::StateDir;

use crate::exit::Failure;
use crate::saved;

/// What would be removed.
#[derive(Debug, Default)]
pub(crate) struct Surplus {
    /// Refs of attempts.
    pub(crate) attempts: Vec<String>,
    /// Logs and session folders.
    pub(crate) files: Vec<PathBuf>,
}

/// Removes it.
pub(crate) fn remove(git: &Git, surplus: &Surplus) -> Result<(), Failure> {
    if !surplus.attempts.is_empty() {
        let lines: String =
            surplus.attempts.iter().map(|name| format!("delete {name}\n")).collect();
        git.feed(&["update-ref", "--stdin"], lines.as_bytes())?;
    }
    for path in &surplus.files {
        let removed =
            if path.is_dir() { fs_err::remove_dir_all(path) } else { fs_err::remove_file(path) };
        if let Err(error) = removed {
            log::warn!("{}: {error}", path.display());
        }
    }
    Ok(())
}

/// What is beyond `keep` attempts at finished stories, `keep` logs and `keep` session folders.
pub(crate) fn surplus(git: &Git, state: &StateDir, keep: u64) -> Result<Surplus, Failure> {
    let keep = usize::try_from(keep).unwrap_or(usize::MAX);
    let all = saved::all(git, None)?;
    let done: BTreeSet<&str> = all
        .iter()
        .filter(|attempt| attempt.outcome.is_none())
        .map(|attempt| attempt.story.as_str())
        .collect();
    let of_done = all.iter().filter(|attempt| done.contains(attempt.story.as_str()));
    let attempts =
        of_done.skip(keep).map(|attempt| saved::name_of(&attempt.story, attempt.number)).collect();
    let mut files = oldest(&state.logs(), keep);
    files.extend(oldest(&state.sessions(), keep).into_iter().filter(|path| path.is_dir()));
    Ok(Surplus { attempts, files })
}

/// The entries of a folder but for the newest.
fn oldest(folder: &Utf8Path, keep: usize) -> Vec<PathBuf> {
    let entries = fs_err::read_dir(folder).into_iter().flatten().flatten();
    let mut dated: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    dated.sort();
    let surplus = dated.len().saturating_sub(keep);
    dated.into_iter().take(surplus).map(|(_, path)| path).collect()
}
