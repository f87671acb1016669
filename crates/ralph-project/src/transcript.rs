//! The end of a session's transcript: how full the context is, and whether a tool was called.
//!
//! The file may be hundreds of megabytes, with bulky lines between those that matter. Increasing
//! parts of its end are read until the answer is found, up to a fixed amount, and only lines that
//! may matter are parsed.

use std::io;

use camino::Utf8Path;
use serde::Deserialize;

use ralph_base::state::{self, Tail};

/// How many bytes of the end are read at first, then if necessary, and at most: earlier lines say
/// nothing about the current state.
const READ: [u64; 3] = [64 * 1024, 1024 * 1024, 8 * 1024 * 1024];

/// The type of a line is within this many bytes from its start.
const BEGINNING: usize = 4096;

/// Facts from the end of a transcript.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ending {
    /// The length of the file.
    pub length: u64,
    /// Tokens in the main conversation's context after its last answer, if that was found.
    pub context: Option<u64>,
    /// The model that gave that answer; empty if it is unknown.
    pub model: String,
    /// The text of the main conversation's last answer, if that was found.
    pub said: String,
    /// Whether a tool was called after `since`.
    pub tool_called: bool,
}

impl Ending {
    /// Returns whether this answer is not in the file yet: the client writes it a moment after it
    /// calls the hooks.
    pub fn is_behind(&self, answer: &str) -> bool {
        let (said, answer) = (self.said.trim(), answer.trim());
        !answer.is_empty() && (said.is_empty() || !answer.contains(said))
    }
}

/// Reads the end of a transcript; `since` is its length at an earlier moment.
pub fn ending(path: &Utf8Path, since: u64) -> io::Result<Ending> {
    let mut ending = Ending::default();
    for limit in READ {
        let tail = state::tail(path, limit)?;
        let is_settled;
        (ending, is_settled) = judge(&tail, since);
        if is_settled || tail.start == 0 {
            break;
        }
    }
    Ok(ending)
}

/// Returns the facts from this part of the end, and whether reading more would not change them.
fn judge(tail: &Tail, since: u64) -> (Ending, bool) {
    let mut ending = Ending { length: tail.length, ..Ending::default() };
    let mut context_known = false;
    let mut start = tail.start + tail.bytes.len() as u64;
    for line in tail.lines().rev() {
        // The offset of the line; the newline at the end of the file may be missing.
        start = start.saturating_sub(line.len() as u64 + 1);
        let wants_tool = !ending.tool_called && start >= since;
        if context_known && !wants_tool {
            return (ending, true);
        }
        if !is_worth_parsing(line) {
            continue;
        }
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { continue };
        ending.tool_called |= wants_tool && line.calls_a_tool();
        if !context_known {
            (ending.context, context_known) = line.context();
            ending.said = line.text();
            ending.model = line.message.and_then(|message| message.model).unwrap_or_default();
        }
    }
    let is_settled = context_known && (ending.tool_called || start <= since);
    (ending, is_settled)
}

/// Checks the start of a line, because parsing all of it is expensive: its type comes before its
/// content.
fn is_worth_parsing(line: &[u8]) -> bool {
    let beginning = String::from_utf8_lossy(line.get(..BEGINNING).unwrap_or(line));
    beginning.contains("\"assistant\"") || beginning.contains("\"compact_boundary\"")
}

/// The parts of a transcript line that are read here.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: String,
    subtype: Option<String>,
    is_sidechain: bool,
    #[serde(borrow)]
    message: Option<Message<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message<'a> {
    model: Option<String>,
    usage: Option<Usage>,
    /// Kept unparsed: a string in some lines, a list of blocks in others.
    #[serde(borrow)]
    content: Option<&'a serde_json::value::RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Usage {
    input_tokens: u64,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: u64,
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    text: String,
}

impl Line<'_> {
    /// Returns the tokens in use after this line, and whether that is final: anything before a
    /// compaction is no longer in the context.
    fn context(&self) -> (Option<u64>, bool) {
        if self.kind == "system" && self.subtype.as_deref() == Some("compact_boundary") {
            return (None, true);
        }
        if self.kind != "assistant" || self.is_sidechain {
            return (None, false);
        }
        let usage = self.message.as_ref().and_then(|message| message.usage.as_ref());
        // Messages that the client itself made, about errors for example, report no usage.
        let used = usage.map(Usage::total).filter(|used| *used > 0);
        (used, used.is_some())
    }

    fn calls_a_tool(&self) -> bool {
        self.kind == "assistant" && self.blocks().iter().any(|block| block.kind == "tool_use")
    }

    fn text(&self) -> String {
        let texts = self.blocks().into_iter().filter(|block| block.kind == "text");
        texts.map(|block| block.text).collect::<Vec<_>>().join("\n")
    }

    fn blocks(&self) -> Vec<Block> {
        let content = self.message.as_ref().and_then(|message| message.content);
        content.and_then(|content| serde_json::from_str(content.get()).ok()).unwrap_or_default()
    }
}

impl Usage {
    fn total(&self) -> u64 {
        let cached = [self.cache_creation_input_tokens, self.cache_read_input_tokens];
        let cached = cached.into_iter().flatten().fold(0, u64::saturating_add);
        self.input_tokens.saturating_add(cached).saturating_add(self.output_tokens)
    }
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
