//! Escapes text of agents, plans and tests for Markdown, so that it cannot add markup of its own.

/// Escapes everything that has a meaning in Markdown or HTML.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '@' => safe.extend(['\\', c]),
            _ => safe.push(c),
        }
    }
    safe
}

/// Escapes everything except code: what is between two single backquotes is kept.
pub(super) fn plain(text: &str) -> String {
    let mut safe = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        let code = after.split_once('`').filter(|(code, beyond)| {
            let is_single = !before.ends_with('`') && !beyond.starts_with('`');
            !code.trim().is_empty() && !code.contains('\n') && is_single
        });
        safe.push_str(&escaped(before));
        match code {
            Some((code, beyond)) => {
                safe.push_str(&format!("`{code}`"));
                rest = beyond;
            }
            None => {
                safe.push_str("\\`");
                rest = after;
            }
        }
    }
    safe + &escaped(rest)
}

/// Formats lines as a code block, with a fence that none of them can close.
pub(super) fn fenced(text: &str, indent: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let lines = [fence.as_str()].into_iter().chain(text.lines()).chain([fence.as_str()]);
    lines.map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n")
}

/// Formats lines as a quotation.
pub(super) fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {}", plain(line))).collect::<Vec<_>>().join("\n")
}

/// Makes text safe to be put between backquotes.
pub(super) fn code(text: &str) -> String {
    text.replace('`', "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_kept_verbatim_and_other_markup_is_escaped() {
        for (text, expected) in [
            ("`npm test -- a_b` failed: a_b", "`npm test -- a_b` failed: a\\_b"),
            ("a ` <b>", "a \\` &lt;b>"),
            ("`a``<b>`", "\\`a\\``<b>`"),
            ("``<b>", "\\`\\`&lt;b>"),
            ("<b> & *x* @me", "&lt;b> &amp; \\*x\\* \\@me"),
        ] {
            assert_eq!(plain(text), expected);
        }
        // A fence is longer than any fence inside.
        assert_eq!(fenced("a\n```\n<b>", "  "), "  ````\n  a\n  ```\n  <b>\n  ````");
    }
}
