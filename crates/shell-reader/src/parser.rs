//! The place in the text, what is skipped between words, and here-documents.
//!
//! The parser never fails: text that bash would refuse is read as far as it makes sense and noted
//! as incomplete. A guard must see `git push "` although bash would only complain about it.

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

use super::tree::{List, Part, RawWord};

/// Nesting beyond this is read flat, so that neither we nor those who walk the tree run out of
/// stack; people nest three or four levels.
const MAX_DEPTH: usize = 40;

/// More statements and words than this are not read; a long script has a few thousand.
const MAX_WORDS: usize = 40_000;

/// Reads one text; texts inside it (backticks, here-documents) get a parser of their own.
#[derive(Default)]
pub(super) struct Parser<'a> {
    text: &'a str,
    pub(super) position: usize,
    depth: usize,
    /// How many more statements and words may be read.
    left: usize,
    /// How many `(` wait for their `)`; without any, a `)` is a stray one.
    pub(super) open_parens: usize,
    pending: Vec<PendingDocument>,
    complete: bool,
    /// The place reported for everything read here, when the text is not the one that was given.
    place: Option<Range<usize>>,
}

/// A here-document whose text comes after the current line.
struct PendingDocument {
    delimiter: String,
    strip_tabs: bool,
    expands: bool,
    target: Rc<OnceCell<RawWord>>,
}

/// Parses a whole text; the flag says whether all of it was understood.
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

    /// Reads a text that stands inside this one, such as that between backticks.
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

    /// Counts a statement or word; when there were too many, the rest of the text is skipped.
    pub(super) fn count(&mut self) {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => {
                self.complete = false;
                self.position = self.text.len();
            }
        }
    }

    /// Runs `read` one level down, or says that there is no deeper level.
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

    /// Steps over `token` if it stands here.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        let found = self.starts_with(token);
        if found {
            self.position += token.len();
        }
        found
    }

    /// Steps over one character, whatever it is.
    pub(super) fn bump(&mut self) -> &'a str {
        let length = self.rest().chars().next().map_or(0, char::len_utf8);
        self.take(length)
    }

    /// The next `length` bytes, stepping over them.
    pub(super) fn take(&mut self, length: usize) -> &'a str {
        let taken = self.rest().get(..length).unwrap_or_default();
        self.position += taken.len();
        taken
    }

    /// The text up to a byte that `ends` it, stepping over the former.
    pub(super) fn take_until(&mut self, ends: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        self.take(rest.bytes().position(ends).unwrap_or(rest.len()))
    }

    /// Skips blanks, continued lines and a comment.
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

    /// Skips blanks and line ends; here-documents that wait are read at the first line end.
    pub(super) fn skip_lines(&mut self) {
        loop {
            self.skip_blanks();
            if !self.eat("\n") {
                return;
            }
            self.read_documents();
        }
    }

    /// Announces a here-document; its text will be put into `target`.
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
            // A target is announced once, so it is still empty.
            let _ = document.target.set(word);
        }
    }

    /// The lines up to the delimiter, or to the end of the text as bash does.
    fn document_text(&mut self, document: &PendingDocument) -> String {
        let mut text = String::new();
        while !self.rest().is_empty() {
            let line = self.take_until(|byte| byte == b'\n');
            let ended = self.eat("\n");
            let line = if document.strip_tabs { line.trim_start_matches('\t') } else { line };
            if line.strip_suffix('\r').unwrap_or(line) == document.delimiter {
                return text;
            }
            // `EOF)` closes a substitution on the delimiter's own line in many a hurried command.
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
