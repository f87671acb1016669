//! The files of a plan: as an attempt has to know them, and those that the loop appends to.

use std::path::PathBuf;

use camino::Utf8PathBuf;
use ralph_core::plan::Options;

use crate::loop_files::{Change, contains};

/// The files of a plan, as an attempt has to know them.
#[derive(Debug, Clone)]
pub struct PlanFiles {
    /// The plan.
    pub plan: Utf8PathBuf,
    /// The progress.
    pub progress: Utf8PathBuf,
    /// How the plan is read.
    pub options: Options,
    /// The files that only the loop writes, from the top of the repository.
    pub ours: Vec<PathBuf>,
}

/// A file to whose end the loop writes. What it writes waits in the git folder until a commit takes it
/// along, or is put into the file where none will.
#[derive(Debug)]
pub(crate) struct Appended {
    pub(crate) path: Utf8PathBuf,
    pub(crate) pending: Utf8PathBuf,
    pub(crate) title: &'static str,
}

impl Appended {
    /// What waits, as a change of the file.
    pub(crate) fn waiting(&self) -> Option<Change> {
        let text = fs_err::read(&self.pending).ok().filter(|text| !text.is_empty())?;
        Some(Change::Append { title: self.title, text })
    }

    /// The first lines that wait and that a commit has already: after a crash nobody knows what it took.
    pub(crate) fn committed_beginning(&self, committed: Option<&[u8]>) -> Vec<u8> {
        let committed = committed.unwrap_or_default();
        let mut text = fs_err::read(&self.pending).unwrap_or_default();
        while !text.is_empty() && !contains(committed, &text) {
            text.pop();
            let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            text.truncate(end);
        }
        text
    }
}
