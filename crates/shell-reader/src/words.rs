//! Words: quotes, escapes, `$…` and backticks, read into parts.

use std::rc::Rc;

use super::grammar::ends_reserved;
use super::parser::Parser;
use super::tree::{Index, List, Operation, Part, RawWord, Variable};

/// The longest arithmetic expression to look for.
const MAX_LOOKAHEAD: usize = 4096;

impl Parser<'_> {
    /// Reads a word up to a blank or an operator; empty if there is none.
    pub(super) fn word(&mut self) -> RawWord {
        self.count();
        let mut word = RawWord::default();
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' => break,
                b'\r' if self.peek_at(1) == Some(b'\n') => break,
                b'<' | b'>' if self.peek_at(1) == Some(b'(') => self.process(&mut word),
                b'<' | b'>' => break,
                b'\'' => self.single_quoted(&mut word),
                b'"' => self.double_quoted(&mut word),
                b'\\' => self.escape(&mut word),
                b'$' => self.dollar(&mut word, false),
                b'`' => self.backticks(&mut word, false),
                _ => {
                    let text = self.take_until(is_special);
                    let text = if text.is_empty() { self.bump() } else { text };
                    word.plain_text(text);
                }
            }
        }
        word
    }

    /// Reads a word, if one comes next.
    pub(super) fn some_word(&mut self) -> Option<RawWord> {
        let before = self.position;
        let word = self.word();
        (self.position != before).then_some(word)
    }

    /// Reads the text of a here-document, in which only `$`, backticks and backslashes are special.
    pub(super) fn document(&mut self) -> RawWord {
        let mut word = RawWord::default();
        word.quoted_text("");
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.quoted_escape(&mut word, b"$`\\\n"),
                b'$' => self.dollar(&mut word, true),
                b'`' => self.backticks(&mut word, true),
                _ => word.quoted_text(self.take_until(|byte| matches!(byte, b'\\' | b'$' | b'`'))),
            }
        }
        word
    }

    fn single_quoted(&mut self, word: &mut RawWord) {
        self.position += 1;
        word.quoted_text(self.take_until(|byte| byte == b'\''));
        if !self.eat("'") {
            self.note_incomplete();
        }
    }

    fn double_quoted(&mut self, word: &mut RawWord) {
        self.position += 1;
        word.quoted_text("");
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.position += 1;
                    return;
                }
                b'\\' => self.quoted_escape(word, b"$`\"\\\n"),
                b'$' => self.dollar(word, true),
                b'`' => self.backticks(word, true),
                _ => word.quoted_text(
                    self.take_until(|byte| matches!(byte, b'"' | b'\\' | b'$' | b'`')),
                ),
            }
        }
        self.note_incomplete();
    }

    fn escape(&mut self, word: &mut RawWord) {
        self.position += 1;
        match self.bump() {
            "\n" => {}
            "" => word.plain_text("\\"),
            character => word.quoted_text(character),
        }
    }

    fn quoted_escape(&mut self, word: &mut RawWord, special: &[u8]) {
        self.position += 1;
        match self.peek() {
            Some(b'\n') if special.contains(&b'\n') => self.position += 1,
            Some(byte) if special.contains(&byte) => {
                let escaped = self.take(1);
                word.quoted_text(escaped);
            }
            _ => word.quoted_text("\\"),
        }
    }

    fn backticks(&mut self, word: &mut RawWord, quoted: bool) {
        self.position += 1;
        let mut text = String::new();
        let mut closed = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'`' => {
                    self.position += 1;
                    closed = true;
                    break;
                }
                b'\\' => {
                    self.position += 1;
                    let next = self.bump();
                    let special = matches!(next, "`" | "\\" | "$") || (quoted && next == "\"");
                    if !special {
                        text.push('\\');
                    }
                    text.push_str(next);
                }
                _ => text.push_str(self.take_until(|byte| byte == b'`' || byte == b'\\')),
            }
        }
        if !closed {
            self.note_incomplete();
        }
        let body = self.deeper(|parser| parser.nested(&text, |inner| inner.list(&[])));
        word.push(substitution(body, quoted));
    }

    /// Reads the expansion after a `$`.
    fn dollar(&mut self, word: &mut RawWord, quoted: bool) {
        self.position += 1;
        match self.peek() {
            Some(b'\'') if !quoted => {
                self.position += 1;
                let text = super::escapes::ansi_c(self);
                word.quoted_text(&text);
            }
            Some(b'"') if !quoted => self.double_quoted(word),
            Some(b'{') => self.braced(word, quoted),
            Some(b'(') => self.parenthesized(word, quoted),
            Some(byte) if byte == b'_' || byte.is_ascii_alphabetic() => {
                let name = self.take_until(|byte| byte != b'_' && !byte.is_ascii_alphanumeric());
                word.push(variable(name, quoted));
            }
            Some(byte) if b"@*#?-$!".contains(&byte) || byte.is_ascii_digit() => {
                let name = self.take(1);
                word.push(variable(name, quoted));
            }
            _ => literal(word, "$", quoted),
        }
    }

    fn parenthesized(&mut self, word: &mut RawWord, quoted: bool) {
        if let Some(inner) = self.double_parentheses() {
            word.push(Part::Arithmetic(Box::new(inner)));
            return;
        }
        self.position += 1;
        let body = self.deeper(Self::list_in_parens);
        word.push(substitution(body, quoted));
    }

    /// Reads `(( … ))`, if it comes next.
    pub(super) fn double_parentheses(&mut self) -> Option<RawWord> {
        let length = self.arithmetic_length()?;
        self.position += 2;
        let end = self.position + length;
        let inner = self.deeper(|parser| parser.arithmetic(end)).unwrap_or_default();
        self.position = self.position.max(end);
        self.eat("))");
        Some(inner)
    }

    fn process(&mut self, word: &mut RawWord) {
        self.position += 2;
        let body = self.deeper(Self::list_in_parens);
        word.push(body.map_or(Part::Opaque, |body| Part::Process(Rc::new(body))));
    }

    /// Returns the length of the expression in `(( … ))`, if one comes next.
    fn arithmetic_length(&self) -> Option<usize> {
        let inner = self.rest().strip_prefix("((")?;
        let mut depth = 0_usize;
        for (offset, byte) in inner.bytes().take(MAX_LOOKAHEAD).enumerate() {
            match byte {
                b'(' => depth += 1,
                b')' if depth > 0 => depth -= 1,
                b')' => return inner.get(offset..)?.starts_with("))").then_some(offset),
                _ => {}
            }
        }
        None
    }

    /// Reads an expression up to `end`, for its substitutions.
    pub(super) fn arithmetic(&mut self, end: usize) -> RawWord {
        let mut word = RawWord::default();
        while self.position < end {
            match self.peek() {
                Some(b'$') => self.dollar(&mut word, true),
                Some(b'`') => self.backticks(&mut word, true),
                _ => word.quoted_text(self.arithmetic_text(end)),
            }
        }
        word
    }

    /// Takes the text up to `end` or the next substitution.
    fn arithmetic_text(&mut self, end: usize) -> &str {
        let text = self.rest().get(..end.saturating_sub(self.position)).unwrap_or_default();
        let length = text.bytes().position(|byte| matches!(byte, b'$' | b'`'));
        let text = self.take(length.unwrap_or(text.len()));
        if text.is_empty() { self.bump() } else { text }
    }

    /// Reads `${ … }`.
    fn braced(&mut self, word: &mut RawWord, quoted: bool) {
        self.position += 1;
        let read = self.deeper(|parser| parser.braced_body(quoted));
        match read {
            Some(variable) => word.push(Part::Variable(Box::new(variable))),
            None => word.push(Part::Opaque),
        }
    }

    fn braced_body(&mut self, quoted: bool) -> Variable {
        let prefixed = matches!(self.peek(), Some(b'#' | b'!'))
            && self.peek_at(1).is_some_and(|byte| byte != b'}' && byte != b':');
        if prefixed {
            self.position += 1;
        }
        let mut name = self.take_until(|byte| byte != b'_' && !byte.is_ascii_alphanumeric());
        if name.is_empty() && self.peek().is_some_and(|byte| b"@*#?-$!".contains(&byte)) {
            name = self.take(1);
        }
        let name = name.to_owned();
        let index = self.index();
        let colon = self.eat(":");
        let operator = self.peek();
        let known = operator.is_some_and(|byte| b"-=+".contains(&byte));
        if known {
            self.position += 1;
        }
        let word = self.operand(quoted);
        let operation = match operator {
            _ if prefixed => Operation::Other(word),
            Some(b'}') if !colon => Operation::Value,
            Some(b'-') => Operation::Default { word, assigns: false },
            Some(b'=') => Operation::Default { word, assigns: true },
            Some(b'+') => Operation::Alternative(word),
            _ => Operation::Other(word),
        };
        Variable { name, index, operation, quoted }
    }

    fn index(&mut self) -> Option<Index> {
        if !self.eat("[") {
            return None;
        }
        let text = self.take_until(|byte| b"]}\n".contains(&byte));
        self.eat("]");
        Some(match text {
            "@" | "*" => Index::All,
            _ => text.parse().map_or(Index::Computed, Index::At),
        })
    }

    /// Reads the word in `${name:-word}` and its closing brace.
    fn operand(&mut self, quoted: bool) -> RawWord {
        let mut word = RawWord::default();
        while let Some(byte) = self.peek() {
            match byte {
                b'}' => {
                    self.position += 1;
                    return word;
                }
                b'\'' if !quoted => self.single_quoted(&mut word),
                b'"' => self.double_quoted(&mut word),
                b'\\' if quoted => self.quoted_escape(&mut word, b"$`\"\\\n}"),
                b'\\' => self.escape(&mut word),
                b'$' => self.dollar(&mut word, quoted),
                b'`' => self.backticks(&mut word, quoted),
                _ => {
                    let text = self.take_until(|byte| b"}'\"\\$`".contains(&byte));
                    let text = if text.is_empty() { self.bump() } else { text };
                    literal(&mut word, text, quoted);
                }
            }
        }
        self.note_incomplete();
        word
    }
}

/// Returns whether a byte ends a run of literal characters in a word.
fn is_special(byte: u8) -> bool {
    ends_reserved(byte) || matches!(byte, b'\'' | b'"' | b'\\' | b'$' | b'`')
}

/// Creates a substitution; opaque if it was nested too deeply.
fn substitution(body: Option<List>, quoted: bool) -> Part {
    body.map_or(Part::Opaque, |body| Part::Substitution { body: Rc::new(body), quoted })
}

fn literal(word: &mut RawWord, text: &str, quoted: bool) {
    if quoted { word.quoted_text(text) } else { word.plain_text(text) }
}

fn variable(name: &str, quoted: bool) -> Part {
    let (name, operation) = (name.to_owned(), Operation::Value);
    Part::Variable(Box::new(Variable { name, index: None, operation, quoted }))
}
