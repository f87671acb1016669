//! How many columns a text takes on a terminal.

pub(super) use console::measure_text_width as columns_of;
use console::truncate_str;

/// What stands where a text was cut.
const MARK: &str = "…";

/// The text, cut with a mark where it is wider.
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
