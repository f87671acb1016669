//! Work that has passed.

use ralph_project::checks::Check;

use crate::workspace::Staged;

/// Work that has passed its checks.
#[derive(Debug, Clone, Default)]
pub(in crate::run) struct Passed {
    pub(super) staged: Staged,
    pub(super) checks: Vec<Check>,
    /// In what respect it weakened the tests.
    pub(super) weakened: Option<String>,
}
