//! How many columns a text takes on a terminal.

/// What takes no column: marks that combine, joiners, variation selectors.
const NONE: [(u32, u32); 5] =
    [(0x300, 0x36f), (0x200b, 0x200f), (0x20d0, 0x20ff), (0xfe00, 0xfe0f), (0x1f3fb, 0x1f3ff)];

/// What takes two: the scripts of East Asia and pictures.
const TWO: [(u32, u32); 11] = [
    (0x1100, 0x115f),
    (0x231a, 0x231b),
    (0x2e80, 0xa4cf),
    (0xa960, 0xa97f),
    (0xac00, 0xd7a3),
    (0xf900, 0xfaff),
    (0xfe30, 0xfe6f),
    (0xff00, 0xff60),
    (0xffe0, 0xffe6),
    (0x1f300, 0x1faff),
    (0x20000, 0x3fffd),
];

/// The columns of a text without control characters.
pub(super) fn columns_of(text: &str) -> usize {
    text.chars().map(columns_of_char).sum()
}

fn columns_of_char(c: char) -> usize {
    let is_in = |ranges: &[(u32, u32)]| {
        ranges.iter().any(|(first, last)| (*first..=*last).contains(&u32::from(c)))
    };
    if is_in(&NONE) {
        0
    } else if is_in(&TWO) {
        2
    } else {
        1
    }
}

/// The text, cut with a mark where it is wider.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if columns_of(text) <= columns {
        return text.to_owned();
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += columns_of_char(*c);
        used <= columns
    };
    let mut cut: String = text.chars().take_while(fits).collect();
    cut.truncate(cut.trim_end().len());
    if columns > 0 {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_is_never_wider() {
        for (text, columns, expected) in [
            ("short", 5, "short"),
            ("longer", 5, "long…"),
            ("two words", 5, "two…"),
            ("登录页面", 8, "登录页面"),
            ("登录页面", 7, "登录页…"),
            ("登录页面", 6, "登录…"),
            ("e\u{301}te\u{301}", 3, "e\u{301}te\u{301}"),
            ("x", 0, ""),
        ] {
            assert_eq!(cut(text, columns), expected);
            assert!(columns_of(expected) <= columns);
        }
    }
}
