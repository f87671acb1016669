//! Who else is at work in a repository, as far as the system tells.

use std::path::{Path, PathBuf};

/// The folders that tell of processes; none where the system does not tell.
pub(super) fn all() -> impl Iterator<Item = PathBuf> {
    fs_err::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Whether a process has one of these files open.
pub(super) fn has_open(process: &Path, files: &[PathBuf]) -> bool {
    let opened = fs_err::read_dir(process.join("fd")).into_iter().flatten().flatten();
    opened
        .filter_map(|entry| fs_err::read_link(entry.path()).ok())
        .any(|path| files.contains(&path))
}

/// Whether a process is a git in this folder or below it.
pub(super) fn is_git_in(process: &Path, top: &Path) -> bool {
    let name = fs_err::read_to_string(process.join("comm")).unwrap_or_default();
    name.starts_with("git")
        && fs_err::read_link(process.join("cwd")).is_ok_and(|folder| folder.starts_with(top))
}
