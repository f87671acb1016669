//! The parser's position in the text, blanks between words, and here-documents.
//!
//! The parser never fails: text that bash would reject is read as far as it makes sense and marked
//! as incomplete. A guard must find `git push "` although bash would reject it.

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

use super::tree::{List, Part, RawWord};

/// The maximum nesting; deeper text is read flat, so that neither the parser nor the walker of the
/// tree overflows the stack. People nest three or four levels.
const MAX_DEPTH: usize = 40;

/// The maximum number of statements and words; a long script has a few thousand.
const MAX_WORDS: usize = 40_000;

/// Parses one text; texts inside it (backticks, here-documents) get a parser of their own.
#[derive(Default)]
pub(super) struct Parser<'a> {
    text: &'a str,
    pub(super) position: usize,
    depth: usize,
    /// The number of statements and words that may still be read.
    left: usize,
    /// The number of open `(`; if zero, a `)` is stray.
    pub(super) open_parens: usize,
    pending: Vec<PendingDocument>,
    complete: bool,
    /// The span to report for everything read here, if the text is not the original one.
    place: Option<Range<usize>>,
}

/// A here-document whose text follows after the current line.
struct PendingDocument {
    delimiter: String,
    strip_tabs: bool,
    expands: bool,
    target: Rc<OnceCell<RawWord>>,
}

/// Parses a whole text; the flag is true if all of it was understood.
pub(super) fn parse(text: &str, place: Option<Range<usize>>) -> (List, bool) {
    let mut parser = Parser::new(text, place);
    let list = parser.list(&[]);
    parser.read_documents();
    (list, parser.complete)
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, place: Option<Range<usize>>) -> Self {
        Self { text, left: MAX_WORDS, complete: true, place, ..Self::default() }
    }

    /// Parses a text inside this one, such as that between backticks.
    pub(super) fn nested<T>(&mut self, text: &str, read: impl FnOnce(&mut Parser) -> T) -> T {
        let mut inner = Parser::new(text, Some(self.span_from(self.position)));
        inner.depth = self.depth;
        inner.left = self.left;
        let result = read(&mut inner);
        inner.read_documents();
        self.left = inner.left;
        self.complete &= inner.complete;
        result
    }

    /// Counts a statement or word; if there are too many, skips the rest of the text.
    pub(super) fn count(&mut self) {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => {
                self.complete = false;
                self.position = self.text.len();
            }
        }
    }

    /// Runs `read` one level deeper; `None` if the limit is reached.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            self.complete = false;
            return None;
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        Some(result)
    }

    pub(super) fn note_incomplete(&mut self) {
        self.complete = false;
    }

    pub(super) fn span_from(&self, start: usize) -> Range<usize> {
        self.place.clone().unwrap_or(start..self.position)
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.position + ahead).copied()
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.position..).unwrap_or_default()
    }

    pub(super) fn starts_with(&self, token: &str) -> bool {
        let rest = self.text.as_bytes().get(self.position..).unwrap_or_default();
        rest.starts_with(token.as_bytes())
    }

    /// Skips `token` if it comes next.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        let found = self.starts_with(token);
        if found {
            self.position += token.len();
        }
        found
    }

    /// Takes one character.
    pub(super) fn bump(&mut self) -> &'a str {
        let length = self.rest().chars().next().map_or(0, char::len_utf8);
        self.take(length)
    }

    /// Takes the next `length` bytes.
    pub(super) fn take(&mut self, length: usize) -> &'a str {
        let taken = self.rest().get(..length).unwrap_or_default();
        self.position += taken.len();
        taken
    }

    /// Takes the text up to a byte that `ends` it, without that byte.
    pub(super) fn take_until(&mut self, ends: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        self.take(rest.bytes().position(ends).unwrap_or(rest.len()))
    }

    /// Skips blanks, line continuations and a comment.
    pub(super) fn skip_blanks(&mut self) {
        let mut at_word_start = true;
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.position += 1,
                Some(b'\r') if self.peek_at(1) == Some(b'\n') => self.position += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.position += 2,
                Some(b'#') if at_word_start => {
                    self.take_until(|byte| byte == b'\n');
                    at_word_start = false;
                }
                _ => return,
            }
        }
    }

    /// Skips blanks and newlines; pending here-documents are read at the first newline.
    pub(super) fn skip_lines(&mut self) {
        loop {
            self.skip_blanks();
            if !self.eat("\n") {
                return;
            }
            self.read_documents();
        }
    }

    /// Registers a here-document; its text will be stored in `target`.
    pub(super) fn expect_document(
        &mut self,
        delimiter: &RawWord,
        strip_tabs: bool,
        target: Rc<OnceCell<RawWord>>,
    ) {
        let expands = delimiter.plain().is_some();
        let delimiter = delimiter.parts.iter().map(Part::literal).collect();
        self.pending.push(PendingDocument { delimiter, strip_tabs, expands, target });
    }

    fn read_documents(&mut self) {
        for document in std::mem::take(&mut self.pending) {
            let text = self.document_text(&document);
            let word = if document.expands {
                self.nested(&text, |inner| inner.document())
            } else {
                RawWord::of_text(text)
            };
            // A target is registered only once, so it is still empty.
            let _ = document.target.set(word);
        }
    }

    /// Takes the lines up to the delimiter, or to the end of the text, as bash does.
    fn document_text(&mut self, document: &PendingDocument) -> String {
        let mut text = String::new();
        while !self.rest().is_empty() {
            let line = self.take_until(|byte| byte == b'\n');
            let ended = self.eat("\n");
            let line = if document.strip_tabs { line.trim_start_matches('\t') } else { line };
            if line.strip_suffix('\r').unwrap_or(line) == document.delimiter {
                return text;
            }
            // Hasty commands often close a substitution on the delimiter's line: `EOF)`.
            if self.open_parens > 0
                && let Some(behind) = line.strip_prefix(document.delimiter.as_str())
                && behind.starts_with(')')
                && !document.delimiter.is_empty()
            {
                self.position -= behind.len() + usize::from(ended);
                return text;
            }
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}
