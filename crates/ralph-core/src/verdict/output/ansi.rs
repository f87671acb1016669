//! Removes terminal control sequences from a text. Nothing is rendered: a cursor movement becomes a
//! line break, which is enough to read summaries.

use std::borrow::Cow;

/// The longest sequence; longer ones are hostile text, and the limit keeps stripping linear.
const LONGEST_SEQUENCE: usize = 256;

/// The characters that start a control sequence.
const CONTROLS: [char; 3] = ['\u{1b}', '\r', '\u{8}'];

/// Returns `text` without colours, titles and cursor movements; `\r` becomes a line break.
pub(crate) fn strip(text: Cow<'_, str>) -> Cow<'_, str> {
    if !has_controls(&text) {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(at) = rest.find(CONTROLS) {
        let (before, found) = rest.split_at(at);
        plain.push_str(before);
        rest = match found.strip_prefix('\u{1b}') {
            Some(sequence) => skip_sequence(sequence, &mut plain),
            None => {
                if found.starts_with('\r') && !found.starts_with("\r\n") {
                    plain.push('\n');
                }
                found.get(1..).unwrap_or_default()
            }
        };
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Returns whether a text has control characters; most have none. Folds whole blocks without an
/// early exit, so that the comparison is vectorised.
fn has_controls(text: &str) -> bool {
    let is_control = |byte: &u8| matches!(byte, 0x1b | b'\r' | 0x08);
    text.as_bytes()
        .chunks(64)
        .any(|block| block.iter().fold(false, |found, byte| found | is_control(byte)))
}

/// Skips the sequence after an escape character and returns the text after it.
fn skip_sequence<'a>(sequence: &'a str, plain: &mut String) -> &'a str {
    if let Some(body) = sequence.strip_prefix('[') {
        return skip_control(body, plain);
    }
    if let Some(body) = sequence.strip_prefix(']') {
        return skip_title(body);
    }
    let mut chars = sequence.chars();
    match chars.next() {
        // Selecting a character set takes one more character: `ESC ( B`.
        Some('(' | ')' | '#' | '%') => {
            chars.next();
            chars.as_str()
        }
        Some(c) if c.is_ascii() => chars.as_str(),
        _ => sequence,
    }
}

fn skip_control<'a>(body: &'a str, plain: &mut String) -> &'a str {
    let end = body.bytes().take(LONGEST_SEQUENCE).position(|byte| (0x40..=0x7e).contains(&byte));
    let Some(end) = end else { return body };
    match body.as_bytes().get(end) {
        Some(b'A' | b'B' | b'E' | b'F' | b'G' | b'H' | b'J' | b'f') => plain.push('\n'),
        Some(b'C') => plain.push(' '),
        _ => {}
    }
    body.get(end + 1..).unwrap_or_default()
}

/// Skips a title or link, which ends with BEL or `ESC \`.
fn skip_title(body: &str) -> &str {
    let end = body.bytes().take(LONGEST_SEQUENCE).position(|byte| byte == 0x07 || byte == 0x1b);
    let Some(end) = end else { return body };
    let behind = body.get(end..).unwrap_or_default();
    behind.strip_prefix('\u{7}').or_else(|| behind.strip_prefix("\u{1b}\\")).unwrap_or(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_removed_and_cursor_jumps_become_line_breaks() {
        for (text, expected) in [
            ("\u{1b}[1;31mFAIL\u{1b}[0m x", "FAIL x"),
            ("\u{1b}]0;title\u{7}ok", "ok"),
            ("\u{1b}]8;;http://x\u{1b}\\link", "link"),
            ("\u{1b}(B\u{1b}[mplain", "plain"),
            ("a\u{1b}[1Gb", "a\nb"),
            ("10%\r20%\r\nend", "10%\n20%\nend"),
            ("\u{1b}[", ""),
            ("\u{1b}é", "é"),
        ] {
            assert_eq!(strip(text.into()), expected);
        }
    }
}
