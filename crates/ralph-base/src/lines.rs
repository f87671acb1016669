//! Splits bytes into lines without changing them, and turns offsets into line numbers.
//!
//! Works on bytes because a plan may hold text of any encoding. `\n`, `\r\n` and a lone `\r` all
//! end a line, also mixed in one file. Callers interpret the lines.

/// The byte order mark that some editors put in front of UTF-8 text.
pub const BOM: &[u8] = b"\xef\xbb\xbf";

/// One line of a file.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// The line number, counted from one.
    pub number: usize,
    /// Offset of its first byte.
    pub start: usize,
    /// Its bytes without the line ending.
    pub text: &'a [u8],
}

impl Line<'_> {
    /// Returns the offset of the end of its text, before the line ending.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Returns the lines of `bytes`, without a byte order mark.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mut start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let mut number = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(start..).filter(|rest| !rest.is_empty())?;
        let length = rest.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(rest.len());
        let (text, ending) = rest.split_at(length);
        number += 1;
        let line = Line { number, start, text };
        start += length + if ending.starts_with(b"\r\n") { 2 } else { ending.len().min(1) };
        Some(line)
    })
}

/// Returns the line ending of the first line, which stands for the whole file.
pub fn ending(bytes: &[u8]) -> &'static str {
    let first = bytes.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(bytes.len());
    match bytes.get(first..) {
        Some([b'\r', b'\n', ..]) => "\r\n",
        Some([b'\r', ..]) => "\r",
        _ => "\n",
    }
}

/// Answers "on which line is this offset?" without counting from the top each time.
pub struct LineNumbers(Vec<usize>);

impl LineNumbers {
    /// Indexes the lines of a file.
    pub fn new(bytes: &[u8]) -> Self {
        Self(lines(bytes).map(|line| line.start).collect())
    }

    /// Returns the number of the line that contains `offset`, counted from one.
    pub fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: &[&str]) {
        let found: Vec<_> =
            lines(input.as_bytes()).map(|line| String::from_utf8_lossy(line.text)).collect();
        assert_eq!(found, expected, "{input:?}");
    }

    #[test]
    fn every_kind_of_line_ending_ends_a_line() {
        check("", &[]);
        check("a", &["a"]);
        check("a\n", &["a"]);
        check("a\r\nb\nc\rd", &["a", "b", "c", "d"]);
        check("\n\r\n\r", &["", "", ""]);
        check("\u{feff}a\nb", &["a", "b"]);
    }

    #[test]
    fn an_offset_maps_to_the_line_that_contains_it() {
        let numbers = LineNumbers::new(b"ab\r\ncd\n");
        assert_eq!([0, 3, 4, 6].map(|at| numbers.at(at)), [1, 1, 2, 2]);
        assert_eq!(LineNumbers::new(b"").at(0), 1);
    }

    #[test]
    fn the_first_line_ending_determines_that_of_the_file() {
        assert_eq!(ending(b"a\r\nb\n"), "\r\n");
        assert_eq!(ending(b"\nb\r\n"), "\n");
        assert_eq!(ending(b"a\rb"), "\r");
        assert_eq!(ending(b"none"), "\n");
    }
}
