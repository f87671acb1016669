//! Information from the session's transcript: the client's version, and whether the agent has seen
//! a file that was read before the hook was installed or before the session was resumed or forked,
//! or that the prompt mentioned with `@`.
//!
//! Only files that were shown count: an edit in the transcript may have been denied, and the edit
//! in question is already there.

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::tail;
use ralph_core::guard::{self, Facts};
use ralph_project::known_files::resolved;
use serde_json::Value;

use crate::call::Call;

/// How many bytes at the end of the transcript are searched.
const SEARCHED: u64 = 8 * 1024 * 1024;

/// How many bytes at the end are searched for the client's version.
const LAST_LINES: u64 = 256 * 1024;

/// The first client that does not run a call that a hook asks about if no user can answer.
const ASKS_SINCE: [u32; 3] = [2, 1, 85];

/// Whether the client is too old to refuse a call that nobody can be asked about.
pub(super) fn is_of_an_old_client(call: &Call<'_>) -> bool {
    let Some(transcript) = &call.input.transcript_path else { return false };
    let Ok(end) = tail(transcript, LAST_LINES) else { return false };
    let version = |line: &[u8]| {
        let line: Value = serde_json::from_slice(line).ok()?;
        let version = line.get("version")?.as_str()?;
        Some(version.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>())
    };
    let mut lines = end.lines().rev().filter(|line| holds(line, b"\"version\""));
    let version = lines.find_map(version);
    version.is_some_and(|version| version[..] < ASKS_SINCE[..])
}

/// Whether the transcript shows that the agent has seen the file.
pub(super) fn shows(call: &Call<'_>, path: &Utf8Path) -> bool {
    let Some(transcript) = &call.input.transcript_path else { return false };
    let Ok(end) = tail(transcript, SEARCHED) else { return false };
    let name = path.file_name().unwrap_or_default().as_bytes();
    let mentions = |line: &&[u8]| {
        // Cheap, and nearly always enough to skip a line.
        holds(line, name) && (holds(line, b"tool_use") || holds(line, b"\"attachment\""))
    };
    let (path, facts) = (resolved(path), call.facts(""));
    end.lines().filter(mentions).any(|line| {
        let line: Value = serde_json::from_slice(line).unwrap_or_default();
        let cwd = line.get("cwd").and_then(Value::as_str).map_or(call.cwd(), Into::into);
        let facts = Facts { cwd: resolved(&cwd), ..facts.clone() };
        seen_in(&line, &facts).iter().any(|seen| resolved(&facts.cwd.join(seen)) == path)
    })
}

/// Returns the files that one line of the transcript shows to the agent.
fn seen_in(line: &Value, facts: &Facts) -> Vec<Utf8PathBuf> {
    let text = |value: &Value, place: &str| {
        value.pointer(place).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    if text(line, "/attachment/type") == "file" {
        return vec![text(line, "/attachment/filename").into()];
    }
    let blocks = line.pointer("/message/content").and_then(Value::as_array);
    let seen = |block: &Value| match text(block, "/name").as_str() {
        "Read" => vec![text(block, "/input/file_path").into()],
        _ => guard::reads(&facts.read(&text(block, "/input/command")), facts),
    };
    blocks.into_iter().flatten().flat_map(seen).collect()
}

fn holds(line: &[u8], part: &[u8]) -> bool {
    part.is_empty() || line.windows(part.len()).any(|window| window == part)
}
