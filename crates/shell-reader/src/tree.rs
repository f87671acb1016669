//! The syntax tree of a command line, before any word is expanded.
//!
//! Only what the reader needs is kept; comments, blanks and exact operators are dropped.

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

use super::RedirectKind;

/// A sequence of statements.
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

/// The operator between a pipeline and the one before it; `And` for the first in a chain.
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

/// The body of a stage.
#[derive(Debug, Clone)]
pub(super) enum Body {
    /// A program with its arguments.
    Simple { assignments: Vec<Assignment>, words: Vec<RawWord> },
    /// `{ … }` and `( … )`.
    Group { list: List, subshell: bool },
    /// `if`; each `elif` is an arm of its own.
    If { arms: Vec<(List, List)>, otherwise: Option<List> },
    /// `while`, `until` and `for (( … ))`.
    While { condition: List, body: List },
    /// `for name in words`; without words, over the positional parameters.
    For { name: String, words: Option<Vec<RawWord>>, body: List },
    /// `case`, each arm with its patterns.
    Case { subject: RawWord, arms: Vec<(Vec<RawWord>, List)> },
    /// A function definition.
    Function { name: String, body: Rc<Stage> },
    /// `[[ … ]]`, `(( … ))` and the head of `for (( … ))`: only substitutions in them can run.
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
    /// A single value.
    Scalar(RawWord),
    /// An array.
    Array(Vec<RawWord>),
}

/// A redirection before expansion of its target.
#[derive(Debug, Clone)]
pub(super) struct RawRedirect {
    pub(super) kind: RedirectKind,
    pub(super) descriptor: u32,
    pub(super) target: Target,
}

/// The target of a redirection.
#[derive(Debug, Clone)]
pub(super) enum Target {
    Word(RawWord),
    /// The text of a here-document, which follows on later lines and is set when they are read.
    Document(Rc<OnceCell<RawWord>>),
}

/// A word before expansion.
#[derive(Debug, Clone, Default)]
pub(super) struct RawWord {
    pub(super) parts: Vec<Part>,
}

/// A piece of a word.
#[derive(Debug, Clone)]
pub(super) enum Part {
    /// Text outside quotes, where braces and patterns have a meaning.
    Plain(String),
    /// Text inside quotes or after a backslash.
    Quoted(String),
    /// `$name` and similar expansions.
    Variable(Box<Variable>),
    /// `$( … )` and backticks.
    Substitution { body: Rc<List>, quoted: bool },
    /// `<( … )` and `>( … )`.
    Process(Rc<List>),
    /// `$(( … ))`: not computed; its parts may contain substitutions.
    Arithmetic(Box<RawWord>),
    /// A part that is nested too deeply or too malformed to be read.
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

/// The operation of `${…}` on the value.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    /// The value itself.
    Value,
    /// `:-`, `-`, `:=`, `=`
    Default { word: RawWord, assigns: bool },
    /// `:+`, `+`
    Alternative(RawWord),
    /// Anything else: not computed; the operand may contain substitutions.
    Other(RawWord),
}

impl List {
    /// Creates a list that only evaluates these words, such as the head of `for (( … ))`.
    pub(super) fn of_words(words: Vec<RawWord>) -> Self {
        let stage = Stage { body: Body::Test(words), redirects: Vec::new(), span: 0..0 };
        let pipeline = Pipeline { negated: false, stages: vec![stage] };
        Self { items: vec![Item { chain: vec![(Joint::And, pipeline)], background: false }] }
    }
}

impl RawWord {
    /// Returns the text, if the word has no quotes and expansions.
    pub(super) fn plain(&self) -> Option<&str> {
        match &*self.parts {
            [Part::Plain(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns the text, if expansion does not change it.
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

    /// Creates a word with exactly this text.
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
    /// Returns the word after the operator, or the text of the here-document if it was found.
    pub(super) fn word(&self) -> Option<&RawWord> {
        match &self.target {
            Target::Word(word) => Some(word),
            Target::Document(text) => text.get(),
        }
    }
}

impl Part {
    /// Returns the text of a literal part; empty for expansions.
    pub(super) fn literal(&self) -> &str {
        match self {
            Self::Plain(text) | Self::Quoted(text) => text,
            _ => "",
        }
    }
}
