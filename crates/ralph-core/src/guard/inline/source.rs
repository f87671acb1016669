//! Calls and fixed texts in the source of a program, found without knowing its language.

use std::collections::BTreeMap;

/// A call's arguments longer than this are not looked at.
const MAX_CALL: usize = 4096;
/// Calls that are looked at in one text.
const MAX_CALLS: usize = 64;

/// Names with the arguments behind them, where `is_call` says of a name and what follows it that
/// they are one; what stands in quotes itself is text, not program.
pub(super) fn calls(text: &str, is_call: impl Fn(&str, &str) -> bool) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len());
        if length == 0 {
            at += literal_length(rest)
                .unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8));
            continue;
        }
        let (name, behind) = rest.split_at(length);
        at += length;
        if is_call(name, behind) {
            found.push((name, arguments(behind)));
            if found.len() >= MAX_CALLS {
                break;
            }
        }
    }
    found
}

/// The length of the text in quotes that begins here; a quote without a partner on its line is an
/// apostrophe.
fn literal_length(rest: &str) -> Option<usize> {
    for triple in ["\"\"\"", "'''"] {
        if let Some(behind) = rest.strip_prefix(triple) {
            return behind.find(triple).map(|length| length + 2 * triple.len());
        }
    }
    let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\'' | '`'))?;
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1).take(MAX_CALL) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' if quote != '`' => return None,
            _ if letter == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// The text up to the parenthesis that closes the call, or to the end of the statement.
fn arguments(rest: &str) -> &str {
    let mut depth = 0_usize;
    let mut quote = None;
    for (at, character) in rest.char_indices() {
        if at > MAX_CALL {
            return rest.get(..at).unwrap_or(rest);
        }
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(character),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') if depth > 1 => depth -= 1,
            (None, ')' | ']' | '}') => return rest.get(..at).unwrap_or(rest),
            (None, ';' | '\n') if depth == 0 => return rest.get(..at).unwrap_or(rest),
            _ => {}
        }
    }
    rest
}

/// The fixed texts that a program gives names to: `op = 'push'`, `cmd = ['git', 'push']`.
pub(super) fn variables(text: &str) -> BTreeMap<&str, Vec<String>> {
    let mut found = BTreeMap::new();
    for (at, _) in text.match_indices('=').take(MAX_CALLS) {
        let (before, behind) = text.split_at(at);
        let before = before.trim_end();
        let start = before.rfind(|letter: char| !is_of_name(letter)).map_or(0, |at| at + 1);
        let value = behind.get(1..).unwrap_or_default().trim_start();
        let values = match literal_length(value).and_then(|length| value.get(..length)) {
            Some(literal) => literals(literal),
            None if value.starts_with(['[', '(']) => literals(arguments(value)),
            None => continue,
        };
        if let Some(name) = before.get(start..).filter(|name| !name.is_empty()) {
            found.insert(name, values);
        }
    }
    found
}

/// The fixed texts in a piece of program, names replaced by what they stand for.
pub(super) fn resolved(text: &str, variables: &BTreeMap<&str, Vec<String>>) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let name = rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len());
        let length = if name > 0 {
            let word = rest.get(..name).unwrap_or_default();
            let is_key =
                rest.get(name..).is_some_and(|behind| behind.trim_start().starts_with('='));
            found.extend(variables.get(word).filter(|_| !is_key).into_iter().flatten().cloned());
            name
        } else if let Some(length) = literal_length(rest) {
            found.extend(literals(rest.get(..length).unwrap_or_default()).iter().map(|literal| {
                variables.iter().fold(literal.clone(), |filled, (name, values)| match &**values {
                    [value] if filled.contains('{') => filled
                        .replace(&format!("${{{name}}}"), value)
                        .replace(&format!("{{{name}}}"), value),
                    _ => filled,
                })
            }));
            length
        } else {
            first.len_utf8()
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    found
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// The fixed texts in a piece of program.
pub(super) fn literals(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut characters = text.chars();
    while let Some(quote) = characters.find(|character| matches!(character, '"' | '\'' | '`')) {
        let mut literal = String::new();
        while let Some(character) = characters.next() {
            match character {
                '\\' => literal.extend(characters.next()),
                _ if character == quote => break,
                _ => literal.push(character),
            }
        }
        if !literal.is_empty() {
            found.push(literal);
        }
    }
    found
}
