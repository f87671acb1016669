//! The output of a command, as far as the client passes it on.

use ralph_base::state::tail;
use ralph_core::hook::BashResult;

/// How many bytes are read from the end of a file with the full output.
const END: u64 = 64 * 1024;

/// The client's mark where it cut the output of a failed command.
const CUT: &str = " characters truncated] ...";

/// The output beyond the inline part.
pub(super) struct Output {
    /// The end of the full output, if the client wrote a file.
    pub(super) end: Option<String>,
    /// Whether a part is missing that is not in a file either.
    pub(super) cut: bool,
}

/// Reads the rest of an output that was cut.
pub(super) fn gather(result: &BashResult<'_>) -> Output {
    let end = result
        .output_file
        .as_ref()
        .and_then(|file| Some(String::from_utf8_lossy(&tail(file, END).ok()?.bytes).into_owned()));
    let file_lost = result.output_file.is_some() && end.is_none();
    // For a successful command the client keeps the beginning and writes a file.
    let cut = || result.exit_code != Some(0) && result.output.contains(CUT);
    Output { cut: file_lost || cut(), end }
}

impl Output {
    /// Returns the output for users and for the next prompt: the end, which has the failures, if it
    /// was cut off.
    pub(super) fn text<'a>(&'a self, result: &'a BashResult<'_>) -> &'a str {
        self.end.as_deref().unwrap_or(&result.output)
    }
}
