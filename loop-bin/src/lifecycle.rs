//! Lifecycle scripts: where they are, and which of them can be run. What the loop does with them is
//! `run/scripts.rs`.
//!
//! Programs in the folder `custom` beside them are the user's own: a script calls them by name, the loop
//! never does.

use camino::{Utf8Path, Utf8PathBuf};
use client::is_executable;
use ralph_base::state::{FOREIGN_LIFECYCLE_DIR, StateDir};

/// The scripts that the loop runs.
const NAMES: [&str; 4] = ["started", "next_iteration", "post_iteration", "finished"];

/// The scripts of a project that are there and cannot be run.
pub(crate) fn not_executable(state: &StateDir, root: &Utf8Path) -> Vec<Utf8PathBuf> {
    let mut paths: Vec<Utf8PathBuf> =
        NAMES.iter().map(|name| folder(state, root).join(name)).collect();
    paths.retain(|path| path.is_file() && !is_executable(path));
    paths
}

/// Where the scripts are.
pub(crate) fn folder(state: &StateDir, root: &Utf8Path) -> Utf8PathBuf {
    let (own, foreign) = (state.lifecycle(), root.join(FOREIGN_LIFECYCLE_DIR));
    if !own.is_dir() && foreign.is_dir() { foreign } else { own }
}
