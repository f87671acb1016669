//! What checks would see although the commit of a story does not contain it: files that its own
//! ignore rules hide, other line endings than a checkout has, and what is behind links.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ralph_base::state::{OnTheWay, beneath};
use ralph_core::git::Git;
use ralph_project::failure::Failure;

use super::git_output::{base_of, listed, paths};
use super::remove::remove_all;
use super::{Staged, Start, Workspace};

/// The files with ignore rules.
const IGNORE: &str = ".gitignore";

/// Folders into which package managers install what lock files name. Without them no check of a new
/// project would run, so they stay.
const INSTALLED: &str = "\
    .bundle .gradle .tox .venv Pods _build bower_components deps node_modules target vendor venv";

/// Files that the story's own ignore rules keep out of its commit.
#[derive(Debug, Default)]
pub struct LeftOut {
    /// Those that are out of the way of the checks, by their places in the folder for them.
    pub aside: Vec<PathBuf>,
    /// Folders of those that stay.
    pub stay: BTreeSet<PathBuf>,
}

impl Workspace {
    /// Moves files out of the way that git ignores only since the story changed its rules.
    pub fn put_aside(&self, staged: &Staged, start: Start<'_>) -> Result<LeftOut, Failure> {
        let mut found = LeftOut::default();
        if !staged.files.iter().any(|path| path.ends_with(IGNORE)) {
            return Ok(found);
        }
        let ignored = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard"];
        let ignored = paths(&self.git().run(&ignored)?);
        let before = self.ignored_before(&ignored, start)?;
        let folder = self.own.git.with_extension("aside");
        remove_all(folder.as_std_path())?;
        fs_err::create_dir_all(&folder)?;
        for path in ignored {
            if before.contains(&path) || self.carried.contains_key(&path) {
                continue;
            }
            let is_installed =
                |it: &&Path| INSTALLED.split(' ').any(|name| it.file_name() == Some(name.as_ref()));
            // In place, a kill would leave the user's tree without them.
            let stays = path.ancestors().skip(1).find(is_installed).map(Path::to_owned);
            if let Some(stays) = stays.or_else(|| self.is_in_place.then(|| path.clone())) {
                found.stay.insert(stays);
                continue;
            }
            let to = folder.join(found.aside.len().to_string());
            let top = self.top.as_std_path();
            beneath(top, &path, OnTheWay::Expect, |from| fs_err::rename(from, &to))?;
            found.aside.push(path);
        }
        Ok(found)
    }

    /// Moves them back, unless the checks made others in their places.
    pub fn bring_back(&self, left_out: &LeftOut) {
        let folder = self.own.git.with_extension("aside");
        for (number, path) in left_out.aside.iter().enumerate() {
            let from = folder.join(number.to_string());
            let back = beneath(self.top.as_std_path(), path, OnTheWay::Make, |to| {
                if to.symlink_metadata().is_ok() { Ok(()) } else { fs_err::rename(&from, to) }
            });
            if let Err(error) = back {
                log::warn!("{} is not back in the copy: {error}", path.display());
            }
        }
    }

    /// Returns those of these files that the rules of the start ignore.
    fn ignored_before(
        &self,
        files: &[PathBuf],
        start: Start<'_>,
    ) -> Result<BTreeSet<PathBuf>, Failure> {
        if files.is_empty() {
            return Ok(BTreeSet::new());
        }
        // A work tree that holds nothing but those rules.
        let room = &self.own.reading_room;
        remove_all(room.as_std_path())?;
        fs_err::create_dir_all(room)?;
        let index = self.own.index().with_extension("before");
        let store = self.store().on_index(index.clone());
        store.run(&["read-tree", &base_of(&store, start.tip)?])?;
        let mut rules = paths(&store.run(&["ls-files", "-z"])?);
        rules.retain(|path| path.ends_with(IGNORE));
        let git = self.git_over(room.as_std_path()).on_index(index.clone());
        git.feed(&["checkout-index", "-z", "--stdin"], &listed(&rules))?;
        // This command knows no literal names, and a name after `./` can mean nothing else.
        let git = git.with_var("GIT_LITERAL_PATHSPECS", "0");
        let named: Vec<PathBuf> = files.iter().map(|path| Path::new(".").join(path)).collect();
        let asked = git.feed(&["check-ignore", "--no-index", "-z", "--stdin"], &listed(&named));
        let found = match asked {
            // It found none.
            Err(error) if error.exit_code() == Some(1) => Vec::new(),
            other => other?,
        };
        remove_all(&index)?;
        remove_all(room.as_std_path())?;
        Ok(paths(&found).iter().filter_map(|it| Some(it.strip_prefix(".").ok()?.into())).collect())
    }

    /// Gives files the content that a checkout of what is staged has.
    pub(super) fn check_out(&self, git: &Git, files: &BTreeSet<PathBuf>) -> Result<(), Failure> {
        for path in files {
            // Git skips what looks as if it were staged.
            self.remove(path)?;
        }
        let files = listed(files);
        git.feed(&["checkout-index", "--force", "--index", "--quiet", "-z", "--stdin"], &files)?;
        Ok(())
    }

    /// Returns the first of these links that leads out of the work tree to a place where an attempt
    /// can write, or into the work tree by its full name.
    pub(super) fn link_out<'a>(
        &self,
        mut links: impl Iterator<Item = &'a Path>,
    ) -> Option<&'a Path> {
        let top = self.top.canonicalize().unwrap_or_else(|_| self.top.clone().into());
        let writable: Vec<_> = self.doors.writable().collect();
        links.find(|link| {
            let link = top.join(link);
            let Ok(target) = fs_err::read_link(&link) else { return false };
            let full = link.parent().unwrap_or(&top).join(&target);
            let full = full.canonicalize().unwrap_or(full);
            let is_inside = full.starts_with(&top) && (self.is_in_place || target.is_relative());
            !is_inside && writable.iter().any(|folder| full.starts_with(folder))
        })
    }
}
