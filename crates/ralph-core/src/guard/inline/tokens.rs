//! The source of a program as names, fixed texts and marks, found without knowing its language.

use std::collections::BTreeMap;

use regex::Regex;

/// Longer programs are not looked at to their end.
const MAX_TOKENS: usize = 10_000;

/// Texts between quotes; a quote without a partner on its line is an apostrophe.
const QUOTES: &str = r#""""(.*?)"""|'''(.*?)'''|"((?:\\.|[^"\\\n])*)"|'((?:\\.|[^'\\\n])*)'"#;
/// How Ruby and Perl quote without quotation marks, texts and commands.
const NAMED_QUOTES: &str =
    r"\bq[qw]?(\([^)]*\)|\{[^}]*\})|(?:%x|\bqx)(\([^)]*\)|\{[^}]*\}|\[[^\]]*\]|/[^/]*/)";

/// A piece of a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A word of the language or the program.
    Name(&'a str),
    /// A fixed text.
    Text(String),
    /// The same between backticks, which some languages run.
    Quoted(String),
    /// Any other character.
    Mark(char),
}

/// The tokens of a program.
pub(super) fn tokens<'a>(language: &str, text: &'a str) -> Vec<Token<'a>> {
    let named = if matches!(language, "perl" | "ruby") { NAMED_QUOTES } else { "$^()()" };
    let pattern = format!(r"(?s){QUOTES}|{named}|`((?:\\.|[^`\\])*)`|([A-Za-z0-9_]+)|([^ \t\r])");
    let Ok(pattern) = Regex::new(&pattern) else { return Vec::new() };
    let token = |found: regex::Captures<'a>| {
        let (group, piece) =
            found.iter().enumerate().skip(1).find_map(|(at, group)| Some((at, group?)))?;
        let piece = piece.as_str();
        Some(match group {
            1..=4 => Token::Text(unescaped(piece)),
            5 => Token::Text(inner(piece).to_owned()),
            6 => Token::Quoted(inner(piece).to_owned()),
            7 => Token::Quoted(unescaped(piece)),
            8 => Token::Name(piece),
            _ => Token::Mark(piece.chars().next()?),
        })
    };
    pattern.captures_iter(text).take(MAX_TOKENS).filter_map(token).collect()
}

/// A text without the brackets around it.
fn inner(text: &str) -> &str {
    text.get(1..text.len().saturating_sub(1)).unwrap_or_default()
}

fn unescaped(text: &str) -> String {
    let mut characters = text.chars();
    let mut found = String::new();
    while let Some(character) = characters.next() {
        found.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    found
}

/// How many tokens belong to a call or a value that begins here: up to the bracket that closes it,
/// or to the end of the statement.
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

/// What names stand for: `op = 'push'`, `cmd = ['git', 'push']`.
pub(super) type Variables<'a> = BTreeMap<&'a str, Vec<String>>;

/// The names that a program gives to fixed texts.
pub(super) fn variables<'a>(tokens: &[Token<'a>]) -> Variables<'a> {
    let mut found = Variables::new();
    for (at, window) in tokens.windows(3).enumerate() {
        let [Token::Name(name), Token::Mark('='), first] = window else { continue };
        let value = tokens.get(at + 2..).unwrap_or_default();
        let length = match first {
            Token::Text(_) | Token::Quoted(_) => 1,
            Token::Mark('[' | '(') => length(value),
            _ => continue,
        };
        let value = value.get(..length).unwrap_or_default();
        found.insert(*name, value.iter().filter_map(Token::text).map(str::to_owned).collect());
    }
    found
}

impl Token<'_> {
    /// The fixed text that it is.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Token::Text(text) | Token::Quoted(text) => {
                Some(text).filter(|text| !text.is_empty()).map(String::as_str)
            }
            Token::Name(_) | Token::Mark(_) => None,
        }
    }
}

/// The fixed texts of a call whose arguments begin here, names replaced by what they stand for.
pub(super) fn arguments(tokens: &[Token], variables: &Variables) -> Vec<String> {
    let tokens = tokens.get(..length(tokens)).unwrap_or_default();
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Name(name) if tokens.get(at + 1) != Some(&Token::Mark('=')) => {
                found.extend(variables.get(name).into_iter().flatten().cloned());
            }
            _ => found.extend(token.text().map(|text| filled(text, variables))),
        }
    }
    found
}

/// A text with `{op}` and `${op}` in it replaced by what `op` stands for.
fn filled(text: &str, variables: &Variables) -> String {
    let single = variables.iter().filter(|_| text.contains('{'));
    single.fold(text.to_owned(), |text, (name, values)| match values.as_slice() {
        [value] => {
            text.replace(&format!("${{{name}}}"), value).replace(&format!("{{{name}}}"), value)
        }
        _ => text,
    })
}
