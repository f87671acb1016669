//! The end of a session's transcript: how full the context is, and whether a tool was called.
//!
//! The file may be hundreds of megabytes, with bulky lines between those that matter. It is read
//! backwards in chunks, up to a fixed amount, and only lines that can matter are parsed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use camino::Utf8Path;
use serde::Deserialize;

use ralph_base::state;

/// What is read at a time, going backwards.
const CHUNK: u64 = 64 * 1024;

/// Reading stops here: what is further back no longer says how things are now.
const MOST_READ: u64 = 8 * 1024 * 1024;

/// A line says within so many bytes what it is.
const BEGINNING: usize = 4096;

/// What the end of a transcript says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ending {
    /// How long the file is.
    pub length: u64,
    /// Tokens in the main conversation's context after its last answer, where that was found.
    pub context: Option<u64>,
    /// What the main conversation's last answer said, where that was found.
    pub said: String,
    /// Whether a tool was called after `since`.
    pub tool_called: bool,
}

impl Ending {
    /// Whether this answer is not in the file yet: the client writes it a moment after it asks the
    /// hooks.
    pub fn is_behind(&self, answer: &str) -> bool {
        let (said, answer) = (self.said.trim(), answer.trim());
        !answer.is_empty() && (said.is_empty() || !answer.contains(said))
    }
}

/// Reads the end of a transcript; `since` is how long it was at an earlier moment.
pub fn ending(path: &Utf8Path, since: u64) -> io::Result<Ending> {
    let mut file = state::open_regular(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    let mut ending = Ending { length, ..Ending::default() };
    let mut context_known = false;
    let mut lines = LinesBackwards::new(&mut file, length);
    while let Some((start, line)) = lines.next_line()? {
        let wants_tool = !ending.tool_called && start >= since;
        if context_known && !wants_tool {
            break;
        }
        if !is_worth_parsing(&line) {
            continue;
        }
        let Ok(line) = serde_json::from_slice::<Line<'_>>(&line) else { continue };
        ending.tool_called |= wants_tool && line.calls_a_tool();
        if !context_known {
            (ending.context, context_known) = line.context();
            ending.said = line.text();
        }
    }
    Ok(ending)
}

/// A look at the beginning before the work of parsing it all: what a line is stands before what it
/// holds.
fn is_worth_parsing(line: &[u8]) -> bool {
    let beginning = String::from_utf8_lossy(line.get(..BEGINNING).unwrap_or(line));
    beginning.contains("\"assistant\"") || beginning.contains("\"compact_boundary\"")
}

/// Where the last line begins, newline not included. Whole blocks are asked first, because the
/// standard library searches those many bytes at a time.
fn last_newline(bytes: &[u8]) -> Option<usize> {
    let mut end = bytes.len();
    for block in bytes.rchunks(1024) {
        end -= block.len();
        if block.contains(&b'\n') {
            return block.iter().rposition(|byte| *byte == b'\n').map(|at| end + at);
        }
    }
    None
}

/// The parts of a transcript line that are read here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    subtype: Option<String>,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default, borrow)]
    message: Option<Message<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(default)]
    usage: Option<Usage>,
    /// Kept as it stands: a text in some lines, a list of blocks in others.
    #[serde(default, borrow)]
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
    /// The tokens in use after this line, and whether that settles the question: what stands
    /// before a compaction is no longer in the context.
    fn context(&self) -> (Option<u64>, bool) {
        if self.kind == "system" && self.subtype.as_deref() == Some("compact_boundary") {
            return (None, true);
        }
        if self.kind != "assistant" || self.is_sidechain {
            return (None, false);
        }
        let usage = self.message.as_ref().and_then(|message| message.usage.as_ref());
        // Messages that the client made up, about errors for instance, say that nothing was used.
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

/// The lines of a file, last one first, each with the place where it begins.
struct LinesBackwards<'a> {
    file: &'a mut File,
    /// Where the part begins that was read already.
    start: u64,
    /// Where reading stops.
    floor: u64,
    /// What was read and not yet given out; it ends where a line ends.
    pending: Vec<u8>,
    /// The pieces of a line that began in an earlier chunk, last one first.
    pieces: Vec<Vec<u8>>,
}

impl<'a> LinesBackwards<'a> {
    fn new(file: &'a mut File, length: u64) -> Self {
        let floor = length.saturating_sub(MOST_READ);
        Self { file, start: length, floor, pending: Vec::new(), pieces: Vec::new() }
    }

    /// The next line towards the beginning; a line that the limit cuts is left out.
    fn next_line(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        loop {
            if let Some(at) = last_newline(&self.pending) {
                let tail = self.pending.split_off(at + 1);
                self.pending.pop();
                return Ok(Some((self.start + at as u64 + 1, self.joined(tail))));
            }
            if self.start == 0 {
                let first = std::mem::take(&mut self.pending);
                let nothing_left = first.is_empty() && self.pieces.is_empty();
                return Ok((!nothing_left).then(|| (0, self.joined(first))));
            }
            if self.start <= self.floor {
                return Ok(None);
            }
            let part = std::mem::take(&mut self.pending);
            if !part.is_empty() {
                self.pieces.push(part);
            }
            self.read_chunk()?;
        }
    }

    fn read_chunk(&mut self) -> io::Result<()> {
        let step = CHUNK.min(self.start - self.floor);
        self.start -= step;
        self.file.seek(SeekFrom::Start(self.start))?;
        // Asked for in one piece: reading to the end would feel its way with many small reads.
        self.pending.resize(usize::try_from(step).unwrap_or_default(), 0);
        self.file.read_exact(&mut self.pending)
    }

    /// Puts a line together. A bulky one is left out as soon as its beginning says that it does
    /// not matter.
    fn joined(&mut self, first: Vec<u8>) -> Vec<u8> {
        let mut line = first;
        if line.len() >= BEGINNING && !is_worth_parsing(&line) {
            self.pieces.clear();
            return Vec::new();
        }
        for piece in self.pieces.drain(..).rev() {
            line.extend_from_slice(&piece);
        }
        line
    }
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
