//! Findings before a run: shown by `doctor` and `--dry-run`; a problem prevents a start.

/// A finding and, if something is wrong, what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Diagnosis {
    /// All is well.
    Good(String),
    /// What a run will do, but was not tried yet.
    Later(String),
    /// Worth knowing; a run starts anyway.
    Note(String),
    /// A run cannot start.
    Problem(String),
}

impl Diagnosis {
    /// Returns whether it prevents a run from starting.
    pub fn is_problem(&self) -> bool {
        matches!(self, Self::Problem(_))
    }
}
