//! Boxes: how one is written, which state it shows, and what only looks like one.

use super::story::State;
use super::syntax;
use std::ops::Range;

/// The checkbox that a text begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Checkbox {
    /// What ticking changes, as a range of the text: the character between the brackets, or `☐`.
    pub(super) mark: Range<usize>,
    /// The text behind it.
    pub(super) text: Range<usize>,
}

/// Boxes that are a character of their own: open, and done.
pub(super) const BALLOT_OPEN: &str = "☐";
pub(super) const BALLOT_DONE: &str = "☑";
const BALLOTS: [&str; 2] = [BALLOT_OPEN, BALLOT_DONE];

/// What makes a picture of the character before it, as phones write check marks.
const AS_PICTURE: &str = "\u{fe0f}";

/// What word processors write where Markdown wants a `-`.
const BULLETS: [&str; 7] = ["•", "◦", "‣", "▪", "·", "–", "—"];

/// What people draw boxes with, and what may as well be other text.
const LOOKALIKES: [&str; 8] = ["( )", "[] ", "☒", "⬜", "□", "▢", "◻", "🔲"];

/// The state that the mark of a box shows.
pub(super) fn state(mark: &[u8]) -> State {
    let text = std::str::from_utf8(mark).unwrap_or_default();
    match text.trim_end_matches(AS_PICTURE) {
        "x" | "X" | "✓" | "✔" | BALLOT_DONE => State::Done,
        "!" => State::Blocked,
        _ => State::Open,
    }
}

/// Reads a box: one character between brackets, none at all or only spaces; or `☐`.
///
/// Behind brackets comes white space. People forget that space, so the usual marks do without it,
/// unless what follows makes a link of the brackets. A box without any text is a left-over and no
/// box.
pub(super) fn checkbox(content: &[u8]) -> Option<Checkbox> {
    let (mark, end) = bracketed(content).or_else(|| ballot(content))?;
    let text = syntax::trim(content, end..content.len());
    (!text.is_empty()).then_some(Checkbox { mark, text })
}

/// The mark of `[x]`, and where the text behind it begins.
fn bracketed(content: &[u8]) -> Option<(Range<usize>, usize)> {
    let inner = content.strip_prefix(b"[")?;
    let width = inner.iter().take(12).position(|b| *b == b']')?;
    let inside = syntax::trim(content, 1..width + 1);
    let range = if inside.is_empty() { 1..2.min(width + 1) } else { inside };
    let mark = content.get(range.clone())?;
    let is_one = match std::str::from_utf8(mark) {
        Ok(text) => text.trim_end_matches(AS_PICTURE).chars().count() <= 1,
        Err(_) => mark.len() == 1,
    };
    let behind = inner.get(width + 1..)?.first();
    let spaced = behind.is_none_or(|b| matches!(b, b' ' | b'\t'));
    let usual = is_plain(mark) || matches!(mark, b"-" | b"~");
    let linked = behind.is_some_and(|b| matches!(b, b'(' | b'[' | b':'));
    (is_one && (spaced || (usual && !linked))).then_some((range, width + 2))
}

/// A box that is one character, and where the text behind it begins.
fn ballot(content: &[u8]) -> Option<(Range<usize>, usize)> {
    let glyph = BALLOTS.into_iter().find(|glyph| content.starts_with(glyph.as_bytes()))?;
    let behind = content.get(glyph.len()..)?;
    let is_picture = behind.starts_with(AS_PICTURE.as_bytes());
    let end = glyph.len() + if is_picture { AS_PICTURE.len() } else { 0 };
    Some((0..end, end))
}

/// Whether a mark is a box by itself.
pub(super) fn is_ballot(mark: &[u8]) -> bool {
    BALLOTS.iter().any(|glyph| mark.starts_with(glyph.as_bytes()))
}

/// Whether a mark is one that only boxes have.
fn is_plain(mark: &[u8]) -> bool {
    matches!(mark, b" " | b"\t") || is_ballot(mark) || state(mark) != State::Open
}

/// Where the box begins in a line that is no list item by the rules of Markdown, but plainly meant
/// as one: `-[ ] x`, `• [ ] x`, or `[ ] x` alone.
pub(super) fn unlisted(rest: &[u8]) -> Option<usize> {
    let start = marker(rest);
    let content = rest.get(start..)?;
    let found = checkbox(content)?;
    let before_text = content.get(found.text.start.checked_sub(1)?)?;
    (is_plain(content.get(found.mark)?) && before_text.is_ascii_whitespace()).then_some(start)
}

