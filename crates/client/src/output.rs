//! Streams the agent's output: every byte goes to the log, every line to a line handler.
//! Memory use is constant, however much the agent prints.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state;

use super::{Stream, Totals};

/// Longer lines are logged, but not parsed.
const LONGEST_LINE: usize = 2 * 1024 * 1024;

/// Reads the pipe to its end in a separate thread and passes each line to `take`. `tick` wakes the
/// waiting thread; if that channel is full, the thread is already awake.
pub(super) fn follow(
    mut pipe: impl Read + Send + 'static,
    take: fn(&mut Stream, &[u8]),
    log: Arc<Mutex<Log>>,
    seen: Arc<Mutex<Stream>>,
    tick: SyncSender<()>,
) -> io::Result<()> {
    let read = move || {
        let mut lines = Lines::default();
        let mut part = vec![0; 64 * 1024];
        loop {
            let count = pipe.read(&mut part).unwrap_or(0);
            let bytes = part.get(..count).unwrap_or_default();
            log.lock().unwrap_or_else(PoisonError::into_inner).add(bytes);
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.heard = Some(Instant::now());
            seen.printed += count as u64;
            // The end of the output also ends its last line.
            let bytes = if count == 0 { b"\n" } else { bytes };
            lines.feed(bytes, |line| take(&mut seen, line));
            drop(seen);
            let _ = tick.try_send(());
            if count == 0 {
                return;
            }
        }
    };
    std::thread::Builder::new().spawn(read).map(drop)
}

/// The log of an agent, from which the middle is cut out when it gets too long.
#[derive(Debug)]
pub struct Log {
    path: Utf8PathBuf,
    /// `None` after an error: a full disk ends the log, not the agent.
    file: Option<File>,
    most: u64,
    left_out: u64,
    /// The length of the line that says so.
    said: u64,
}

impl Log {
    /// Opens a log that may have `most` bytes; 0 means any number.
    pub fn open(path: &Utf8Path, most: u64) -> io::Result<Self> {
        let file = Some(state::open_log(path)?);
        Ok(Self { path: path.to_owned(), file, most, left_out: 0, said: 0 })
    }

    fn add(&mut self, bytes: &[u8]) {
        let Some(mut file) = self.file.take() else { return };
        let added = file.write_all(bytes).and_then(|()| file.metadata());
        if added.and_then(|facts| self.cut(facts.len())).is_ok() {
            self.file = Some(file);
        }
    }

    /// Keeps the first half, and as much of the end as leaves room for more.
    fn cut(&mut self, size: u64) -> io::Result<()> {
        if self.most == 0 || size <= self.most {
            return Ok(());
        }
        let (mut from, mut to) = (size - self.most / 4, self.most / 2);
        self.left_out += from - to - self.said;
        let file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        let words = format!("\n[… {} bytes omitted …]\n", self.left_out);
        file.write_all_at(words.as_bytes(), to)?;
        self.said = words.len() as u64;
        to += self.said;
        let mut part = vec![0; 64 * 1024];
        while let count @ 1.. = file.read_at(&mut part, from)? {
            file.write_all_at(part.get(..count).unwrap_or_default(), to)?;
            (from, to) = (from + count as u64, to + count as u64);
        }
        file.set_len(to)
    }
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
    fn the_middle_of_a_long_log_is_cut_out() {
        let scratch = test_support::Scratch::new();
        let path = scratch.path("log");
        let mut log = Log::open(&path, 4000).unwrap();
        for number in 0..2000 {
            log.add(format!("line {number}\n").as_bytes());
            assert!(path.metadata().unwrap().len() <= 4000);
        }
        let text = fs_err::read_to_string(&path).unwrap();
        assert!(text.starts_with("line 0\nline 1\n") && text.ends_with("line 1998\nline 1999\n"));
        let omitted: u64 = (0..2000).map(|number| format!("line {number}\n").len() as u64).sum();
        let (_, rest) = text.split_once("\n[… ").unwrap();
        let (count, end) = rest.split_once(" bytes omitted …]\n").unwrap();
        assert_eq!(count.parse::<u64>().unwrap() + 2000 + end.len() as u64, omitted);
    }

    #[test]
    fn overlong_lines_are_skipped() {
        let long = vec![b'x'; LONGEST_LINE];
        check(&[b"a\n", &long, &long, b"x\nb\n"], &["a", "b"]);
    }
}
