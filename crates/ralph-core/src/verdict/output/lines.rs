//! The examined part of an output, as lines without colours.
//!
//! Summaries are at the end and compile errors at the beginning, so both ends of a large output are
//! enough; the middle is dropped to keep hooks fast.

use std::borrow::Cow;

use super::ansi;

/// The number of bytes examined at the beginning.
const HEAD: usize = 64 * 1024;
/// The number of bytes examined at the end.
const TAIL: usize = 192 * 1024;

/// The text of an output, without colours.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    plain: Cow<'a, str>,
}

impl<'a> Text<'a> {
    /// Combines the inline output with the end of the file that has the complete output, if any.
    pub(crate) fn new(output: &'a str, end: Option<&'a str>) -> Self {
        let plain = ansi::strip(bounded(output));
        match end {
            None => Self { plain },
            Some(end) => Self { plain: plain + "\n" + ansi::strip(bounded(end)) },
        }
    }

    /// Returns the whole text.
    pub(crate) fn as_str(&self) -> &str {
        &self.plain
    }

    /// Returns the lines without trailing blanks, and whether each one is plain; see `plain_part`.
    pub(crate) fn lines_by_kind(&self) -> impl Iterator<Item = (&str, bool)> {
        let mut rest = Some(self.as_str());
        std::iter::from_fn(move || {
            let text = rest?;
            let (length, is_plain) = plain_part(text);
            let behind = text.get(length..).unwrap_or_default();
            let end = length + if is_plain { 0 } else { behind.find('\n').unwrap_or(behind.len()) };
            rest = text.get(end + 1..);
            Some((text.get(..end).unwrap_or_default().trim_end(), is_plain))
        })
    }

    /// Returns the lines without trailing blanks.
    pub(crate) fn lines(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.plain.split('\n').map(str::trim_end)
    }
}

/// Returns `text`, or its two ends with a line break in between.
fn bounded(text: &str) -> Cow<'_, str> {
    if text.len() <= HEAD + TAIL {
        return text.into();
    }
    let head = text.get(..text.floor_char_boundary(HEAD)).unwrap_or_default();
    let tail = text.get(text.ceil_char_boundary(text.len() - TAIL)..).unwrap_or_default();
    format!("{head}\n{tail}").into()
}

/// Kinds of bytes, as bits.
const LETTER: u8 = 1;
const UNDERSCORE: u8 = 2;
const SPACE: u8 = 4;
/// Bytes that must not precede a space.
const BREAK: u8 = 8;
const END: u8 = 16;
const OTHER: u8 = 32;

/// The kind of each byte; digits, dots and slashes have none.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which would refuse it")]
static KINDS: [u8; 256] = {
    let mut kinds = [OTHER; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' => LETTER,
            b'0'..=b'9' | b'.' | b'/' => 0,
            b'_' => UNDERSCORE,
            b' ' => SPACE | BREAK,
            b':' | b'-' => BREAK,
            b'\n' => END,
            _ => OTHER,
        };
        byte += 1;
    }
    kinds
};

/// Returns how far the first line of `text` is plain, and whether that is up to its end.
pub(super) fn plain_part(text: &str) -> (usize, bool) {
    let indent = text.bytes().take_while(|byte| *byte == b' ').count();
    let (mut before, mut names) = (BREAK, 0);
    for (at, byte) in text.bytes().enumerate().skip(indent) {
        let kind = KINDS.get(usize::from(byte)).copied().unwrap_or(OTHER);
        if kind & (END | OTHER) != 0 || kind & SPACE != 0 && before & BREAK != 0 {
            return (at, kind == END && names != 0);
        }
        // A line with an identifier: an underscore after a letter.
        names |= (kind >> 1) & before & LETTER;
        before = kind;
    }
    (text.len(), names != 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lines_by_kind_returns_the_same_lines(text in "([ab_ \n\té:.-]|a_b |\n\n){0,24}") {
            let text = Text::new(&text, None);
            let by_kind: Vec<&str> = text.lines_by_kind().map(|(line, _)| line).collect();
            prop_assert_eq!(by_kind, text.lines().collect::<Vec<_>>());
            for (line, is_plain) in text.lines_by_kind().filter(|(_, is_plain)| *is_plain) {
                prop_assert_eq!(plain_part(line.trim()), (line.trim().len(), is_plain));
            }
        }
    }

    #[test]
    fn the_end_of_the_file_follows_the_inline_output() {
        let text = Text::new("first\n", Some("\u{1b}[31mlast\u{1b}[0m"));
        assert_eq!(text.lines().collect::<Vec<_>>(), ["first", "", "last"]);
    }

    #[test]
    fn a_very_large_output_is_cut_to_its_start_and_end() {
        let middle = "é".repeat(HEAD + TAIL);
        let text = format!("start\n{middle}\nend");
        let bounded = bounded(&text);
        assert!(bounded.len() <= HEAD + TAIL + 1);
        assert!(bounded.starts_with("start\n") && bounded.ends_with("\nend"));
    }

    #[test]
    fn only_lines_with_an_identifier_and_no_structure_are_plain() {
        for (text, expected) in [
            ("test a::is_b ... ok\nnext", (19, true)),
            ("   is_b", (7, true)),
            ("is_b \n", (5, true)),
            ("test a ... ok\n", (13, false)),
            ("is_b: 3\n", (5, false)),
            ("is_b  3\n", (5, false)),
            ("is_b, 3 failed\n", (4, false)),
            ("is_é\n", (3, false)),
            ("\nis_b", (0, false)),
            ("8_ x", (4, false)),
        ] {
            assert_eq!(plain_part(text), expected, "{text:?}");
        }
    }
}
