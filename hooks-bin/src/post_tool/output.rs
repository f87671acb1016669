//! The output of a command, as far as the client hands it on.

use ralph_base::state::tail;
use ralph_core::hook::BashResult;

/// How much of the end of a file with all of the output is read.
const END: u64 = 64 * 1024;

/// What stands where the client cut the output of a command that failed.
const CUT: &str = " characters truncated] ...";

/// What is known beyond the inline output.
pub(super) struct Output {
    /// The end of all of the output, where the client wrote a file.
    pub(super) end: Option<String>,
    /// Whether a part is missing that no file has.
    pub(super) cut: bool,
}

/// Looks for the rest of an output that was cut.
pub(super) fn gather(result: &BashResult<'_>) -> Output {
    let end = result
        .output_file
        .as_ref()
        .and_then(|file| Some(String::from_utf8_lossy(&tail(file, END).ok()?.bytes).into_owned()));
    let file_lost = result.output_file.is_some() && end.is_none();
    // Of a command that succeeded the client keeps the beginning and writes a file.
    let cut = || result.exit_code != Some(0) && result.output.contains(CUT);
    Output { cut: file_lost || cut(), end }
}

impl Output {
    /// What to keep for people and for the next prompt: the end, where the failures are, if the
    /// beginning was cut off from it.
    pub(super) fn text<'a>(&'a self, result: &'a BashResult<'_>) -> &'a str {
        self.end.as_deref().unwrap_or(&result.output)
    }
}
