//! Words: quotes, escapes, `$…` and backticks, read into parts.

use std::rc::Rc;

use super::parser::Parser;
use super::tree::{Index, Operation, Part, RawWord, Variable};

/// An arithmetic expression longer than this is not looked for.
const MAX_LOOKAHEAD: usize = 4096;
/// Nor is an extended pattern longer than this.
const MAX_PATTERN: usize = 256;

/// Collects parts, joining neighbours of the same kind.
#[derive(Default)]
pub(super) struct Parts(Vec<Part>);

impl Parts {
    fn plain(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Part::Plain(before)) => before.push_str(text),
            _ => self.0.push(Part::Plain(text.to_owned())),
        }
    }

    fn quoted(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Part::Quoted(before)) => before.push_str(text),
            _ => self.0.push(Part::Quoted(text.to_owned())),
        }
    }

    fn literal(&mut self, text: &str, quoted: bool) {
        if quoted { self.quoted(text) } else { self.plain(text) }
    }

    fn into_word(self) -> RawWord {
        RawWord { parts: self.0 }
    }
}

impl Parser<'_> {
    /// Reads a word up to a blank or an operator; empty if there is none.
    pub(super) fn word(&mut self) -> RawWord {
        self.count();
        let mut parts = Parts::default();
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' => break,
                b'\r' if self.peek_at(1) == Some(b'\n') => break,
                b'(' => match self.extended_pattern_length(&parts) {
                    Some(length) => {
                        let pattern = self.take(length);
                        parts.plain(pattern);
                    }
                    None => break,
                },
                b'<' | b'>' if self.peek_at(1) == Some(b'(') => self.process(&mut parts),
                b'<' | b'>' => break,
                b'\'' => self.single_quoted(&mut parts),
                b'"' => self.double_quoted(&mut parts),
                b'\\' => self.escape(&mut parts),
                b'$' => self.dollar(&mut parts, false),
                b'`' => self.backticks(&mut parts, false),
                _ => {
                    let text = self.take_until(|byte| b" \t\r\n;&|()<>'\"\\$`".contains(&byte));
                    let text = if text.is_empty() { self.bump() } else { text };
                    parts.plain(text);
                }
            }
        }
        parts.into_word()
    }

    /// Reads the text of a here-document, in which only `$`, backticks and backslashes count.
    pub(super) fn document(&mut self) -> RawWord {
        let mut parts = Parts::default();
        parts.quoted("");
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.quoted_escape(&mut parts, b"$`\\\n"),
                b'$' => self.dollar(&mut parts, true),
                b'`' => self.backticks(&mut parts, true),
                _ => parts.quoted(self.take_until(|byte| b"\\$`".contains(&byte))),
            }
        }
        parts.into_word()
    }

    /// The length of `(a|b)` behind `@`, `?`, `*`, `+` or `!`, if such a pattern stands here.
    fn extended_pattern_length(&self, parts: &Parts) -> Option<usize> {
        let Some(Part::Plain(before)) = parts.0.last() else { return None };
        if !before.ends_with(['@', '?', '*', '+', '!']) {
            return None;
        }
        let mut depth = 0_usize;
        for (offset, byte) in self.rest().bytes().take(MAX_PATTERN).enumerate() {
            match byte {
                b'(' => depth += 1,
                b')' if depth == 1 => return Some(offset + 1),
                b')' => depth -= 1,
                b'\n' | b'\'' | b'"' | b'$' | b'`' | b';' => return None,
                _ => {}
            }
        }
        None
    }

    fn single_quoted(&mut self, parts: &mut Parts) {
        self.position += 1;
        parts.quoted(self.take_until(|byte| byte == b'\''));
        if !self.eat("'") {
            self.note_incomplete();
        }
    }

    fn double_quoted(&mut self, parts: &mut Parts) {
        self.position += 1;
        parts.quoted("");
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.position += 1;
                    return;
                }
                b'\\' => self.quoted_escape(parts, b"$`\"\\\n"),
                b'$' => self.dollar(parts, true),
                b'`' => self.backticks(parts, true),
                _ => parts.quoted(self.take_until(|byte| b"\"\\$`".contains(&byte))),
            }
        }
        self.note_incomplete();
    }

    fn escape(&mut self, parts: &mut Parts) {
        self.position += 1;
        match self.bump() {
            "\n" => {}
            "" => parts.plain("\\"),
            character => parts.quoted(character),
        }
    }

    fn quoted_escape(&mut self, parts: &mut Parts, special: &[u8]) {
        self.position += 1;
        match self.peek() {
            Some(b'\n') if special.contains(&b'\n') => self.position += 1,
            Some(byte) if special.contains(&byte) => parts.quoted(self.take(1)),
            _ => parts.quoted("\\"),
        }
    }

    fn backticks(&mut self, parts: &mut Parts, quoted: bool) {
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
        parts.0.push(
            body.map_or(Part::Opaque, |body| Part::Substitution { body: Rc::new(body), quoted }),
        );
    }

    /// Reads what a `$` begins.
    fn dollar(&mut self, parts: &mut Parts, quoted: bool) {
        self.position += 1;
        match self.peek() {
            Some(b'\'') if !quoted => {
                self.position += 1;
                let text = super::escapes::ansi_c(self);
                parts.quoted(&text);
            }
            Some(b'"') if !quoted => self.double_quoted(parts),
            Some(b'{') => self.braced(parts, quoted),
            Some(b'(') => self.parenthesized(parts, quoted),
            Some(byte) if byte == b'_' || byte.is_ascii_alphabetic() => {
                let name = self.take_until(|byte| byte != b'_' && !byte.is_ascii_alphanumeric());
                parts.0.push(variable(name, Operation::Value, quoted));
            }
            Some(byte) if b"@*#?-$!".contains(&byte) || byte.is_ascii_digit() => {
                let name = self.take(1);
                parts.0.push(variable(name, Operation::Value, quoted));
            }
            _ => parts.literal("$", quoted),
        }
    }

    fn parenthesized(&mut self, parts: &mut Parts, quoted: bool) {
        if let Some(length) = self.arithmetic_length() {
            self.position += 2;
            let end = self.position + length;
            let inner = self.deeper(|parser| parser.arithmetic(end));
            self.position = self.position.max(end);
            self.eat("))");
            parts.0.push(inner.map_or(Part::Opaque, Part::Arithmetic));
            return;
        }
        self.position += 1;
        let body = self.deeper(Self::list_in_parens);
        parts.0.push(
            body.map_or(Part::Opaque, |body| Part::Substitution { body: Rc::new(body), quoted }),
        );
    }

    fn process(&mut self, parts: &mut Parts) {
        self.position += 2;
        let body = self.deeper(Self::list_in_parens);
        parts.0.push(body.map_or(Part::Opaque, |body| Part::Process(Rc::new(body))));
    }

    /// The length of the expression in `(( … ))`, if the text here is one.
    pub(super) fn arithmetic_length(&self) -> Option<usize> {
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

    /// Reads an expression up to `end` for the substitutions in it.
    pub(super) fn arithmetic(&mut self, end: usize) -> Vec<Part> {
        let mut parts = Parts::default();
        while self.position < end {
            match self.peek() {
                Some(b'$') => self.dollar(&mut parts, true),
                Some(b'`') => self.backticks(&mut parts, true),
                _ => parts.quoted(self.bump()),
            }
        }
        parts.0
    }

    /// Reads `${ … }`.
    fn braced(&mut self, parts: &mut Parts, quoted: bool) {
        self.position += 1;
        let read = self.deeper(|parser| parser.braced_body(quoted));
        match read {
            Some(variable) => parts.0.push(Part::Variable(variable)),
            None => parts.0.push(Part::Opaque),
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
        Variable { name: name.to_owned(), index, operation, quoted }
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
        let mut parts = Parts::default();
        while let Some(byte) = self.peek() {
            match byte {
                b'}' => {
                    self.position += 1;
                    return parts.into_word();
                }
                b'\'' if !quoted => self.single_quoted(&mut parts),
                b'"' => self.double_quoted(&mut parts),
                b'\\' if quoted => self.quoted_escape(&mut parts, b"$`\"\\\n}"),
                b'\\' => self.escape(&mut parts),
                b'$' => self.dollar(&mut parts, quoted),
                b'`' => self.backticks(&mut parts, quoted),
                _ => {
                    let text = self.take_until(|byte| b"}'\"\\$`".contains(&byte));
                    let text = if text.is_empty() { self.bump() } else { text };
                    parts.literal(text, quoted);
                }
            }
        }
        self.note_incomplete();
        parts.into_word()
    }
}

fn variable(name: &str, operation: Operation, quoted: bool) -> Part {
    Part::Variable(Variable { name: name.to_owned(), index: None, operation, quoted })
}
