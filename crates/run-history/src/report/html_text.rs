//! Escapes text of agents, plans and tests for the page, so that it cannot add markup of its own.

use askama::filters::{Html, escape};

/// Escapes text, and shows what is between two backquotes as code.
pub(super) fn rich(text: &str) -> String {
    let mut safe = escape(text, Html).map(|safe| safe.to_string()).unwrap_or_default();
    for _ in 0..safe.matches('`').count() / 2 {
        safe = safe.replacen('`', "<code>", 1).replacen('`', "</code>", 1);
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_backquotes_are_rendered_as_markup() {
        for (text, expected) in [
            ("`npm test` failed: <b>", "<code>npm test</code> failed: &#60;b&#62;"),
            ("a ` b", "a ` b"),
            ("`</code><script>`", "<code>&#60;/code&#62;&#60;script&#62;</code>"),
        ] {
            assert_eq!(rich(text), expected);
        }
    }
}
