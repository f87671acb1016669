//! The syntax of a single Markdown line: fence, heading, rule, list item, comment.
//!
//! Looks at one line at a time; `blocks.rs` combines lines into blocks. Boxes are in `checkbox.rs`.

use std::ops::Range;

/// Returns the width of the leading white space, with tab stops every four columns, and its length.
pub(super) fn indent(text: &[u8]) -> (usize, usize) {
    let mut width = 0;
    for (length, byte) in text.iter().enumerate() {
        match byte {
            b' ' => width += 1,
            b'\t' => width += 4 - width % 4,
            _ => return (width, length),
        }
    }
    (width, text.len())
}

/// An open code fence: its character and length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    mark: u8,
    length: usize,
}

impl Fence {
    /// Returns the fence that `rest` (a line without its indent) opens.
    pub(super) fn opened_by(rest: &[u8]) -> Option<Self> {
        let mark = *rest.first().filter(|mark| matches!(mark, b'`' | b'~'))?;
        let length = run(rest, mark);
        let info = rest.get(length..)?;
        // With more backticks on the line it is inline code, such as ```` ```x``` ````.
        (length >= 3 && !(mark == b'`' && info.contains(&b'`'))).then_some(Self { mark, length })
    }

    /// Returns whether `rest` closes this fence.
    pub(super) fn closed_by(self, rest: &[u8]) -> bool {
        let length = run(rest, self.mark);
        length >= self.length && is_blank(rest.get(length..).unwrap_or_default())
    }
}

/// Returns the level and the text (as a range of `rest`) of a `# heading`.
pub(super) fn atx_heading(rest: &[u8]) -> Option<(usize, Range<usize>)> {
    let level = run(rest, b'#');
    let behind = rest.get(level..)?;
    if !(1..=6).contains(&level) || behind.first().is_some_and(|b| !matches!(b, b' ' | b'\t')) {
        return None;
    }
    let text = trim(rest, level..rest.len());
    let inner = rest.get(text.clone())?;
    let hashes = inner.iter().rev().take_while(|b| **b == b'#').count();
    let kept = inner.len() - hashes;
    let closing = kept == 0 || inner.get(kept - 1).is_some_and(|b| matches!(b, b' ' | b'\t'));
    let end = if closing { text.start + kept } else { text.end };
    Some((level, trim(rest, text.start..end)))
}

/// Returns whether `rest` is a horizontal rule such as `---` or `* * *`.
pub(super) fn is_rule(rest: &[u8]) -> bool {
    let Some(mark) = rest.first().filter(|mark| matches!(mark, b'-' | b'*' | b'_')) else {
        return false;
    };
    rest.iter().all(|b| b == mark || matches!(b, b' ' | b'\t'))
        && rest.iter().filter(|b| *b == mark).count() >= 3
}

/// Returns the offset of the content after a list marker (`-`, `*`, `+`, `1.`, `1)`) in `rest`.
pub(super) fn list_content(rest: &[u8]) -> Option<usize> {
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let marker = rest.get(digits)?;
    let is_marker = match digits {
        0 => matches!(marker, b'-' | b'*' | b'+'),
        1..=9 => matches!(marker, b'.' | b')'),
        _ => false,
    };
    let behind = rest.get(digits + 1..).unwrap_or_default();
    let (_, gap) = indent(behind);
    (is_marker && (gap > 0 || behind.is_empty())).then_some(digits + 1 + gap)
}

/// Returns whether a comment begins on this line and does not end on it.
pub(super) fn opens_comment(text: &[u8]) -> bool {
    let text = outside_code(&String::from_utf8_lossy(text));
    // The opening dashes may also be the closing ones: `<!-->` is a complete comment.
    text.rfind("<!--")
        .is_some_and(|at| text.get(at + 2..).is_some_and(|rest| !rest.contains("-->")))
}

/// Removes inline code from a line; a backtick without a partner counts as an apostrophe.
pub(super) fn outside_code(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    let is_plain = |at: &usize| at.is_multiple_of(2) || at + 1 == pieces.len();
    pieces.iter().enumerate().filter(|(at, _)| is_plain(at)).map(|(_, piece)| *piece).collect()
}

/// Returns the position of the first `needle` in `text`.
pub(super) fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|window| window == needle)
}

pub(super) fn is_blank(text: &[u8]) -> bool {
    text.trim_ascii().is_empty()
}

fn run(text: &[u8], mark: u8) -> usize {
    text.iter().take_while(|b| **b == mark).count()
}

/// Shrinks `range` of `text` to exclude white space at both ends.
pub(super) fn trim(text: &[u8], range: Range<usize>) -> Range<usize> {
    let inner = text.get(range.clone()).unwrap_or_default();
    let start = range.start + (inner.len() - inner.trim_ascii_start().len());
    start..start + inner.trim_ascii().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_markers_need_a_space_after_them() {
        for (rest, expected) in [
            ("*\ta", Some(2)),
            ("+   a", Some(4)),
            ("-a", None),
            ("1a. x", None),
            ("1234567890. x", None),
        ] {
            assert_eq!(list_content(rest.as_bytes()), expected, "{rest}");
        }
    }

    #[test]
    fn heading_marks_are_stripped() {
        for (rest, expected) in [
            ("# C#", Some((1, "C#"))),
            ("##", Some((2, ""))),
            ("####### seven", None),
            ("#tag", None),
        ] {
            let found = atx_heading(rest.as_bytes()).map(|(level, text)| (level, &rest[text]));
            assert_eq!(found, expected, "{rest}");
        }
    }

    #[test]
    fn a_fence_is_closed_by_marks_without_text() {
        let fence = Fence::opened_by(b"````rust").unwrap();
        assert!(!fence.closed_by(b"```` x") && fence.closed_by(b"````` "));
        assert_eq!(Fence::opened_by(b"```x```"), None);
        assert!(Fence::opened_by(b"~~~ a`b").is_some());
    }

    #[test]
    fn unclosed_comments_are_detected_except_in_code() {
        for open in ["a <!-- b", "<!-- a --> <!-- b", "don`t <!-- b", "`a` <!--"] {
            assert!(opens_comment(open.as_bytes()), "{open}");
        }
        for closed in ["a", "<!-- a -->", "<!-->", "`<!--`", "x ` <!-- a --> y"] {
            assert!(!opens_comment(closed.as_bytes()), "{closed}");
        }
    }
}
