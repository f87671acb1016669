//! Why a plan cannot be read, and where.

use camino::Utf8PathBuf;

/// Larger files are refused; a plan is written by people.
pub const MAX_PLAN_BYTES: usize = 16 * 1024 * 1024;

/// Why a plan could not be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{} {message}", line.map(|line| format!("{line}:")).unwrap_or_default())]
pub struct Error {
    /// The file.
    pub path: Utf8PathBuf,
    /// Counted from one; `None` when it is about the whole file.
    pub line: Option<usize>,
    /// What is wrong, and what to do about it.
    pub message: String,
    /// Whether nothing is wrong but that no story is there yet, so that planning may write some.
    pub is_without_stories: bool,
}

impl Error {
    /// Something wrong on a line; the file's name is added by whoever knows it.
    pub(super) fn at(line: usize, message: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::of_file(message) }
    }

    /// Something wrong with the file as a whole.
    pub(super) fn of_file(message: impl Into<String>) -> Self {
        let path = Utf8PathBuf::new();
        Self { path, line: None, message: message.into(), is_without_stories: false }
    }

    /// No story, and how to write one.
    pub(super) fn no_story(line: Option<usize>, hint: &str) -> Self {
        let error = Self::of_file(format!("no stories found; {hint}"));
        Self { line, is_without_stories: true, ..error }
    }
}
