//! What is found out before a run: shown by `doctor` and `--dry-run`, obeyed by a start.

/// What was found and, where something is wrong, what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// All is well.
    Good(String),
    /// What a run will do, and nobody has tried yet.
    Later(String),
    /// Worth knowing; a run begins all the same.
    Note(String),
    /// No run begins.
    Problem(String),
}

impl Finding {
    /// Whether it keeps a run from beginning.
    pub fn is_problem(&self) -> bool {
        matches!(self, Self::Problem(_))
    }
}
