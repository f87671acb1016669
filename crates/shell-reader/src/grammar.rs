//! Lists, chains, pipelines and simple commands.

use std::cell::OnceCell;
use std::rc::Rc;

use super::RedirectKind;
use super::parser::Parser;
use super::tree::{
    AssignedValue, Assignment, Body, Item, Joint, List, Part, Pipeline, RawRedirect, RawWord,
    Stage, Target,
};

/// Reserved words that close or continue a command; elsewhere they are mistakes.
const CLOSING: [&str; 8] = ["then", "do", "done", "fi", "else", "elif", "esac", "}"];

/// The length of `function`, the longest reserved word.
const LONGEST_RESERVED: usize = 8;

/// The parts of a simple command read so far.
#[derive(Default)]
struct Gathered {
    assignments: Vec<Assignment>,
    words: Vec<RawWord>,
    redirects: Vec<RawRedirect>,
}

impl Parser<'_> {
    /// Reads statements up to one of the words in `stop`, a closing parenthesis, the end of a
    /// `case` arm or the end of the text.
    pub(super) fn list(&mut self, stop: &[&str]) -> List {
        let mut items = Vec::new();
        loop {
            self.skip_lines();
            let Some(byte) = self.peek() else { break };
            if byte == b')' && self.open_parens > 0 {
                break;
            }
            if stop.contains(&";;") && (self.starts_with(";;") || self.starts_with(";&")) {
                break;
            }
            if let Some(word) = self.reserved(&CLOSING) {
                if stop.contains(&word) {
                    break;
                }
                self.position += word.len();
                self.note_incomplete();
                continue;
            }
            self.count();
            let before = self.position;
            let item = self.item();
            if self.position == before {
                self.bump();
                self.note_incomplete();
            } else {
                items.push(item);
            }
        }
        List { items }
    }

    /// Reads the statements of `( … )`, after the opening parenthesis.
    pub(super) fn list_in_parens(&mut self) -> List {
        self.open_parens += 1;
        let list = self.list(&[]);
        self.open_parens -= 1;
        if !self.eat(")") {
            self.note_incomplete();
        }
        list
    }

    /// Returns the next word, if it is one of `words`.
    pub(super) fn reserved<'w>(&self, words: &[&'w str]) -> Option<&'w str> {
        let mut bytes = self.rest().bytes().take(LONGEST_RESERVED + 1);
        let length = bytes.position(ends_reserved);
        let found = match length {
            Some(length) => self.rest().get(..length)?,
            None => self.rest(),
        };
        words.iter().copied().find(|word| *word == found)
    }

    /// Skips a reserved word if it comes next.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.reserved(&[word]).is_some();
        if found {
            self.position += word.len();
        }
        found
    }

    fn item(&mut self) -> Item {
        let mut chain = vec![(Joint::And, self.pipeline())];
        loop {
            self.skip_blanks();
            let joint = if self.eat("&&") {
                Joint::And
            } else if self.eat("||") {
                Joint::Or
            } else {
                break;
            };
            self.skip_lines();
            let before = self.position;
            let pipeline = self.pipeline();
            if self.position == before {
                self.note_incomplete();
                break;
            }
            chain.push((joint, pipeline));
        }
        let background = self.peek() == Some(b'&') && !self.starts_with("&>");
        if background
            || (self.peek() == Some(b';') && !matches!(self.peek_at(1), Some(b';' | b'&')))
        {
            self.position += 1;
        }
        Item { chain, background }
    }

    fn pipeline(&mut self) -> Pipeline {
        let mut negated = false;
        loop {
            self.skip_blanks();
            if self.at_negation() {
                self.position += 1;
                negated = !negated;
            } else if self.at_time_keyword() {
                self.position += 4;
                self.skip_blanks();
                self.eat_word("-p");
            } else if !self.eat_word("coproc") {
                break;
            }
        }
        let mut stages = vec![self.stage()];
        while self.at_pipe() {
            let merges_errors = self.peek_at(1) == Some(b'&');
            self.position += 1 + usize::from(merges_errors);
            self.skip_lines();
            stages.push(self.stage());
        }
        Pipeline { negated, stages }
    }

    fn at_negation(&self) -> bool {
        self.peek() == Some(b'!') && self.reserved(&["!"]).is_some()
    }

    /// Returns whether the keyword `time` comes next, not the program, which takes other options.
    fn at_time_keyword(&self) -> bool {
        if self.peek() != Some(b't') || self.reserved(&["time"]).is_none() {
            return false;
        }
        let behind = self.rest().get(4..).unwrap_or_default().trim_start_matches([' ', '\t']);
        !behind.starts_with('-') || behind.starts_with("-p")
    }

    fn at_pipe(&mut self) -> bool {
        self.skip_blanks();
        self.peek() == Some(b'|') && self.peek_at(1) != Some(b'|')
    }

    /// Reads one command with its redirections.
    pub(super) fn stage(&mut self) -> Stage {
        self.skip_blanks();
        // `a | ! b` is a syntax error in bash.
        while self.at_negation() {
            self.position += 1;
            self.note_incomplete();
            self.skip_blanks();
        }
        let start = self.position;
        let Some(body) = self.compound() else { return self.simple(start) };
        let mut gathered = Gathered::default();
        loop {
            self.skip_blanks();
            if !self.redirect(&mut gathered) {
                break;
            }
        }
        Stage { body, redirects: gathered.redirects, span: self.span_from(start) }
    }

    fn simple(&mut self, start: usize) -> Stage {
        let mut gathered = Gathered::default();
        let mut end = self.position;
        loop {
            self.skip_blanks();
            if let Some(name) = self.function_name(&gathered) {
                return self.function(name, start);
            }
            if !self.redirect(&mut gathered) && !self.argument(&mut gathered) {
                break;
            }
            end = self.position;
        }
        if self.peek() == Some(b'(') {
            self.note_incomplete();
        }
        let behind = std::mem::replace(&mut self.position, end);
        let span = self.span_from(start);
        self.position = behind;
        let Gathered { assignments, words, redirects } = gathered;
        Stage { body: Body::Simple { assignments, words }, redirects, span }
    }

    /// Returns the name of a function whose definition comes next: a first word, then `()`.
    fn function_name(&mut self, gathered: &Gathered) -> Option<String> {
        let [word] = gathered.words.as_slice() else { return None };
        let behind = self.rest().strip_prefix('(')?;
        let behind = behind.trim_start_matches([' ', '\t']).strip_prefix(')')?;
        let name = word.plain()?.to_owned();
        self.position += self.rest().len() - behind.len();
        Some(name)
    }

    /// Reads the body of a function definition.
    pub(super) fn function(&mut self, name: String, start: usize) -> Stage {
        self.skip_lines();
        let body = self.deeper(Self::stage).unwrap_or_else(|| Stage {
            body: Body::Simple { assignments: Vec::new(), words: Vec::new() },
            redirects: Vec::new(),
            span: self.span_from(start),
        });
        let body = Body::Function { name, body: Rc::new(body) };
        Stage { body, redirects: Vec::new(), span: self.span_from(start) }
    }

    /// Reads an assignment or a word; false if neither comes next.
    fn argument(&mut self, gathered: &mut Gathered) -> bool {
        if gathered.words.is_empty()
            && let Some(assignment) = self.assignment()
        {
            gathered.assignments.push(assignment);
            return true;
        }
        let Some(word) = self.some_word() else { return false };
        // `declare -a list=(a b)`: the array belongs to an assignment.
        if self.peek() == Some(b'(')
            && let Some(name) =
                word.plain().and_then(|text| text.strip_suffix('=')).map(str::to_owned)
        {
            self.position += 1;
            let value = AssignedValue::Array(self.array());
            gathered.assignments.push(Assignment { name, append: false, value });
        }
        gathered.words.push(word);
        true
    }

    fn assignment(&mut self) -> Option<Assignment> {
        let rest = self.rest();
        let length =
            rest.bytes().take_while(|byte| *byte == b'_' || byte.is_ascii_alphanumeric()).count();
        if length == 0 || rest.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        let mut behind = rest.get(length..)?;
        let indexed = behind.starts_with('[');
        if indexed {
            let line = behind.lines().next().unwrap_or_default();
            let end = line.find("]=").or_else(|| line.find("]+="))?;
            behind = behind.get(end + 1..)?;
        }
        let append = behind.starts_with("+=");
        let behind = behind.strip_prefix("+=").or_else(|| behind.strip_prefix('='))?;
        self.position += rest.len() - behind.len();
        let name = rest.get(..length)?.to_owned();
        let value = if self.eat("(") {
            AssignedValue::Array(self.array())
        } else {
            AssignedValue::Scalar(self.word())
        };
        // Assignments to single array elements are not remembered.
        let name = if indexed { String::new() } else { name };
        Some(Assignment { name, append, value })
    }

    /// Reads the elements of `( … )` in an assignment, and the closing parenthesis.
    fn array(&mut self) -> Vec<RawWord> {
        let mut elements = Vec::new();
        loop {
            self.skip_lines();
            if self.eat(")") {
                return elements;
            }
            let Some(word) = self.some_word() else {
                self.note_incomplete();
                return elements;
            };
            elements.push(word);
        }
    }

    /// Reads a redirection; false if none comes next.
    fn redirect(&mut self, gathered: &mut Gathered) -> bool {
        if !matches!(self.peek(), Some(b'<' | b'>' | b'&' | b'0'..=b'9')) {
            return false;
        }
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let behind = self.rest().get(digits..).unwrap_or_default();
        let Some((operator, kind, descriptor)) = operator(behind, digits == 0) else {
            return false;
        };
        let descriptor = self.take(digits).parse().unwrap_or(descriptor);
        self.position += operator.len();
        self.skip_blanks();
        let word = self.word();
        let (kind, target) = match kind {
            RedirectKind::HereDocument => {
                let text = Rc::new(OnceCell::new());
                self.expect_document(&word, operator == "<<-", Rc::clone(&text));
                (kind, Target::Document(text))
            }
            RedirectKind::Duplicate if operator == ">&" && !is_descriptor(&word) => {
                (RedirectKind::Write, Target::Word(word))
            }
            _ => (kind, Target::Word(word)),
        };
        gathered.redirects.push(RawRedirect { kind, descriptor, target });
        true
    }
}

