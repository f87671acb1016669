//! The width of text on a terminal.

pub(super) use console::measure_text_width as columns_of;
use console::truncate_str;

/// Replaces what was cut off.
const MARK: &str = "…";

/// The text, cut to a width and marked if it was cut.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if columns_of(text) <= columns {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    let cut = truncate_str(text, columns, MARK);
    cut.trim_end_matches(MARK).trim_end().to_owned() + MARK
}

/// Splits a line into parts that fit, between words if possible.
pub(super) fn wrapped(line: &str, columns: usize) -> Vec<String> {
    let mut parts = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let (part, width) = (parts.last_mut(), columns_of(word.trim_end()));
        match part {
            Some(part) if part.is_empty() || columns_of(part) + width <= columns => {
                part.push_str(word)
            }
            _ => parts.push(word.to_owned()),
        }
    }
    parts.into_iter().map(|part| part.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        for (line, expected) in [
            ("one two three", &["one two", "three"][..]),
            ("  indented text", &["  indented", "text"]),
            ("averyverylongword x", &["averyverylongword", "x"]),
            ("", &[""]),
        ] {
            assert_eq!(wrapped(line, 10), expected);
        }
    }

    #[test]
    fn a_cut_text_fits_its_width() {
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
