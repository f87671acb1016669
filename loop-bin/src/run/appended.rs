//! A file to whose end the loop writes, as progress and lessons.

use camino::Utf8PathBuf;

use board::{Change, contains};

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

    /// The first lines that wait and that a commit has already: after a crash nobody knows what it took.
    pub(super) fn committed_beginning(&self, committed: Option<&[u8]>) -> Vec<u8> {
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
