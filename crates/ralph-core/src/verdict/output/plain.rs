//! The plainest lines of an output, told from all others while their end is looked for.
//!
//! `test parser::accepts_a_line ... ok`: an identifier, and nothing by which a part of the line
//! could be told from it. Most lines of a long output are like that, and none of them counts.

/// Kinds of bytes, as bits.
const LETTER: u8 = 1;
const UNDERSCORE: u8 = 2;
const SPACE: u8 = 4;
/// What must not stand before a space.
const BREAK: u8 = 8;
const END: u8 = 16;
const OTHER: u8 = 32;

/// The kind of each byte; digits, dots and slashes are of no kind.
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

/// How far the first line of `text` is plain, and whether that is to its end.
pub(super) fn plain_part(text: &str) -> (usize, bool) {
    let indent = text.bytes().take_while(|byte| *byte == b' ').count();
    let (mut before, mut names) = (BREAK, 0);
    for (at, byte) in text.bytes().enumerate().skip(indent) {
        let kind = KINDS.get(usize::from(byte)).copied().unwrap_or(OTHER);
        if kind & (END | OTHER) != 0 || kind & SPACE != 0 && before & BREAK != 0 {
            return (at, kind == END && names != 0);
        }
        // An identifier has an underscore behind a letter.
        names |= (kind >> 1) & before & LETTER;
        before = kind;
    }
    (text.len(), names != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: (usize, bool)) {
        assert_eq!(plain_part(text), expected, "{text:?}");
    }

    #[test]
    fn only_lines_with_an_identifier_and_no_structure_are_plain() {
        check("test a::is_b ... ok\nnext", (19, true));
        check("   is_b", (7, true));
        check("is_b \n", (5, true));
        check("test a ... ok\n", (13, false));
        check("is_b: 3\n", (5, false));
        check("is_b  3\n", (5, false));
        check("is_b, 3 failed\n", (4, false));
        check("is_é\n", (3, false));
        check("\nis_b", (0, false));
        check("", (0, false));
        check("8_ x", (4, false));
    }
}
