//! The files of a plan, as an attempt has to know them.

use std::path::PathBuf;

use camino::Utf8PathBuf;
use ralph_core::plan::Options;

/// The files of a plan, as an attempt has to know them.
#[derive(Debug, Clone)]
pub(crate) struct PlanFiles {
    pub(crate) plan: Utf8PathBuf,
    pub(crate) progress: Utf8PathBuf,
    pub(crate) options: Options,
    pub(super) ours: Vec<PathBuf>,
}

impl PlanFiles {
    /// The files that only the loop writes, from the top of the repository.
    pub(crate) fn ours(&self) -> &[PathBuf] {
        &self.ours
    }
}
