//! The source of a program as names, fixed texts and marks, found without knowing its language.

use std::collections::BTreeMap;

/// Longer programs are not looked at to their end.
const MAX_TOKENS: usize = 10_000;
/// A quote whose partner is farther away is none.
const MAX_TEXT: usize = 4096;

/// How Ruby and Perl quote without quotation marks, and whether what they quote is run.
const NAMED_QUOTES: [(&str, bool); 5] =
    [("%x", true), ("qx", true), ("qq", false), ("qw", false), ("q", false)];

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
    let has_named_quotes = matches!(language, "perl" | "ruby");
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next()
        && found.len() < MAX_TOKENS
    {
        let named = || named_quote(rest).filter(|_| has_named_quotes);
        let (token, length) = quoted(rest).or_else(named).unwrap_or_else(|| {
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

/// The text in quotes that begins here, and its length; a quote without a partner on its line is an
/// apostrophe.
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

fn named_quote(rest: &str) -> Option<(Token<'_>, usize)> {
    let (name, is_run) = NAMED_QUOTES.into_iter().find(|(name, _)| rest.starts_with(name))?;
    let behind = rest.get(name.len()..)?;
    let closing = match behind.chars().next()? {
        '(' => ')',
        '{' => '}',
        '[' => ']',
        '/' => '/',
        _ => return None,
    };
    let text = behind.get(1..)?.split_once(closing)?.0;
    let length = name.len() + text.len() + 2;
    let token = if is_run { Token::Quoted } else { Token::Text };
    Some((token(text.to_owned()), length))
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

/// The names that a program gives to fixed texts, or to each of several in its turn.
pub(super) fn variables<'a>(tokens: &[Token<'a>]) -> Variables<'a> {
    let mut found = Variables::new();
    for at in 1..tokens.len() {
        let behind = tokens.get(at + 1..).unwrap_or_default();
        let name = |token: Option<&Token<'a>>| match token {
            Some(Token::Name(name)) => Some(*name),
            _ => None,
        };
        let first_name = || {
            behind
                .iter()
                .take(4)
                .find_map(|one| name(Some(one)).filter(|name| !matches!(*name, "do" | "function")))
        };
        let before = || value_before(tokens.get(..at).unwrap_or_default());
        let (name, value) = match tokens.get(at) {
            // `c = 'text'`, `for c in ['text']`
            Some(Token::Mark('=') | Token::Name("in" | "of")) => {
                (name(tokens.get(at - 1)), value_behind(behind))
            }
            // `for my $c ('text')`
            Some(Token::Name(perl))
                if matches!(tokens.get(at - 1), Some(Token::Mark('$')))
                    && behind.first() == Some(&Token::Mark('(')) =>
            {
                (Some(*perl), value_behind(behind))
            }
            // `['text'].each { |c| … }`, `foreach (['text'] as $c)`
            Some(Token::Name("each" | "forEach" | "map")) => {
                (first_name(), value_before(tokens.get(..at - 1).unwrap_or_default()))
            }
            Some(Token::Name("as")) => (first_name(), before()),
            _ => continue,
        };
        if let Some(name) = name {
            let texts = items(value, &found);
            if !texts.is_empty() {
                found.insert(name, texts);
            }
        }
    }
    found
}

/// A value that begins here: a list, or texts and names up to the end of the statement.
fn value_behind<'t, 'a>(tokens: &'t [Token<'a>]) -> &'t [Token<'a>] {
    let end = match tokens.first() {
        Some(Token::Mark('[' | '(')) => length(tokens),
        Some(Token::Text(_) | Token::Quoted(_) | Token::Name(_)) => {
            let goes_on = |token: &&Token| {
                matches!(
                    token,
                    Token::Text(_) | Token::Quoted(_) | Token::Name(_) | Token::Mark(',')
                )
            };
            tokens.iter().take_while(goes_on).count()
        }
        _ => 0,
    };
    tokens.get(..end).unwrap_or_default()
}

/// A value that ends here: a list, or a name.
fn value_before<'t, 'a>(tokens: &'t [Token<'a>]) -> &'t [Token<'a>] {
    let mut depth = 0_usize;
    let start = tokens.iter().rposition(|token| {
        match token {
            Token::Mark(')' | ']') => depth += 1,
            Token::Mark('(' | '[') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    tokens.get(start.unwrap_or(tokens.len())..).unwrap_or_default()
}

/// The texts of a value; a list in a list is a command with its words.
fn items(value: &[Token], known: &Variables) -> Vec<String> {
    let opens = |token: &Token| matches!(token, Token::Mark('[' | '('));
    let is_nested = value.first().is_some_and(opens) && value.get(1).is_some_and(opens);
    if is_nested {
        let inner = value
            .get(1..)
            .unwrap_or_default()
            .split(|token| matches!(token, Token::Mark(']' | ')')));
        let words =
            |list: &[Token]| list.iter().filter_map(Token::text).collect::<Vec<_>>().join(" ");
        return inner.map(words).filter(|line| !line.is_empty()).collect();
    }
    value
        .iter()
        .flat_map(|token| match token {
            Token::Name(name) => known.get(name).cloned().unwrap_or_default(),
            _ => token.text().map(str::to_owned).into_iter().collect(),
        })
        .collect()
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
    let mut found: Vec<String> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let length = found.len();
        let before = at.checked_sub(2).and_then(|at| tokens.get(at));
        match token {
            Token::Name("homedir") => found.push("~".to_owned()),
            Token::Name(name) if tokens.get(at + 1) != Some(&Token::Mark('=')) => {
                found.extend(variables.get(name).into_iter().flatten().cloned());
            }
            _ if before == Some(&Token::Name("require")) => {}
            // `cwd='x'`, `{ input: 'x' }`
            _ if matches!(tokens.get(at.saturating_sub(1)), Some(Token::Mark('=' | ':')))
                && matches!(before, Some(Token::Name(name)) if !matches!(*name, "args" | "command" | "cmd")) =>
                {}
            _ => found.extend(token.text().map(|text| filled(text, variables))),
        }
        // `'git ' + op`, also with each of several values.
        let is_joined = at.checked_sub(1).and_then(|at| tokens.get(at)) == Some(&Token::Mark('+'));
        if is_joined && length > 0 && found.len() > length {
            let behind = found.split_off(length);
            let start = found.pop().unwrap_or_default();
            found.extend(behind.iter().map(|value| format!("{start}{value}")));
        }
    }
    found
}

/// A text with `{op}` and `${op}` in it replaced by what `op` stands for.
fn filled(text: &str, variables: &Variables) -> String {
    let single = variables.iter().filter(|_| text.contains('{'));
    single.fold(text.to_owned(), |text, (name, values)| match values.as_slice() {
        [] => text,
        values => {
            let marks = [format!("${{{name}}}"), format!("#{{{name}}}"), format!("{{{name}}}")];
            let with = |value: &String| {
                marks.iter().fold(text.clone(), |text, mark| text.replace(mark, value))
            };
            let is_marked = marks.iter().any(|mark| text.contains(mark.as_str()));
            if is_marked { values.iter().map(with).collect::<Vec<_>>().join("\n") } else { text }
        }
    })
}
