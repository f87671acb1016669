//! Makes an input readable that is JSON but for broken characters.
//!
//! The client cuts long output by UTF-16 units, so half of a surrogate pair may remain, written as
//! `\ud83d`; strict JSON readers refuse that, and a guard that cannot read a command guards
//! nothing.

use std::borrow::Cow;

/// The replacement character, as an escape.
const REPLACEMENT: &[u8] = br"\ufffd";

/// Replaces bytes that are no UTF-8 and escapes of lone surrogates; everything else stays.
pub(super) fn repair(bytes: &[u8]) -> Cow<'_, [u8]> {
    let text = match std::str::from_utf8(bytes) {
        // Nearly always there is nothing to repair, and this tells it quickly.
        Ok(text) if !text.contains(r"\ud") && !text.contains(r"\uD") => return bytes.into(),
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    };
    match without_lone_surrogates(text.as_bytes()) {
        Some(repaired) => Cow::Owned(repaired),
        None => Cow::Owned(text.into_owned().into_bytes()),
    }
}

/// None if there is nothing to repair, which is nearly always.
fn without_lone_surrogates(text: &[u8]) -> Option<Vec<u8>> {
    let mut repaired: Option<Vec<u8>> = None;
    let mut copied = 0;
    let mut at = 0;
    while let Some(next) = text.get(at..).and_then(|rest| rest.iter().position(|b| *b == b'\\')) {
        at += next;
        let length = match (surrogate(text, at), surrogate(text, at + 6)) {
            (Some(Half::High), Some(Half::Low)) => 12,
            (Some(_), _) => {
                let out = repaired.get_or_insert_default();
                out.extend_from_slice(text.get(copied..at).unwrap_or_default());
                out.extend_from_slice(REPLACEMENT);
                copied = at + 6;
                6
            }
            // Any other escape is two bytes, so that `\\ud800` is not mistaken for one.
            (None, _) => 2,
        };
        at += length;
    }
    if let Some(out) = &mut repaired {
        out.extend_from_slice(text.get(copied..).unwrap_or_default());
    }
    repaired
}

enum Half {
    High,
    Low,
}

/// The half of a surrogate pair that is written at this place, if one is.
fn surrogate(text: &[u8], at: usize) -> Option<Half> {
    let digits = text.get(at..at + 6)?.strip_prefix(br"\u")?;
    match u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()? {
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
    fn lone_halves_are_replaced() {
        check(r#"{"a":"x\ud83d"}"#, r#"{"a":"x\ufffd"}"#);
        check(r#""\ude00 and \ud83d""#, r#""\ufffd and \ufffd""#);
        check(r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#);
    }

    #[test]
    fn pairs_and_escaped_backslashes_stay() {
        for text in [r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""a\n\u0041""#, r#""\ud8"#, "\\"] {
            check(text, text);
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(repair(b"\"a\xffb\"").as_ref(), "\"a\u{fffd}b\"".as_bytes());
    }
}
