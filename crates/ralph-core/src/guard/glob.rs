//! Glob patterns for paths, with the few features that a hook needs. The loop uses `globset`, and
//! a test keeps the answers of both equal.

use regex_lite::{Error, Regex, escape};

/// A glob pattern for paths: `*` matches any text, `?` one character, `**/` any folders, `[a-z]`
/// and `[!a-z]` one character of a set, `{a,b}` one of several texts; `\` escapes the next
/// character.
///
/// ```
/// use ralph_core::guard::Glob;
///
/// assert!(Glob::fits("src/**/*.{rs,toml}", "src/a/b.rs"));
/// assert!(!Glob::fits("src/*.rs", "tests/a.rs"));
/// ```
#[derive(Debug, Clone)]
pub struct Glob(Regex);

impl Glob {
    /// Compiles a pattern.
    pub fn new(pattern: &str) -> Result<Self, Error> {
        Regex::new(&format!("(?s)^(?:{})$", as_regex(pattern))).map(Self)
    }

    /// Returns whether the pattern matches the whole text.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// Matches a pattern that is used only once; an invalid one matches nothing.
    pub fn fits(pattern: &str, text: &str) -> bool {
        Self::new(pattern).is_ok_and(|glob| glob.is_match(text))
    }
}

/// Converts a glob to a regex; an invalid glob becomes an invalid regex.
fn as_regex(pattern: &str) -> String {
    let (mut regex, mut depth, mut rest) = (String::new(), 0_usize, pattern);
    while let Some(c) = rest.chars().next() {
        let begins_name = regex.is_empty() || regex.ends_with('/');
        let mut after = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '*' if begins_name && after.starts_with("*/") => {
                after = after.get(2..).unwrap_or_default();
                regex.push_str("(?:.*/)?");
                // Several in a row are the same as one.
                while let Some(more) = after.strip_prefix("**/") {
                    after = more;
                }
            }
            '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            '[' => after = set(after, &mut regex),
            '{' => {
                depth += 1;
                regex.push_str("(?:");
            }
            ',' if depth > 0 => regex.push('|'),
            '}' => {
                depth = depth.saturating_sub(1);
                regex.push(')');
            }
            '\\' if !after.is_empty() => {
                let mut literal = after.chars();
                regex.extend(literal.next().map(|c| escape(c.encode_utf8(&mut [0; 4]))));
                after = literal.as_str();
            }
            '\\' => regex.push('\\'),
            c => regex.push_str(&escape(c.encode_utf8(&mut [0; 4]))),
        }
        rest = after;
    }
    regex
}

/// Adds a set of characters to `regex`; returns the text after it.
fn set<'a>(text: &'a str, regex: &mut String) -> &'a str {
    let inner = text.strip_prefix(['!', '^']);
    regex.push_str(if inner.is_some() { "[^" } else { "[" });
    let inner = inner.unwrap_or(text);
    // A closing bracket in first position belongs to the set.
    let end = inner.char_indices().skip(1).find(|(_, c)| *c == ']').map(|(at, _)| at);
    let Some((inside, after)) = end.and_then(|at| inner.split_at_checked(at)) else { return inner };
    for c in inside.chars() {
        if matches!(c, '[' | ']' | '^' | '\\' | '&' | '~') {
            regex.push('\\');
        }
        regex.push(c);
    }
    regex.push(']');
    after.get(1..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn piece() -> impl Strategy<Value = &'static str> {
        const PIECES: &[&str] = &[
            "a", "b", ".", "/", "*", "?", "**/", "/**/", "[ab]", "[!a]", "[a-c]", "{a,b.}", "\\*",
        ];
        prop::sample::select(PIECES)
    }

    proptest! {
        #[test]
        fn globs_match_like_those_of_globset(
            pieces in prop::collection::vec(piece(), 0..7),
            end in prop::sample::select(&["b", "b*", "b/**", "[!b]", "{a,b}"][..]),
            texts in prop::collection::vec("[ab./*c]{0,8}", 12),
        ) {
            // For globset, a pattern that ends with a slash has another meaning.
            let pattern = pieces.concat() + end;
            let theirs = globset::Glob::new(&pattern).unwrap().compile_matcher();
            for text in texts {
                prop_assert_eq!(Glob::fits(&pattern, &text), theirs.is_match(&text), "{} {}", pattern, text);
            }
        }
    }

    #[test]
    fn invalid_globs_are_refused() {
        for pattern in ["[", "[]", "{a", "a}", "[z-a]", "a\\"] {
            assert!(globset::Glob::new(pattern).is_err(), "{pattern}");
            assert!(Glob::new(pattern).is_err(), "{pattern}");
        }
    }
}
