//! Looks for a read in the session's transcript, for sessions that began before the hook was
//! installed.
//!
//! Only reads count: an edit that stands there may have been refused, and the one that is asked
//! about stands there already.

use camino::Utf8Path;
use ralph_base::state::tail;
use ralph_core::guard;
use ralph_project::known_files::resolved;
use serde_json::Value;

use crate::call::Call;

/// How much of the transcript's end is searched.
const SEARCHED: u64 = 8 * 1024 * 1024;

/// Whether the transcript shows that the file was read.
pub(super) fn shows(call: &Call<'_>, path: &Utf8Path) -> bool {
    let Some(transcript) = &call.input.transcript_path else { return false };
    let Ok(end) = tail(transcript, SEARCHED) else { return false };
    let name = path.file_name().unwrap_or_default().as_bytes();
    let mentions = |line: &&[u8]| {
        // Cheap, and nearly always enough to pass a line over.
        holds(line, b"tool_use") && holds(line, name)
    };
    end.lines().filter(mentions).any(|line| {
        let line: Value = serde_json::from_slice(line).unwrap_or_default();
        let blocks = line.pointer("/message/content").and_then(Value::as_array);
        blocks.into_iter().flatten().any(|block| is_sight(call, block, path))
    })
}

fn is_sight(call: &Call<'_>, block: &Value, path: &Utf8Path) -> bool {
    let text = |place: &str| block.pointer(place).and_then(Value::as_str).unwrap_or_default();
    match text("/name") {
        "Read" => resolved(&call.absolute(text("/input/file_path").into())) == resolved(path),
        "Bash" => {
            let command = text("/input/command");
            let facts = call.facts(command);
            let script = shell_reader::read(command);
            guard::reads(&script, &facts).iter().any(|read| resolved(read) == resolved(path))
        }
        _ => false,
    }
}

fn holds(line: &[u8], part: &[u8]) -> bool {
    part.is_empty() || line.windows(part.len()).any(|window| window == part)
}
