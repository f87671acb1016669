//! The shape of a parsed command line, before any word is expanded.
//!
//! Only what the reader needs is kept: comments, blank space and exact operators are gone.

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

use super::RedirectKind;

/// Statements one after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct List {
    pub(super) items: Vec<Item>,
}

/// Pipelines joined by `&&` and `||`.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) chain: Vec<(Joint, Pipeline)>,
    pub(super) background: bool,
}

/// How a pipeline hangs on the one before it; the first of a chain is `And`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    And,
    Or,
}

/// Commands joined by `|`.
#[derive(Debug, Clone)]
pub(super) struct Pipeline {
    pub(super) negated: bool,
    pub(super) stages: Vec<Stage>,
}

/// One command of a pipeline.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    pub(super) body: Body,
    pub(super) redirects: Vec<RawRedirect>,
    pub(super) span: Range<usize>,
}

/// What a stage consists of.
#[derive(Debug, Clone)]
pub(super) enum Body {
    /// A program with its arguments.
    Simple { assignments: Vec<Assignment>, words: Vec<RawWord> },
    /// `{ … }` and `( … )`.
    Group { list: List, subshell: bool },
    /// `if`, each `elif` an arm of its own.
    If { arms: Vec<(List, List)>, otherwise: Option<List> },
    /// `while`, `until` and `for (( … ))`.
    While { condition: List, body: List },
    /// `for name in words`; without words, over the parameters.
    For { name: String, words: Option<Vec<RawWord>>, body: List },
    /// `case`, each arm with its patterns.
    Case { subject: RawWord, arms: Vec<(Vec<RawWord>, List)> },
    /// A definition.
    Function { name: String, body: Rc<Stage> },
    /// `[[ … ]]`, `(( … ))` and the head of `for (( … ))`: nothing but substitutions can run.
    Test(Vec<RawWord>),
}

/// `NAME=value`, `NAME+=value`, `NAME=( … )`.
#[derive(Debug, Clone)]
pub(super) struct Assignment {
    pub(super) name: String,
    pub(super) append: bool,
    pub(super) value: AssignedValue,
}

/// The right side of an assignment.
#[derive(Debug, Clone)]
pub(super) enum AssignedValue {
    /// One value.
    Scalar(RawWord),
    /// A list.
    Array(Vec<RawWord>),
}

/// A redirection whose target is not expanded yet.
#[derive(Debug, Clone)]
pub(super) struct RawRedirect {
    pub(super) kind: RedirectKind,
    pub(super) descriptor: u32,
    pub(super) target: Target,
}

/// What a redirection leads to.
#[derive(Debug, Clone)]
pub(super) enum Target {
    Word(RawWord),
    /// The text of a here-document, which follows on later lines and is filled in then.
    Document(Rc<OnceCell<RawWord>>),
}

/// A word as written.
#[derive(Debug, Clone, Default)]
pub(super) struct RawWord {
    pub(super) parts: Vec<Part>,
}

/// A piece of a word.
#[derive(Debug, Clone)]
pub(super) enum Part {
    /// Outside quotes: braces and patterns mean something.
    Plain(String),
    /// Inside quotes or behind a backslash.
    Quoted(String),
    /// `$name` and its like.
    Variable(Box<Variable>),
    /// `$( … )` and backticks.
    Substitution { body: Rc<List>, quoted: bool },
    /// `<( … )` and `>( … )`.
    Process(Rc<List>),
    /// `$(( … ))`: a number that nobody computes here; the parts may hold substitutions.
    Arithmetic(Box<RawWord>),
    /// Something that is too deep or too broken to be read.
    Opaque,
}

/// `$name`, `${name}`, `${name:-word}` and the like.
#[derive(Debug, Clone)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) index: Option<Index>,
    pub(super) operation: Operation,
    pub(super) quoted: bool,
}

/// The subscript of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Index {
    All,
    At(usize),
    Computed,
}

/// What `${…}` does with the value.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    /// Nothing.
    Value,
    /// `:-`, `-`, `:=`, `=`
    Default { word: RawWord, assigns: bool },
    /// `:+`, `+`
    Alternative(RawWord),
    /// Anything else: the result is not computed, the operand may hold substitutions.
    Other(RawWord),
}

impl List {
    /// A list that only evaluates these words, such as the head of `for (( … ))`.
    pub(super) fn of_words(words: Vec<RawWord>) -> Self {
        let stage = Stage { body: Body::Test(words), redirects: Vec::new(), span: 0..0 };
        let pipeline = Pipeline { negated: false, stages: vec![stage] };
        Self { items: vec![Item { chain: vec![(Joint::And, pipeline)], background: false }] }
    }
}

impl RawWord {
    /// The text, if the word is written without quotes and expansions.
    pub(super) fn plain(&self) -> Option<&str> {
        match &*self.parts {
            [Part::Plain(text)] => Some(text),
            _ => None,
        }
    }

    /// The text, if expansion changes nothing in it.
    pub(super) fn inert(&self) -> Option<&str> {
        match &*self.parts {
            [Part::Plain(text)] => {
                let expands = text.starts_with('~') || text.as_bytes().contains(&b'{');
                (!expands).then_some(text)
            }
            [Part::Quoted(text)] => Some(text),
            _ => None,
        }
    }

    /// A word that stands for exactly this text.
    pub(super) fn of_text(text: String) -> Self {
        Self { parts: vec![Part::Quoted(text)] }
    }

    /// Appends text outside of quotes.
    pub(super) fn plain_text(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(Part::Plain(before)) => before.push_str(text),
            _ => self.push(Part::Plain(text.to_owned())),
        }
    }

    /// Appends text inside of quotes, which may be empty.
    pub(super) fn quoted_text(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(Part::Quoted(before)) => before.push_str(text),
            _ => self.push(Part::Quoted(text.to_owned())),
        }
    }

    pub(super) fn push(&mut self, part: Part) {
        self.parts.push(part);
    }
}

impl RawRedirect {
    /// The word behind the operator, or the text of the here-document if it was found.
    pub(super) fn word(&self) -> Option<&RawWord> {
        match &self.target {
            Target::Word(word) => Some(word),
            Target::Document(text) => text.get(),
        }
    }
}

impl Part {
    /// The text of a literal part; expansions have none.
    pub(super) fn literal(&self) -> &str {
        match self {
            Self::Plain(text) | Self::Quoted(text) => text,
            _ => "",
        }
    }
}
