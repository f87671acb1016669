//! Repositories that were moved out of the tree as they are, and are kept in the git folder.
//!
//! Below `ralph-nested/<snapshot>/` the folder `tree` holds their work trees, and `git` the git
//! folders of those that had theirs among git's own modules.

use std::io;
use std::path::{Path, PathBuf};

use crate::git::repo::{Repo, git_dir_of};
use crate::state::NESTED_DIR;

/// What is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::git) enum Part {
    /// The work tree, and its git folder if that is one of git's modules.
    All,
    /// The work tree.
    Tree,
}

/// Moves the repository at `path` out of the tree; the snapshot `name` knows that it was there.
pub(in crate::git) fn keep(repo: &Repo, name: &str, path: &str, part: Part) -> io::Result<()> {
    let full = repo.top().join(path);
    let git_dir = git_dir_of(&full);
    rename(&full, &kept(repo, name, "tree", path))?;
    // A module that stays would be in the way of the next attempt to add it.
    let modules = repo.git_dir().join("modules");
    match git_dir.filter(|git_dir| git_dir.starts_with(&modules)) {
        Some(git_dir) if part == Part::All => rename(&git_dir, &kept(repo, name, "git", path))?,
        _ => {}
    }
    for parent in Path::new(path).ancestors().skip(1).filter(|parent| parent.parent().is_some()) {
        if fs_err::remove_dir(repo.top().join(parent)).is_err() {
            break;
        }
    }
    Ok(())
}

/// Moves it back; false if it is not kept any more, or something else is in its place.
pub(in crate::git) fn put_back(repo: &Repo, name: &str, path: &str) -> io::Result<bool> {
    let full = repo.top().join(path);
    let tree = kept(repo, name, "tree", path);
    if !tree.exists() || full.symlink_metadata().is_ok() {
        return Ok(false);
    }
    rename(&tree, &full)?;
    let git_dir = kept(repo, name, "git", path);
    if let Some(place) = git_dir_of(&full).filter(|place| git_dir.exists() && !place.exists()) {
        rename(&git_dir, &place)?;
    }
    Ok(true)
}

fn kept(repo: &Repo, name: &str, part: &str, path: &str) -> PathBuf {
    let name = name.trim_start_matches("refs/ralph/");
    repo.git_dir().join(NESTED_DIR).join(name).join(part).join(path)
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    to.parent().map_or(Ok(()), fs_err::create_dir_all)?;
    fs_err::rename(from, to)
}
