//! Streams the agent's output: every byte goes to the log, every line to a line handler.
//! Memory use is constant, however much the agent prints.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use camino::Utf8Path;
use ralph_base::state;

use super::{Stream, Totals};

/// Longer lines are logged, but not parsed.
const LONGEST_LINE: usize = 2 * 1024 * 1024;

/// Reads the pipe to its end in a separate thread and passes each line to `take`. `tick` wakes the
/// waiting thread; if that channel is full, the thread is already awake.
pub(super) fn follow(
    mut pipe: impl Read + Send + 'static,
    take: fn(&mut Stream, &[u8]),
    log: File,
    seen: Arc<Mutex<Stream>>,
    tick: SyncSender<()>,
) {
    std::thread::spawn(move || {
        let mut log = Some(log);
        let mut lines = Lines::default();
        let mut part = vec![0; 64 * 1024];
        loop {
            let count = pipe.read(&mut part).unwrap_or(0);
            let bytes = part.get(..count).unwrap_or_default();
            // A full disk ends the log, not the agent.
            log.take_if(|log| log.write_all(bytes).is_err());
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.heard = Some(Instant::now());
            // The end of the output also ends its last line.
            let bytes = if count == 0 { b"\n" } else { bytes };
            lines.feed(bytes, |line| take(&mut seen, line));
            drop(seen);
            let _ = tick.try_send(());
            if count == 0 {
                return;
            }
        }
    });
}

/// Parses the log of an agent from offset `from`.
pub fn seen_in_log(path: &Utf8Path, from: u64, earlier: Totals) -> io::Result<Stream> {
    let mut seen = Stream::of_agent_in("", earlier);
    each_line_of_log(path, from, |line| seen.line(line))?;
    Ok(seen)
}

/// Passes each line of a log from offset `from` to `take`.
pub fn each_line_of_log(path: &Utf8Path, from: u64, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut log = state::open_regular(path)?;
    log.seek(SeekFrom::Start(from))?;
    let (mut lines, mut part) = (Lines::default(), vec![0; 64 * 1024]);
    loop {
        let count = log.read(&mut part)?;
        let bytes = if count == 0 { b"\n" } else { part.get(..count).unwrap_or_default() };
        lines.feed(bytes, &mut take);
        if count == 0 {
            return Ok(());
        }
    }
}

/// Splits bytes into lines; lines that are too long are skipped.
#[derive(Debug, Default)]
struct Lines {
    begun: Vec<u8>,
    too_long: bool,
}

impl Lines {
    fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8])) {
        let mut parts = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            if self.begun.len() + part.len() > LONGEST_LINE {
                self.too_long = true;
                self.begun = Vec::new();
            } else if !self.too_long {
                self.begun.extend_from_slice(part);
            }
            if parts.peek().is_some() {
                if !self.too_long && !self.begun.is_empty() {
                    each(&self.begun);
                }
                self.begun.clear();
                self.too_long = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(parts: &[&[u8]], expected: &[&str]) {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        let mut each = |line: &[u8]| found.push(String::from_utf8_lossy(line).into_owned());
        for part in parts {
            lines.feed(part, &mut each);
        }
        lines.feed(b"\n", &mut each);
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_are_reassembled_from_any_chunks() {
        check(&[b"a\nb", b"c\n\nd"], &["a", "bc", "d"]);
        check(&[b"", b"\n\n"], &[]);
    }

    #[test]
    fn overlong_lines_are_skipped() {
        let long = vec![b'x'; LONGEST_LINE];
        check(&[b"a\n", &long, &long, b"x\nb\n"], &["a", "b"]);
    }
}
