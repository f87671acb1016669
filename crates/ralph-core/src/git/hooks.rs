//! The user's own git hooks: is there any that a commit could run?

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::repo::Repo;

/// Where hooks were when the repository was opened, and how old its settings were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hooks {
    folder: PathBuf,
    settings: Option<(i64, i64)>,
}

impl Hooks {
    /// For a folder that git named.
    pub(super) fn in_folder(folder: PathBuf, repo: &Repo) -> Self {
        Self { folder, settings: settings_age(repo) }
    }

    /// Whether there are none. Where the repository's settings were changed since, or name hooks by
    /// themselves, there may be some.
    pub(super) fn are_missing(&self, repo: &Repo) -> bool {
        hooks_in(&self.folder).next().is_none()
            && self.settings.is_some()
            && self.settings == settings_age(repo)
            && !names_hooks(repo)
    }
}

/// The hooks in a folder; git's samples are none.
pub(super) fn hooks_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs_err::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_none_or(|ending| ending != "sample"))
}

fn settings_age(repo: &Repo) -> Option<(i64, i64)> {
    let metadata = fs_err::metadata(repo.settings_file()).ok()?;
    Some((metadata.ctime(), metadata.ctime_nsec()))
}

fn names_hooks(repo: &Repo) -> bool {
    let text = fs_err::read(repo.settings_file()).unwrap_or_default();
    String::from_utf8_lossy(&text).to_lowercase().contains("[hook")
}