/// Returns whether a byte ends a reserved word.
pub(super) fn ends_reserved(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
}

/// Returns the redirection operator at the start of `text`, its kind and default descriptor.
fn operator(text: &str, bare: bool) -> Option<(&'static str, RedirectKind, u32)> {
    use RedirectKind::{Append, Duplicate, HereDocument, HereString, Read, ReadWrite, Write};
    const OPERATORS: [(&str, RedirectKind, u32); 12] = [
        ("<<<", HereString, 0),
        ("<<-", HereDocument, 0),
        ("<<", HereDocument, 0),
        ("<&", Duplicate, 0),
        ("<>", ReadWrite, 0),
        ("<", Read, 0),
        (">>", Append, 1),
        (">&", Duplicate, 1),
        (">|", Write, 1),
        (">", Write, 1),
        ("&>>", Append, 1),
        ("&>", Write, 1),
    ];
    let found = OPERATORS.into_iter().find(|(operator, ..)| text.starts_with(operator))?;
    let process = text.starts_with("<(") || text.starts_with(">(");
    (!process && (bare || !found.0.starts_with('&'))).then_some(found)
}

fn is_descriptor(word: &RawWord) -> bool {
    match &*word.parts {
        [Part::Plain(text)] => text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'),
        [] => true,
        _ => false,
    }
}
