//! Checkboxes: their syntax, the state they show, and lookalikes.

use super::story::State;
use super::syntax;
use std::ops::Range;

/// The checkbox at the start of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Checkbox {
    /// The range that ticking changes: the character between the brackets, or `☐`.
    pub(super) mark: Range<usize>,
    /// The range of the text after the box.
    pub(super) text: Range<usize>,
}

/// Boxes that are a single character: open and done.
pub(super) const BALLOT_OPEN: &str = "☐";
pub(super) const BALLOT_DONE: &str = "☑";
const BALLOTS: [&str; 2] = [BALLOT_OPEN, BALLOT_DONE];

/// The mark of a story that an agent added and nobody has accepted.
pub(super) const HELD: &str = "?";

/// The variation selector that turns a character into an emoji, as phones write check marks.
const AS_PICTURE: &str = "\u{fe0f}";

/// Bullets that word processors write instead of `-`.
const BULLETS: [&str; 7] = ["•", "◦", "‣", "▪", "·", "–", "—"];

/// Characters that people use as boxes but that may also be ordinary text.
const LOOKALIKES: [&str; 8] = ["( )", "[] ", "☒", "⬜", "□", "▢", "◻", "🔲"];

/// Returns the state that a mark shows.
pub(super) fn state(mark: &[u8]) -> State {
    let text = std::str::from_utf8(mark).unwrap_or_default();
    match text.trim_end_matches(AS_PICTURE) {
        "x" | "X" | "✓" | "✔" | BALLOT_DONE => State::Done,
        "!" | HELD => State::Blocked,
        _ => State::Open,
    }
}

/// Reads a box: `☐`, or brackets around one character, spaces or nothing.
///
/// White space must follow the brackets. It may be missing after the usual marks, because people
/// forget it, unless the next character makes the brackets a link. A box without any text does not
/// count.
pub(super) fn checkbox(content: &[u8]) -> Option<Checkbox> {
    let (mark, end) = bracketed(content).or_else(|| ballot(content))?;
    let text = syntax::trim(content, end..content.len());
    (!text.is_empty()).then_some(Checkbox { mark, text })
}

/// Returns the range of the mark in `[x]`, and the offset of the text after the box.
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

/// Returns the range of a single-character box, and the offset of the text after it.
fn ballot(content: &[u8]) -> Option<(Range<usize>, usize)> {
    let glyph = BALLOTS.into_iter().find(|glyph| content.starts_with(glyph.as_bytes()))?;
    let behind = content.get(glyph.len()..)?;
    let is_picture = behind.starts_with(AS_PICTURE.as_bytes());
    let end = glyph.len() + if is_picture { AS_PICTURE.len() } else { 0 };
    Some((0..end, end))
}

/// Returns whether a mark is a single-character box.
pub(super) fn is_ballot(mark: &[u8]) -> bool {
    BALLOTS.iter().any(|glyph| mark.starts_with(glyph.as_bytes()))
}

/// Returns whether a mark occurs only in boxes.
fn is_plain(mark: &[u8]) -> bool {
    matches!(mark, b" " | b"\t") || is_ballot(mark) || state(mark) != State::Open
}

/// Returns the offset of the box in a line that is not a Markdown list item but is clearly meant as
/// one: `-[ ] x`, `• [ ] x`, or `[ ] x` alone.
pub(super) fn unlisted(rest: &[u8]) -> Option<usize> {
    let start = marker(rest);
    let content = rest.get(start..)?;
    let found = checkbox(content)?;
    let before_text = content.get(found.text.start.checked_sub(1)?)?;
    (is_plain(content.get(found.mark)?) && before_text.is_ascii_whitespace()).then_some(start)
}

/// Returns the length of a list marker or its substitute, including the spaces after it.
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

/// Returns whether a line without a box looks like it has one, so that it is not skipped silently.
/// Lines that also show a done box are taken as explanations of the marks.
pub(super) fn looks_like_one(rest: &[u8]) -> bool {
    // Fast path: most lines are plain text.
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

    /// Cases that no plan of the fixtures has.
    #[test]
    fn one_character_in_brackets_is_a_checkbox_unless_it_is_a_link() {
        for yes in ["[!]\ta", "[x]**a**", "☑️ a"] {
            assert!(checkbox(yes.as_bytes()).is_some(), "{yes}");
        }
        for no in ["[](url)", "[ ]", "[x]: u", "a [ ]", "[a", "☐", "( ) a", "[x y] a"] {
            assert!(checkbox(no.as_bytes()).is_none(), "{no}");
        }
        assert!(checkbox(b"[\xe9] latin-1").is_some());
        assert!(["✗", "xx"].iter().all(|mark| state(mark.as_bytes()) == State::Open));
    }

    #[test]
    fn boxes_without_a_list_marker_and_lookalikes_are_told_from_text() {
        assert_eq!(unlisted(b"*[x] a"), Some(1));
        for no in ["[] a", "[x]: https://example.org", "[ ]a", "text [ ] a"] {
            assert_eq!(unlisted(no.as_bytes()), None, "{no}");
        }
        assert!(["- ⬜ a", "[] a"].iter().all(|line| looks_like_one(line.as_bytes())));
        for no in ["`[ ]` is open", "[ ](url)", "f( )", "a[0]", "[text] a"] {
            assert!(!looks_like_one(no.as_bytes()), "{no}");
        }
    }
}
