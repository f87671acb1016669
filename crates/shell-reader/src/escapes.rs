//! The escapes of `$'…'`, most of which `printf` and `echo -e` share.

use super::parser::Parser;

/// Reads the rest of `$'…'`, including the closing quote.
pub(super) fn ansi_c(parser: &mut Parser) -> String {
    let mut raw = String::new();
    loop {
        raw.push_str(parser.take_until(|byte| byte == b'\'' || byte == b'\\'));
        match parser.bump() {
            "\\" => {
                raw.push('\\');
                raw.push_str(parser.bump());
            }
            "'" => break,
            _ => {
                parser.note_incomplete();
                break;
            }
        }
    }
    decode(&raw)
}

/// Decodes backslash escapes; unknown ones are kept.
pub(super) fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('\\') {
        let (before, escape) = rest.split_at(start);
        bytes.extend_from_slice(before.as_bytes());
        let escape = escape.get(1..).unwrap_or_default();
        let length = decode_one(escape, &mut bytes);
        rest = escape.get(length..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Decodes one escape, given without its backslash, and returns its length.
fn decode_one(escape: &str, bytes: &mut Vec<u8>) -> usize {
    let Some(kind) = escape.chars().next() else {
        bytes.push(b'\\');
        return 0;
    };
    let simple = match kind {
        'a' => 0x07,
        'b' => 0x08,
        'e' | 'E' => 0x1b,
        'f' => 0x0c,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0x0b,
        '\\' | '\'' | '"' | '?' => u8::try_from(kind).unwrap_or_default(),
        'x' => return number(escape, 1, 2, 16, bytes),
        'u' => return number(escape, 1, 4, 16, bytes),
        'U' => return number(escape, 1, 8, 16, bytes),
        '0'..='7' => return number(escape, 0, if kind == '0' { 4 } else { 3 }, 8, bytes),
        _ => {
            bytes.push(b'\\');
            bytes.extend_from_slice(kind.encode_utf8(&mut [0; 4]).as_bytes());
            return kind.len_utf8();
        }
    };
    bytes.push(simple);
    1
}

fn number(escape: &str, skip: usize, most: usize, radix: u32, bytes: &mut Vec<u8>) -> usize {
    let digits = escape.get(skip..).unwrap_or_default();
    let count = digits.chars().take(most).take_while(|digit| digit.is_digit(radix)).count();
    let value = digits.get(..count).and_then(|digits| u32::from_str_radix(digits, radix).ok());
    match value {
        None => {
            bytes.push(b'\\');
            bytes.extend_from_slice(escape.get(..skip).unwrap_or_default().as_bytes());
        }
        Some(value) if most <= 3 || radix == 8 => bytes.push(value.to_le_bytes()[0]),
        Some(value) => {
            let character = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
            bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    skip + count
}
