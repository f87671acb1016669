//! Splits a line into the numbers and words of a summary; rejects it at the first unknown word.

use super::tally::{Meaning, Outcome, meaning};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Token<'a> {
    /// A whole number; `of` is the second number in `3/4`.
    Number {
        value: u64,
        of: Option<u64>,
    },
    Word {
        text: &'a str,
        meaning: Meaning,
        colon: bool,
    },
    /// Punctuation that ends a phrase.
    Break,
    /// An opening bracket, which also ends a phrase.
    Open,
    /// A tab or several blanks; ends a phrase if keys come first.
    Gap,
}

/// Splits a line; `None` if a word is not in the vocabulary, unless the line `is_framed`.
pub(crate) fn tokens(line: &str, is_framed: bool) -> Option<Vec<Token<'_>>> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = if first.is_ascii_digit() {
            let (token, length) = number(rest);
            found.extend(token);
            length
        } else if first.is_alphabetic() && first != 'ℹ' {
            let end = rest.find(|c: char| !(c.is_alphabetic() || c == '\'')).unwrap_or(rest.len());
            let (text, behind) = rest.split_at(end);
            // `test(s)`, `success(es)`
            let plural = ["(s)", "(es)"].iter().find(|plural| behind.starts_with(**plural));
            let behind = behind.get(plural.map_or(0, |plural| plural.len())..).unwrap_or_default();
            if behind.starts_with(|c: char| c == '_' || c.is_ascii_digit()) && !is_framed {
                return None;
            }
            if is_time_unit(text) && matches!(found.last(), Some(Token::Number { .. })) {
                found.pop();
            }
            let colon = behind.starts_with([':', '=']);
            let other = is_framed.then_some(Meaning::Outcome(Outcome::Neutral));
            found.push(Token::Word { text, meaning: meaning(text).or(other)?, colon });
            rest.len() - behind.len()
        } else if let Some(length) = percentage(rest) {
            length
        } else if first == '"' {
            // A quoted name may contain anything.
            rest.get(1..).and_then(|inner| inner.find('"')).map_or(1, |end| end + 2)
        } else if first == ' ' || first == '\t' {
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            found.extend((blanks > 1 || first == '\t').then_some(Token::Gap));
            blanks
        } else {
            let next = rest.chars().nth(1);
            let token = match first {
                '(' | '[' => Some(Token::Open),
                // `Success/Total: 1/2`
                '/' if next.is_some_and(char::is_alphabetic) => None,
                ',' | ';' | '|' | ')' | ']' | '.' | '/' | '│' | '!' | '-' => Some(Token::Break),
                _ => None,
            };
            found.extend(token);
            first.len_utf8()
        };
        rest = rest.get(length..)?;
    }
    Some(found)
}

/// Returns the length of `(50%)`, which may occur between a number and its unit.
fn percentage(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('(')?;
    let end = inside.find(')').filter(|end| *end < 10)?;
    let number = inside.get(..end)?.trim().strip_suffix('%')?;
    number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then_some(end + 2)
}

fn is_time_unit(word: &str) -> bool {
    "ms s sec secs second seconds m min mins minutes us ns".split(' ').any(|unit| unit == word)
}

/// The maximum number of tests; larger numbers mean something else, and must not overflow when
/// added up.
const MOST_COUNTED: u64 = 1 << 40;

/// Parses a number of tests.
pub(super) fn counted(text: &str) -> Option<u64> {
    Some(text.parse::<u64>().ok()?.min(MOST_COUNTED))
}

/// Reads a number at the start of `text`: whole numbers count; durations, percentages, decimals and
/// dates do not. Returns the token and its length.
fn number(text: &str) -> (Option<Token<'static>>, usize) {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (figure, behind) = text.split_at(digits);
    let value = figure.parse().unwrap_or(MOST_COUNTED).min(MOST_COUNTED);
    if let Some(other) = behind.strip_prefix('/') {
        let length = other.find(|c: char| !c.is_ascii_digit()).unwrap_or(other.len());
        if let Some(of) = other.get(..length).and_then(counted) {
            return (Some(Token::Number { value, of: Some(of) }), digits + 1 + length);
        }
    }
    let decimal = |c: char| c.is_ascii_digit() || c == '.' || c == ':';
    let continues = behind
        .strip_prefix(['.', ':'])
        .is_some_and(|fraction| fraction.starts_with(|c: char| c.is_ascii_digit()));
    if continues {
        let length = behind.find(|c: char| !decimal(c)).unwrap_or(behind.len());
        let unit = behind.get(length..).unwrap_or_default();
        let letters = unit.find(|c: char| !(c.is_alphanumeric() || c == '%')).unwrap_or(unit.len());
        return (None, digits + length + letters);
    }
    if behind.starts_with(|c: char| c.is_alphabetic() || c == '%' || c == 'µ') {
        let length =
            behind.find(|c: char| !(c.is_alphanumeric() || c == '%')).unwrap_or(behind.len());
        return (None, digits + length);
    }
    (Some(Token::Number { value, of: None }), digits)
}
