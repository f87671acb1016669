//! Limits how many finished attempts, checkpoints, logs and session folders are kept.
//! The oldest are removed first; nothing that needs a person is removed.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::SystemTime;

use camino::Utf8Path;
use ralph_base::state::{self, OnTheWay, StateDir, StoryKey, beneath};
use ralph_core::git::Git;

use crate::exit::Failure;
use crate::saved;

/// Checkpoint snapshots, which only in-place attempts leave in the project.
const CHECKPOINTS: &str = "refs/ralph/checkpoint/";

/// How many of each kind are kept.
const KEPT: usize = 100;

/// Removes, or with a dry run counts, the oldest attempts at finished stories, logs and session folders.
pub(crate) fn prune(
    git: &Git,
    state: &StateDir,
    only_count: bool,
) -> Result<(usize, usize), Failure> {
    let mut attempts = saved::all(git)?;
    let landed = attempts.iter().filter(|attempt| attempt.outcome.is_none());
    let done: BTreeSet<StoryKey> = landed.map(|attempt| attempt.key.clone()).collect();
    attempts.retain(|attempt| done.contains(&attempt.key));
    let surplus = attempts.iter().skip(KEPT);
    let attempts: Vec<String> =
        surplus.map(|attempt| format!("delete {} {}\n", attempt.name, attempt.commit)).collect();
    let newest_first = ["for-each-ref", "--sort=-refname", "--format=delete %(refname)"];
    let checkpoints = git.line(&[&newest_first[..], &[CHECKPOINTS]].concat())?;
    let checkpoints = checkpoints.lines().skip(KEPT).map(|line| format!("{line}\n"));
    let mut files = oldest(&state.logs());
    let sessions = oldest(&state.sessions()).into_iter();
    let is_folder = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_dir());
    files.extend(sessions.filter(is_folder));
    let counts = (attempts.len(), files.len());
    if only_count {
        return Ok(counts);
    }
    let refs: String = attempts.into_iter().chain(checkpoints).collect();
    if !refs.is_empty() {
        git.feed(&["update-ref", "--stdin"], refs.as_bytes())?;
    }
    for path in files {
        let (top, below) = (state.root().as_std_path(), path.strip_prefix(state.root()));
        let below = below.unwrap_or(&path);
        if let Err(error) = beneath(top, below, OnTheWay::Expect, work_copy::remove_all) {
            log::warn!("{}: {error}", path.display());
        }
    }
    Ok(counts)
}

/// The entries of a folder except the newest.
fn oldest(folder: &Utf8Path) -> Vec<PathBuf> {
    let paths = state::names(folder).into_iter().map(|name| folder.as_std_path().join(name));
    let modified = |path: &PathBuf| path.symlink_metadata().and_then(|found| found.modified());
    let mut dated: Vec<(SystemTime, PathBuf)> =
        paths.filter_map(|path| Some((modified(&path).ok()?, path))).collect();
    dated.sort();
    let surplus = dated.len().saturating_sub(KEPT);
    dated.into_iter().take(surplus).map(|(_, path)| path).collect()
}
