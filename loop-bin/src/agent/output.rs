//! The agent's output as it comes: every byte goes to the log, every line to the reader of lines.
//! Memory stays the same however much it prints.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};

use super::stream::Seen;

/// Longer lines are logged, but not looked into.
const LONGEST_LINE: usize = 2 * 1024 * 1024;

/// Which of its two outputs it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Out,
    Err,
}

/// Reads to the end in a thread of its own. `tick` wakes whoever waits; when it is full, they are
/// awake already.
pub(super) fn follow(
    mut pipe: impl Read + Send + 'static,
    source: Source,
    mut log: Option<File>,
    seen: Arc<Mutex<Seen>>,
    tick: SyncSender<()>,
) -> io::Result<()> {
    std::thread::Builder::new().spawn(move || {
        let mut lines = Lines::default();
        let mut part = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = pipe.read(&mut part) {
            let bytes = part.get(..count).unwrap_or_default();
            if log.as_mut().is_some_and(|log| log.write_all(bytes).is_err()) {
                // A full disk ends the log, not the agent.
                log = None;
            }
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.heard();
            lines.feed(bytes, |line| match source {
                Source::Out => seen.line(line),
                Source::Err => seen.complaint(line),
            });
            drop(seen);
            let _ = tick.try_send(());
        }
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        lines.finish(|line| match source {
            Source::Out => seen.line(line),
            Source::Err => seen.complaint(line),
        });
        drop(seen);
        let _ = tick.try_send(());
    })?;
    Ok(())
}

/// Cuts bytes into lines; a line that is too long is passed over.
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
                self.finish(&mut each);
            }
        }
    }

    fn finish(&mut self, mut each: impl FnMut(&[u8])) {
        if !self.too_long && !self.begun.is_empty() {
            each(&self.begun);
        }
        self.begun.clear();
        self.too_long = false;
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
        lines.finish(&mut each);
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_come_whole_however_they_are_cut() {
        check(&[b"a\nb", b"c\n\nd"], &["a", "bc", "d"]);
        check(&[b"", b"\n\n"], &[]);
    }

    #[test]
    fn a_line_without_end_is_passed_over() {
        let long = vec![b'x'; LONGEST_LINE];
        check(&[b"a\n", &long, &long, b"x\nb\n"], &["a", "b"]);
    }
}
