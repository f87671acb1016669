//! Errors in reading a plan.

use camino::Utf8PathBuf;

/// The maximum size of a plan; plans are written by people.
pub const MAX_PLAN_BYTES: usize = 16 * 1024 * 1024;

/// An error in reading a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{} {message}", line.map(|line| format!("{line}:")).unwrap_or_default())]
pub struct Error {
    /// The plan file.
    pub path: Utf8PathBuf,
    /// The line, counted from one; `None` if the error is about the whole file.
    pub line: Option<usize>,
    /// What is wrong, and how to fix it.
    pub message: String,
    /// Whether the plan only lacks stories, so that a planning run may write some.
    pub is_without_stories: bool,
}

impl Error {
    /// Creates an error on a line; the caller adds the file's name.
    pub(super) fn at(line: usize, message: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::of_file(message) }
    }

    /// Creates an error about the file as a whole.
    pub(super) fn of_file(message: impl Into<String>) -> Self {
        let path = Utf8PathBuf::new();
        Self { path, line: None, message: message.into(), is_without_stories: false }
    }

    /// Creates the error for a plan without stories; `hint` explains how to write one.
    pub(super) fn no_story(line: Option<usize>, hint: &str) -> Self {
        let error = Self::of_file(format!("no stories found; {hint}"));
        Self { line, is_without_stories: true, ..error }
    }
}