/// The length of what may stand for a list marker, spaces behind it included.
fn marker(rest: &[u8]) -> usize {
    let bullet = BULLETS.into_iter().find(|bullet| rest.starts_with(bullet.as_bytes()));
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let length = match (bullet, rest.get(digits)) {
        (Some(bullet), _) => bullet.len(),
        (None, Some(b'-' | b'*' | b'+')) if digits == 0 => 1,
        (None, Some(b'.' | b')')) if digits > 0 => digits + 1,
        _ => return 0,
    };
    length + syntax::indent(rest.get(length..).unwrap_or_default()).1
}

/// Whether a line that holds no box looks as if it did: nobody should find out afterwards that it
/// was passed over. Where marks are explained, done ones stand beside the open ones.
pub(super) fn looks_like_one(rest: &[u8]) -> bool {
    // Most lines are plain text.
    if !rest.iter().any(|b| matches!(b, b'[' | b'(') || !b.is_ascii()) {
        return false;
    }
    let content = rest.get(marker(rest)..).unwrap_or_default();
    if LOOKALIKES.iter().any(|glyph| content.starts_with(glyph.as_bytes())) {
        return true;
    }
    let plain = syntax::outside_code(&String::from_utf8_lossy(rest));
    let is_empty_box = |(at, _): (usize, &str)| {
        let inside = plain.get(at + 1..).unwrap_or_default();
        let behind = inside.trim_start_matches(' ');
        behind.len() < inside.len() && behind.starts_with(']') && !behind.starts_with("](")
    };
    let explains = ["[x]", "[X]", BALLOT_DONE].iter().any(|done| plain.contains(done));
    !explains && (plain.contains(BALLOT_OPEN) || plain.match_indices('[').any(is_empty_box))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_character_between_brackets_is_a_box() {
        for yes in [
            "[ ] a",
            "[x] a",
            "[!]\ta",
            "[] a",
            "[✓] a",
            "[✔️] a",
            "[~] a",
            "[ ]a",
            "[x]**a**",
            "[  ] a",
            "[ x] a",
            "☐ a",
            "☑ a",
            "☑️ a",
        ] {
            assert!(checkbox(yes.as_bytes()).is_some(), "{yes}");
        }
        for no in [
            "[link](url)",
            "[text] a",
            "[x](url)",
            "[](url)",
            "[ ]",
            "[x]: u",
            "a [ ]",
            "[a",
            "☐",
            "( ) a",
            "[x y] a",
        ] {
            assert!(checkbox(no.as_bytes()).is_none(), "{no}");
        }
        assert!(checkbox(b"[\xe9] latin-1").is_some());
    }

    #[test]
    fn the_mark_is_one_character() {
        for (text, mark) in
            [("[ ] a", " "), ("[  ] a", " "), ("[ x] a", "x"), ("[] a", ""), ("☐ a", "☐")]
        {
            assert_eq!(&text[checkbox(text.as_bytes()).unwrap().mark], mark, "{text}");
        }
    }

    #[test]
    fn marks_show_a_state() {
        for (state_, marks) in [
            (State::Done, &["x", "X", "✓", "✔", "✔️", "☑"][..]),
            (State::Blocked, &["!"]),
            (State::Open, &[" ", "", "~", "-", "?", "☐", "✗", "xx"]),
        ] {
            assert!(marks.iter().all(|mark| state(mark.as_bytes()) == state_), "{state_:?}");
        }
    }

    #[test]
    fn boxes_without_a_proper_list_marker_are_boxes() {
        for (line, start) in [
            ("-[ ] a", Some(1)),
            ("*[x] a", Some(1)),
            ("1.[ ] a", Some(2)),
            ("[ ] a", Some(0)),
            ("[  ] a", Some(0)),
            ("☐ a", Some(0)),
            ("• [ ] a", Some(4)),
            ("–[!] a", Some(3)),
            ("[1] a footnote", None),
            ("[] a", None),
            ("[x]: https://example.org", None),
            ("[ ]a", None),
            ("text [ ] a", None),
        ] {
            assert_eq!(unlisted(line.as_bytes()), start, "{line}");
        }
    }

    #[test]
    fn what_looks_like_a_box_is_seen() {
        for yes in ["( ) a", "- ( ) a", "- ⬜ a", "☒ a", "[] a", "| US-001 | [ ] |", "a ☐", "- [ ]"]
        {
            assert!(looks_like_one(yes.as_bytes()), "{yes}");
        }
        for no in [
            "a",
            "`[ ]` is open",
            "[ ] is open, [x] is done",
            "[ ](url)",
            "f( )",
            "a[0]",
            "[text] a",
        ] {
            assert!(!looks_like_one(no.as_bytes()), "{no}");
        }
    }
}
