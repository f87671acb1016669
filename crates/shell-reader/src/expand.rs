//! Word expansion: fills in variables, removes quotes, and splits words as bash does.

use std::borrow::Cow;
use std::rc::Rc;

use super::state::{Session, State, Value};
use super::tree::{Index, List, Operation, Part, RawWord, Variable};
use super::{UNKNOWN, Word, braces, output, sources};

/// Expands words in a given state of the shell.
#[derive(Clone, Copy)]
pub(super) struct Expander<'s> {
    pub(super) state: &'s State,
    pub(super) session: &'s Session,
    depth: usize,
}

/// The depth up to which nested substitutions are computed.
const MAX_DEPTH: usize = 6;

/// Words under construction.
struct Fields<'w> {
    done: &'w mut Vec<Word>,
    current: Option<String>,
}

impl Fields<'_> {
    fn push(&mut self, text: &str) {
        self.current.get_or_insert_default().push_str(text);
    }

    fn end(&mut self) {
        if let Some(text) = self.current.take() {
            self.done.push(Word::from(text));
        }
    }

    /// Appends an unquoted value, which is split at blanks.
    fn push_split(&mut self, text: &str) {
        let mut pieces = text.split([' ', '\t', '\n']).peekable();
        while let Some(piece) = pieces.next() {
            if !piece.is_empty() {
                self.push(piece);
            }
            if pieces.peek().is_some() {
                self.end();
            }
        }
    }
}

impl<'s> Expander<'s> {
    pub(super) fn new(state: &'s State, session: &'s Session) -> Self {
        Self { state, session, depth: 0 }
    }

    /// Returns the text of a file that the line has written.
    pub(super) fn file(&self, path: &str) -> Option<Rc<str>> {
        self.session.file(&self.state.locate(path))
    }

    /// Expands words; each becomes none, one or several.
    pub(super) fn fields(&self, words: &[RawWord]) -> Vec<Word> {
        let mut done = Vec::with_capacity(words.len());
        for word in words {
            self.word_fields(word, &mut done);
        }
        done
    }

    fn word_fields(&self, word: &RawWord, done: &mut Vec<Word>) {
        if let Some(text) = word.inert() {
            done.push(if self.session.spend(1) { Word::from(text) } else { Word::unknown() });
        } else if let Some(words) = braces::expand(word, self.session) {
            for word in &words {
                self.unbraced_fields(word, done);
            }
        } else {
            self.unbraced_fields(word, done);
        }
    }

    /// Expands a word that is not split, such as the right side of `=`.
    pub(super) fn value(&self, word: &RawWord) -> Word {
        if let Some(text) = word.inert() {
            return if self.session.spend(1) { Word::from(text) } else { Word::unknown() };
        }
        let mut done = Vec::new();
        let mut fields = Fields { done: &mut done, current: None };
        self.parts(&word.parts, &mut fields, false);
        fields.end();
        if done.len() > 1 {
            return Word::from(done.iter().map(Word::text).collect::<Vec<_>>().join(" "));
        }
        done.pop().unwrap_or_else(|| Word::from(""))
    }

    fn unbraced_fields(&self, word: &RawWord, done: &mut Vec<Word>) {
        let mut fields = Fields { done, current: None };
        self.parts(&word.parts, &mut fields, true);
        fields.end();
    }

    fn parts(&self, parts: &[Part], fields: &mut Fields, splits: bool) {
        for (place, part) in parts.iter().enumerate() {
            if !self.session.spend(1) {
                fields.push(UNKNOWN_TEXT);
                return;
            }
            match part {
                Part::Plain(text) if place == 0 => fields.push(&self.tilde(text)),
                Part::Plain(text) | Part::Quoted(text) => fields.push(text),
                Part::Variable(variable) => self.variable(variable, fields, splits),
                Part::Substitution { body, quoted } => {
                    let text = self.printed(body);
                    let text = text.text().trim_end_matches('\n');
                    self.append(text, *quoted || !splits, fields);
                }
                Part::Process(body) => {
                    fields.push(&self.session.keep(self.printed(body).text()));
                }
                Part::Arithmetic(_) | Part::Opaque => fields.push(UNKNOWN_TEXT),
            }
        }
    }

    /// Returns the output of a list.
    fn printed(&self, body: &List) -> Word {
        if self.depth >= MAX_DEPTH {
            return Word::unknown();
        }
        let inner = Self { depth: self.depth + 1, ..*self };
        let printed = output::of_list(body, None, inner);
        printed.unwrap_or_else(|| sources::unknown_output(body, inner))
    }

