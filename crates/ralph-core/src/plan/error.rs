//! Why a plan cannot be read, and where.

use camino::Utf8PathBuf;
use std::fmt;

/// Larger files are refused; a plan is written by people.
pub const MAX_PLAN_BYTES: usize = 16 * 1024 * 1024;

/// Why a plan could not be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// The file.
    pub path: Utf8PathBuf,
    /// Counted from one; `None` when it is about the whole file.
    pub line: Option<usize>,
    /// What is wrong with it.
    pub problem: Problem,
}

impl Error {
    /// Whether nothing is wrong but that no story is there yet, so that planning may write some.
    pub fn is_without_stories(&self) -> bool {
        matches!(self.problem, Problem::Empty | Problem::NoStories { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.path)?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.problem)
    }
}

/// What is wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what each variant and field is")]
pub enum Problem {
    #[error("the plan is empty; write at least one story such as `- [ ] US-001: title`")]
    Empty,
    #[error(
        "the plan is larger than {} MiB; is this the right file?",
        MAX_PLAN_BYTES / 1024 / 1024
    )]
    TooLarge,
    #[error("the plan is UTF-16 text; save it as UTF-8")]
    Utf16,
    #[error("a JSON plan must be UTF-8, and this line is not; save the file as UTF-8")]
    NotUtf8,
    #[error("no story found; {hint}")]
    NoStories { hint: &'static str },
    #[error("this code fence is never closed, so all below it is hidden; close it")]
    UnclosedFence,
    #[error("this comment is never closed, so all below it is hidden; add `-->`")]
    UnclosedComment,
    #[error("story id {id} is used twice, first on line {first_line}; give one of them another id")]
    DuplicateId { id: String, first_line: usize },
    #[error("story {story} depends on {wanted}, which is not a story of this plan; correct the id")]
    UnknownDependency { story: String, wanted: String },
    #[error("these stories wait for each other: {}; remove one of the dependencies", .ring.join(" -> "))]
    DependencyCycle { ring: Vec<String> },
    #[error("column {column}: not valid JSON: {reason}; correct it by hand or with git")]
    JsonSyntax { column: usize, reason: String },
    #[error("`{key}` must be {expected}, not {found}")]
    WrongType { key: &'static str, expected: &'static str, found: String },
}

/// What went wrong and on which line, before the file's name is known.
pub(super) type Located = (Option<usize>, Problem);
