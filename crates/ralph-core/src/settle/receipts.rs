//! What the stories of one session cost, in the progress: the stop hook settles them before anybody
//! knows, and the loop tells it when the session has ended.

use std::io;

use camino::Utf8Path;

use crate::plan::progress::section_for;
use crate::state::{self, Cap};

/// Appends what each of these stories cost, in words.
pub fn log_receipts(progress: &Utf8Path, receipts: &[(String, String)]) -> io::Result<()> {
    let existing = match fs_err::read(progress) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        other => other?,
    };
    let stories: Vec<&str> = receipts.iter().map(|(story, _)| story.as_str()).collect();
    let lines: String =
        receipts.iter().map(|(story, cost)| format!("- {story}: {cost}\n")).collect();
    let section = format!("## Receipts - {}\n{lines}", stories.join(", "));
    let never = Cap { above: u64::MAX, keep_lines: 0 };
    state::append_capped(progress, &section_for(&existing, &section), never)
}
