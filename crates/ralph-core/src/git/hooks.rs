//! The user's own git hooks: is there any that a commit could run?

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

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
        let has_hook = |folder: fs_err::ReadDir| {
            let names = folder.flatten().map(|entry| entry.path());
            names.into_iter().any(|path| path.extension().is_none_or(|ending| ending != "sample"))
        };
        !fs_err::read_dir(&self.folder).is_ok_and(has_hook)
            && self.settings.is_some()
            && self.settings == settings_age(repo)
            && !names_hooks(repo)
    }
}

fn settings_age(repo: &Repo) -> Option<(i64, i64)> {
    let metadata = fs_err::metadata(repo.shared_git_dir().join("config")).ok()?;
    Some((metadata.ctime(), metadata.ctime_nsec()))
}

fn names_hooks(repo: &Repo) -> bool {
    let text = fs_err::read(repo.shared_git_dir().join("config")).unwrap_or_default();
    String::from_utf8_lossy(&text).to_lowercase().contains("[hook")
}
