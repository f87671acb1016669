//! Reads the end of a file that may be very large.

use std::io::{self, Read, Seek, SeekFrom};

use camino::Utf8Path;

use super::read;

/// The last whole lines of a file within so many bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tail {
    /// How long the file is.
    pub length: u64,
    /// Where the first of the lines begins.
    pub start: u64,
    /// The lines, from the first to the end of the file.
    pub bytes: Vec<u8>,
}

/// Reads the end of a file; a first line that the limit cuts is left out.
pub fn tail(path: &Utf8Path, limit: u64) -> io::Result<Tail> {
    let mut file = read::open_regular(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    let mut start = length.saturating_sub(limit);
    file.seek(SeekFrom::Start(start))?;
    // Asked for in one piece: reading to the end would feel its way with many small reads.
    let mut bytes = Vec::with_capacity(usize::try_from(length - start).unwrap_or_default() + 1);
    file.take(length - start).read_to_end(&mut bytes)?;
    if start > 0 {
        let cut = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        bytes.drain(..cut);
        start += cut as u64;
    }
    Ok(Tail { length, start, bytes })
}

impl Tail {
    /// The lines, oldest first, without their newlines.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        let text = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        text.split(|byte| *byte == b'\n').filter(|_| !self.bytes.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    fn check(content: &str, limit: u64, expected: &[&str]) {
        let scratch = Scratch::new();
        let tail = tail(&scratch.file("log", content), limit).unwrap();
        let lines: Vec<&str> = tail.lines().map(|l| std::str::from_utf8(l).unwrap()).collect();
        assert_eq!(lines, expected);
        assert_eq!(tail.length, content.len() as u64);
        assert_eq!(&content.as_bytes()[tail.start as usize..], tail.bytes);
    }

    #[test]
    fn all_of_a_short_file_is_its_end() {
        check("", 1000, &[]);
        check("a", 1000, &["a"]);
        check("a\n\nb\n", 1000, &["a", "", "b"]);
        check("a\nb\ntorn", 1000, &["a", "b", "torn"]);
    }

    #[test]
    fn leaves_out_a_line_that_the_limit_cuts() {
        check("long first line\nb\nc\n", 8, &["b", "c"]);
        check("one long line", 8, &[]);
    }
}
