//! Reads the end of a file that may be very large.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use camino::Utf8Path;

use super::read;

/// What is read at a time, going backwards.
const CHUNK: u64 = 64 * 1024;

/// The last `count` lines, oldest first, without their newlines; at most `limit` bytes are read,
/// and a first line that the limit cuts is left out.
pub fn last_lines(path: &Utf8Path, count: usize, limit: u64) -> io::Result<Vec<Vec<u8>>> {
    last_lines_since(path, 0, count, limit)
}

/// The same of what was written since the file was so many bytes long; of all of it where the file
/// is shorter now.
pub(super) fn last_lines_since(
    path: &Utf8Path,
    since: u64,
    count: usize,
    limit: u64,
) -> io::Result<Vec<Vec<u8>>> {
    let mut file = read::open_regular(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    // The newline before it comes along, so that the first line is known to be whole.
    let first = if since <= length { since.saturating_sub(1) } else { 0 };
    let mut start = length;
    let mut end = Vec::new();
    while start > first && length - start < limit && newlines(&end) <= count {
        let step = CHUNK.min(start - first).min(limit - (length - start));
        start -= step;
        let mut chunk = read_at(&mut file, start, step)?;
        chunk.append(&mut end);
        end = chunk;
    }
    if end.last() == Some(&b'\n') {
        end.pop();
    }
    let mut lines: Vec<Vec<u8>> = end.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if length == 0 {
        lines.clear();
    }
    if start > 0 && !lines.is_empty() {
        lines.remove(0);
    }
    Ok(lines.split_off(lines.len().saturating_sub(count)))
}

fn read_at(file: &mut File, start: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut chunk = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.take(length).read_to_end(&mut chunk)?;
    Ok(chunk)
}

fn newlines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    fn check(content: &str, count: usize, limit: u64, expected: &[&str]) {
        let scratch = Scratch::new();
        let path = scratch.file("log", content);
        let lines = last_lines(&path, count, limit).unwrap();
        let lines: Vec<&str> = lines.iter().map(|l| std::str::from_utf8(l).unwrap()).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn takes_the_last_lines() {
        check("", 3, 1000, &[]);
        check("a", 3, 1000, &["a"]);
        check("a\nb\nc\n", 2, 1000, &["b", "c"]);
        check("a\nb\ntorn", 2, 1000, &["b", "torn"]);
        check("a\n\nb\n", 2, 1000, &["", "b"]);
    }

    #[test]
    fn leaves_out_a_line_that_the_limit_cuts() {
        check("long first line\nb\nc\n", 9, 8, &["b", "c"]);
    }

    #[test]
    fn crosses_chunks() {
        let line = "y".repeat(50_000);
        let content = format!("{line}1\n{line}2\n{line}3\n");
        check(&content, 2, u64::MAX, &[&format!("{line}2"), &format!("{line}3")]);
    }
}
