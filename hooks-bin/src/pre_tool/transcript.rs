//! Looks for a read in the session's transcript, for sessions that began before the hook was
//! installed.
//!
//! Only reads count: an edit that stands there may have been refused, and the one that is asked
//! about stands there already.

use camino::Utf8Path;
use ralph_base::state::last_lines;
use ralph_core::guard;
use ralph_core::shell;
use ralph_project::known_files::resolved;
use serde::Deserialize;

use crate::call::Call;

/// How much of the transcript's end is searched.
const SEARCHED: u64 = 8 * 1024 * 1024;

#[derive(Deserialize)]
struct Line {
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Vec<Block>,
}

#[derive(Deserialize)]
struct Block {
    #[serde(default)]
    name: String,
    #[serde(default)]
    input: Input,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Input {
    file_path: String,
    command: String,
}

/// Whether the transcript shows that the file was read.
pub(super) fn shows(call: &Call<'_>, path: &Utf8Path) -> bool {
    let Some(transcript) = &call.input.transcript_path else { return false };
    let Ok(lines) = last_lines(transcript, usize::MAX, SEARCHED) else { return false };
    let name = path.file_name().unwrap_or_default().as_bytes();
    let mentions = |line: &&Vec<u8>| {
        // Cheap, and nearly always enough to pass a line over.
        holds(line, b"tool_use") && holds(line, name)
    };
    lines.iter().filter(mentions).any(|line| {
        let Ok(Line { message: Some(message) }) = serde_json::from_slice(line) else {
            return false;
        };
        message.content.iter().any(|block| is_sight(call, block, path))
    })
}

fn is_sight(call: &Call<'_>, block: &Block, path: &Utf8Path) -> bool {
    match block.name.as_str() {
        "Read" => resolved(&call.absolute(block.input.file_path.as_str().into())) == resolved(path),
        "Bash" => {
            let command = &block.input.command;
            let facts = call.facts(command);
            let script = shell::read(command);
            guard::reads(&script, &facts).iter().any(|read| resolved(read) == resolved(path))
        }
        _ => false,
    }
}

fn holds(line: &[u8], part: &[u8]) -> bool {
    part.is_empty() || line.windows(part.len()).any(|window| window == part)
}
