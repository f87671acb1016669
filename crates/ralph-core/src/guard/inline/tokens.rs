//! Splits a program's source into names, strings and marks, whatever its language.

use std::collections::BTreeMap;

/// The limit of tokens; the rest of a longer program is ignored.
const MAX_TOKENS: usize = 10_000;
/// The longest string; a quote whose partner is farther away does not count.
const MAX_TEXT: usize = 4096;

/// Named quotes of Ruby and Perl: commands, word lists, and strings.
const NAMED_QUOTES: [&str; 7] = ["%x", "qx", "%w", "%i", "qw", "qq", "q"];

/// A token of a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A keyword or an identifier.
    Name(&'a str),
    /// A string literal.
    Text(String),
    /// A string between backticks, which some languages run as a command.
    Quoted(String),
    /// Any other character.
    Mark(char),
}

/// Splits a program into tokens.
pub(super) fn tokens<'a>(language: &str, text: &'a str) -> Vec<Token<'a>> {
    let has_named_quotes = matches!(language, "perl" | "ruby" | "rake");
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next()
        && found.len() < MAX_TOKENS
    {
        if let Some((kind, text)) = named_quote(rest)
            && has_named_quotes
        {
            match kind {
                "%x" | "qx" => found.push(Token::Quoted(text.to_owned())),
                "qq" | "q" => found.push(Token::Text(text.to_owned())),
                _ => {
                    found.push(Token::Mark('['));
                    let words = text.split_whitespace().map(|word| Token::Text(word.to_owned()));
                    found.extend(words.flat_map(|word| [word, Token::Mark(',')]));
                    found.push(Token::Mark(']'));
                }
            }
            rest = rest.get(kind.len() + text.len() + 2..).unwrap_or_default();
            continue;
        }
        let (token, length) = quoted(rest).unwrap_or_else(|| {
            let is_other = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
            match rest.split_at(rest.find(is_other).unwrap_or(rest.len())).0 {
                "" => (Token::Mark(first), first.len_utf8()),
                name => (Token::Name(name), name.len()),
            }
        });
        if !matches!(token, Token::Mark(' ' | '\t' | '\r')) {
            found.push(token);
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    found
}

/// Returns the quoted string at the start of `rest`, and its length; a quote without a partner on
/// its line is an apostrophe.
fn quoted(rest: &str) -> Option<(Token<'_>, usize)> {
    for triple in ["\"\"\"", "'''"] {
        if let Some(behind) = rest.strip_prefix(triple) {
            let text = behind.split_once(triple)?.0;
            return Some((Token::Text(text.to_owned()), text.len() + 2 * triple.len()));
        }
    }
    let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\'' | '`'))?;
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1).take(MAX_TEXT);
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => text.extend(characters.next().map(|(_, escaped)| escaped)),
            '\n' if quote != '`' => return None,
            '`' if quote == '`' => return Some((Token::Quoted(text), at + 1)),
            _ if character == quote => return Some((Token::Text(text), at + 1)),
            _ => text.push(character),
        }
    }
    None
}

/// Returns the named quote at the start of `rest`, and its content.
fn named_quote(rest: &str) -> Option<(&'static str, &str)> {
    let name = NAMED_QUOTES.into_iter().find(|name| rest.starts_with(name))?;
    let behind = rest.get(name.len()..)?;
    let closing = match behind.chars().next()? {
        '(' => ')',
        '{' => '}',
        '[' => ']',
        '/' => '/',
        _ => return None,
    };
    Some((name, behind.get(1..)?.split_once(closing)?.0))
}

/// Returns the number of tokens of the call or value at the start: up to its closing bracket or the
/// end of the statement.
fn length(tokens: &[Token]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Mark('(' | '[' | '{') => depth += 1,
            Token::Mark(')' | ']' | '}') if depth > 1 => depth -= 1,
            Token::Mark(')' | ']' | '}') => return at,
            Token::Mark(';' | '\n') if depth == 0 => return at,
            _ => {}
        }
    }
    tokens.len()
}