    /// Appends a value, paying for its length.
    fn append(&self, text: &str, whole: bool, fields: &mut Fields) {
        if !self.session.spend(text.len() / 16) {
            fields.push(UNKNOWN_TEXT);
        } else if whole {
            fields.push(text);
        } else {
            fields.push_split(text);
        }
    }

    /// Expands `~` if the home folder is known; otherwise it stays.
    fn tilde<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if let Some(behind) = text.strip_prefix('~')
            && (behind.is_empty() || behind.starts_with('/'))
            && let Some(Value::Scalar(home)) = self.state.variable("HOME")
        {
            return Cow::Owned(format!("{}{behind}", home.text()));
        }
        Cow::Borrowed(text)
    }

    fn variable(&self, variable: &Variable, fields: &mut Fields, splits: bool) {
        let quoted = variable.quoted || !splits;
        let words = self.lookup(variable);
        match &variable.operation {
            Operation::Value => match words {
                Some(words) if self.is_list(variable) => {
                    let joined = &*variable.name == "*" && quoted;
                    for (place, word) in words.iter().enumerate() {
                        if place > 0 && joined {
                            fields.push(" ");
                        } else if place > 0 {
                            fields.end();
                        }
                        self.append(word.text(), quoted, fields);
                    }
                }
                Some(words) => {
                    let text = words.first().map(Word::text).unwrap_or_default();
                    self.append(text, quoted, fields);
                }
                None => fields.push(UNKNOWN_TEXT),
            },
            Operation::Default { word, .. } => match words {
                Some(words) if words.iter().any(|word| !word.text().is_empty()) => {
                    for word in words {
                        self.append(word.text(), quoted, fields);
                    }
                }
                _ => self.operand(word, fields, quoted),
            },
            Operation::Alternative(word) => {
                if words.is_none_or(|words| words.iter().any(|word| !word.text().is_empty())) {
                    self.operand(word, fields, quoted);
                }
            }
            Operation::Other(_) => fields.push(UNKNOWN_TEXT),
        }
    }

    fn operand(&self, word: &RawWord, fields: &mut Fields, quoted: bool) {
        if quoted {
            let value = self.value(word);
            fields.push(value.text());
        } else {
            let mut words = Vec::new();
            self.unbraced_fields(word, &mut words);
            let mut words = words.into_iter();
            // Unquoted blanks in the operand split words, as those in a value do.
            if let Some(first) = words.next() {
                self.append(first.text(), word_is_quoted(word), fields);
            }
            for word in words {
                fields.end();
                fields.push(word.text());
            }
        }
    }

    fn is_list(&self, variable: &Variable) -> bool {
        matches!(&*variable.name, "@" | "*") || variable.index == Some(Index::All)
    }

    /// Returns the values of a variable; `None` if the line does not define them.
    fn lookup(&self, variable: &Variable) -> Option<Vec<Word>> {
        let parameters = &self.state.parameters;
        match &*variable.name {
            "@" | "*" => Some(parameters.iter().skip(1).cloned().collect()),
            // The shell's folder is unknown, its name is not.
            "SHELL" | "BASH" if self.state.variable(&variable.name).is_none() => {
                Some(vec![Word::from(format!("{UNKNOWN}/bash"))])
            }
            "IFS" if self.state.variable("IFS").is_none() => Some(vec![Word::from(" \t\n")]),
            "#" => Some(vec![Word::from(parameters.len().saturating_sub(1).to_string())]),
            name if name.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty() => {
                let place: usize = name.parse().ok()?;
                match parameters.get(place) {
                    Some(word) => Some(vec![word.clone()]),
                    None if place == 0 => None,
                    None => Some(vec![Word::from("")]),
                }
            }
            name => match (self.state.variable(name)?, variable.index) {
                (Value::Scalar(word), None | Some(Index::All | Index::At(0))) => {
                    Some(vec![word.clone()])
                }
                (Value::Array(words), Some(Index::All)) => Some(words.clone()),
                (Value::Array(words), None) => words.first().map(|word| vec![word.clone()]),
                (Value::Array(words), Some(Index::At(place))) => {
                    Some(vec![words.get(place).cloned().unwrap_or_else(|| Word::from(""))])
                }
                _ => None,
            },
        }
    }
}

fn word_is_quoted(word: &RawWord) -> bool {
    word.parts.iter().all(|part| matches!(part, Part::Quoted(_)))
}

const UNKNOWN_TEXT: &str = "\u{fffc}";
