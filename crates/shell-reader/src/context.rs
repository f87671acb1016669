//! A call of a program, and what holds for a whole part of a line: how its commands are reached, what becomes of their
//! status, what they find on their standard input.

use std::ops::Range;
use std::rc::Rc;

use super::fate::Ended;
use super::{Fate, Reach, Redirect, Word};

/// How the commands below are reached, and what becomes of their status; by default those of the line
/// itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    pub(super) fate: Fate,
    /// What becomes of the status with which the shell itself ends here.
    pub(super) exit_fate: Fate,
    /// What becomes of the status that the function around this returns.
    pub(super) return_fate: Fate,
    /// The steps on the way, outermost first.
    pub(super) way: Rc<Vec<Reach>>,
    /// Redirections of the groups around this; shared, because they are handed on unchanged.
    pub(super) redirects: Option<Rc<Vec<Redirect>>>,
    /// The text on the standard input, if another command of the line prints it.
    pub(super) input: Option<Rc<str>>,
    pub(super) depth: usize,
}

impl Context {
    /// One step further on the way.
    pub(super) fn via(&self, reach: Reach) -> Self {
        let mut way = Vec::with_capacity(self.way.len() + 1);
        way.extend(self.way.iter().cloned().chain([reach]));
        Self {
            way: Rc::new(way),
            redirects: self.redirects.clone(),
            input: self.input.clone(),
            ..*self
        }
    }

    pub(super) fn with_fate(self, fate: Fate) -> Self {
        Self { fate, ..self }
    }

    pub(super) fn masked(self) -> Self {
        self.with_fate(Fate::Masked)
    }

    /// In a process of its own, whose end is not that of the shell above.
    pub(super) fn in_child(self) -> Self {
        Self { exit_fate: self.fate, return_fate: self.fate, ..self }
    }

    pub(super) fn fate_of(&self, ended: Ended) -> Fate {
        match ended {
            Ended::Shell => self.exit_fate,
            Ended::Function => self.return_fate,
        }
    }
}

/// A simple command after expansion.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// The program first; never empty, except for redirections that stand alone.
    pub(super) words: Vec<Word>,
    pub(super) assignments: Vec<(String, Word)>,
    pub(super) redirects: Vec<Redirect>,
    pub(super) span: Range<usize>,
}

impl Call {
    pub(super) fn name(&self) -> Option<&str> {
        self.words.first()?.base_name()
    }

    pub(super) fn args(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The same surroundings with other words.
    pub(super) fn with_words(&self, words: Vec<Word>) -> Self {
        Self {
            words,
            assignments: self.assignments.clone(),
            redirects: self.redirects.clone(),
            span: self.span.clone(),
        }
    }
}