/// The values of names: `op = 'push'`, `cmd = ['git', 'push']`.
pub(super) type Variables<'a> = BTreeMap<&'a str, Vec<String>>;

/// Returns the names that are assigned string literals: `c = 'text'`, `for c in ['text']`.
pub(super) fn variables<'a>(tokens: &[Token<'a>]) -> Variables<'a> {
    let mut found = Variables::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        if let [Token::Name(name), Token::Mark('=') | Token::Name("in" | "of")] = pair {
            let value = items(tokens.get(at + 2..).unwrap_or_default(), &found);
            if !value.is_empty() {
                found.insert(name, value);
            }
        }
    }
    found
}

/// Returns the strings of the value at the start; a nested list becomes a line of its words.
fn items(tokens: &[Token], known: &Variables) -> Vec<String> {
    let is_text =
        |token: &&Token| matches!(token, Token::Text(_) | Token::Quoted(_) | Token::Mark(','));
    let end = match tokens.first() {
        Some(Token::Mark('[' | '(')) => length(tokens),
        Some(Token::Name(name)) => return known.get(name).cloned().unwrap_or_default(),
        _ => tokens.iter().take_while(is_text).count(),
    };
    let value = tokens.get(..end).unwrap_or_default();
    let is_nested = matches!(value, [Token::Mark(_), Token::Mark('[' | '('), ..]);
    let ends = |token: &Token| match token {
        Token::Mark(mark) => is_nested && matches!(mark, ']' | ')') || !is_nested && *mark == ',',
        _ => false,
    };
    let words = |part: &[Token]| part.iter().filter_map(Token::text).collect::<Vec<_>>().join(" ");
    value.split(ends).map(words).filter(|text| !text.is_empty()).collect()
}

impl Token<'_> {
    /// Returns the content of a string token, if it is not empty.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Token::Text(text) | Token::Quoted(text) => {
                Some(text).filter(|text| !text.is_empty()).map(String::as_str)
            }
            Token::Name(_) | Token::Mark(_) => None,
        }
    }
}

/// Returns the strings among a call's arguments, with names replaced by their values.
pub(super) fn arguments(tokens: &[Token], variables: &Variables) -> Vec<String> {
    let tokens = tokens.get(..length(tokens)).unwrap_or_default();
    let before = |at: usize, steps| at.checked_sub(steps).and_then(|at| tokens.get(at));
    let mut found: Vec<String> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let count = found.len();
        match (before(at, 2), before(at, 1), token) {
            (_, _, Token::Name("homedir")) => found.push("~".to_owned()),
            (_, _, Token::Name(name)) if tokens.get(at + 1) != Some(&Token::Mark('=')) => {
                found.extend(variables.get(name).into_iter().flatten().cloned());
            }
            (Some(Token::Name("require")), _, _) => {}
            // `cwd='x'`, `{ input: 'x' }`
            (Some(Token::Name(key)), Some(Token::Mark('=' | ':')), _)
                if !matches!(*key, "args" | "command" | "cmd") => {}
            _ => found.extend(token.text().map(|text| filled(text, variables))),
        }
        // `'git ' + op`, for each value of `op`.
        if before(at, 1) == Some(&Token::Mark('+')) && count > 0 && found.len() > count {
            let behind = found.split_off(count);
            let start = found.pop().unwrap_or_default();
            found.extend(behind.iter().map(|value| format!("{start}{value}")));
        }
    }
    found
}

/// Replaces `{op}`, `${op}` and `#{op}` in a text by the values of `op`, one line for each.
fn filled(text: &str, variables: &Variables) -> String {
    let named = variables.iter().filter(|_| text.contains('{'));
    named.fold(text.to_owned(), |text, (name, values)| {
        let mark = format!("{{{name}}}");
        if !text.contains(&mark) || text.len() > MAX_TEXT {
            return text;
        }
        let marks = [format!("${mark}"), format!("#{mark}"), mark];
        let with = |value| marks.iter().fold(text.clone(), |text, mark| text.replace(mark, value));
        values.iter().map(|value| with(value)).collect::<Vec<_>>().join("\n")
    })
}
