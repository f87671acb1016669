//! A file to whose end the loop writes, as progress and lessons.

use camino::Utf8PathBuf;

use crate::board::Change;

/// A file to whose end the loop writes. What it writes waits in the git folder until a commit takes it
/// along, or is put into the file where none will.
#[derive(Debug)]
pub(super) struct Appended {
    pub(super) path: Utf8PathBuf,
    pub(super) pending: Utf8PathBuf,
    pub(super) title: &'static str,
}

impl Appended {
    /// What waits, as a change of the file.
    pub(super) fn waiting(&self) -> Option<Change> {
        let text = fs_err::read(&self.pending).ok().filter(|text| !text.is_empty())?;
        Some(Change::Append { title: self.title, text })
    }
}
