//! Splits a line into code and comment.
//!
//! Each line is parsed alone: in a string or comment over several lines, only a leading star is
//! recognised. That is enough to find leftovers.

use super::language::Language;

/// The parts of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    /// The code, with the contents of string literals blanked out.
    pub(super) code: String,
    /// The comment, without its opening characters.
    pub(super) comment: &'a str,
}

/// Splits a line into its parts.
pub(super) fn parts<'a>(line: &'a str, language: &Language) -> Parts<'a> {
    let starts = language.comments;
    if starts.contains(&"/*") && line.trim_start().starts_with('*') {
        return Parts { code: String::new(), comment: line.trim_start() };
    }
    let mut code = String::new();
    let mut open: Option<char> = None;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        if let Some(quote) = open {
            let ends = c == quote && !escaped;
            escaped = c == '\\' && !escaped;
            if ends {
                open = None;
            }
            code.push(if ends { c } else { ' ' });
            continue;
        }
        let rest = line.get(at..).unwrap_or_default();
        if let Some(start) = starts.iter().find(|start| rest.starts_with(**start))
            && begins_comment(&code, start)
        {
            return Parts { code, comment: rest.get(start.len()..).unwrap_or_default() };
        }
        if language.quotes().contains(&c) {
            open = Some(c);
        }
        code.push(c);
    }
    Parts { code, comment: "" }
}

/// A `#` inside a word does not start a comment (`$#`, `a#b`), nor does `//` after a colon.
fn begins_comment(before: &str, start: &str) -> bool {
    match start {
        "#" => before.is_empty() || before.ends_with(char::is_whitespace),
        "//" => !before.ends_with(':'),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(extension: &str, line: &str, code: &str, comment: &str) {
        let parts = parts(line, Language::of(extension).unwrap());
        assert_eq!((parts.code.as_str(), parts.comment), (code, comment), "{line}");
    }

    #[test]
    fn code_strings_and_comments_are_distinguished() {
        check("rs", "let a = \"x // y\"; // z", "let a = \"      \"; ", " z");
        check("rs", "fn f<'a>(x: &'a str) {} // z", "fn f<'a>(x: &'a str) {} ", " z");
        check("js", "a('it\\'s // b') /* c */", "a('          ') ", " c */");
        check("js", "fetch(`http://x`)", "fetch(`        `)", "");
        check("py", "x = a#b # c", "x = a#b ", " c");
        check("java", "   * TODO", "", "* TODO");
        check("c", "int *p;", "int *p;", "");
        check("sql", "select 1 -- x", "select 1 ", " x");
        check("sh", "echo $# 'a # b'", "echo $# '     '", "");
    }
}
