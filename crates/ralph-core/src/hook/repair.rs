//! Repairs input that is valid JSON except for broken characters.
//!
//! The client truncates long output by UTF-16 units, which may leave half of a surrogate pair,
//! written as `\ud83d`. Strict JSON parsers reject that, and a guard that cannot read a command
//! protects nothing.

use std::borrow::Cow;

/// The replacement character, as an escape.
const REPLACEMENT: &str = r"\ufffd";

/// The length of a `\uXXXX` escape.
const ESCAPE: usize = 6;

/// Replaces invalid UTF-8 and escapes of lone surrogates; everything else stays.
pub(super) fn repair(bytes: &[u8]) -> Cow<'_, [u8]> {
    let text = match std::str::from_utf8(bytes) {
        // Fast path: there is almost never anything to repair.
        Ok(text) if !text.contains(r"\ud") && !text.contains(r"\uD") => return bytes.into(),
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    };
    Cow::Owned(without_lone_surrogates(&text).into_bytes())
}

fn without_lone_surrogates(text: &str) -> String {
    let (mut repaired, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        repaired.push_str(before);
        let behind = escape.get(ESCAPE..).unwrap_or_default();
        let (written, length) = match (surrogate(escape), surrogate(behind)) {
            (Some(Half::High), Some(Half::Low)) => (escape.get(..2 * ESCAPE), 2 * ESCAPE),
            (Some(_), _) => (Some(REPLACEMENT), ESCAPE),
            // Any other escape is two bytes long, so that `\\ud800` is not taken for a surrogate.
            (None, _) => (escape.get(..2), 2),
        };
        repaired.push_str(written.unwrap_or(escape));
        rest = escape.get(length..).unwrap_or_default();
    }
    repaired + rest
}

enum Half {
    High,
    Low,
}

/// Returns which half of a surrogate pair the text begins with, if any.
fn surrogate(text: &str) -> Option<Half> {
    let digits = text.get(..ESCAPE)?.strip_prefix(r"\u")?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::High),
        0xdc00..=0xdfff => Some(Half::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: &str) {
        assert_eq!(String::from_utf8_lossy(&repair(input.as_bytes())), expected);
    }

    #[test]
    fn lone_surrogates_and_bytes_that_are_not_utf_8_are_replaced() {
        check(r#"{"a":"x\ud83d"}"#, r#"{"a":"x\ufffd"}"#);
        check(r#""\ude00 and \ud83d""#, r#""\ufffd and \ufffd""#);
        check(r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#);
        assert_eq!(repair(b"\"a\xffb\"").as_ref(), "\"a\u{fffd}b\"".as_bytes());
        for text in [r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""a\n\u0041""#, r#""\ud8"#, "\\"] {
            check(text, text);
        }
    }
}
