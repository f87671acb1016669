//! A call of a program, and the context of a part of a line: how its commands are reached, what
//! their exit status affects, and their standard input.

use std::ops::Range;
use std::rc::Rc;

use super::status_effect::Ended;
use super::{Effect, Reach, Redirect, Word};

/// How commands are reached, and what their exit status affects; the default is for commands
/// written directly on the line.
#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    pub(super) effect: Effect,
    /// The effect of the exit status if the shell itself exits here.
    pub(super) exit_effect: Effect,
    /// The effect of the status that the enclosing function returns.
    pub(super) return_effect: Effect,
    /// The steps through which they are reached, outermost first.
    pub(super) way: Rc<Vec<Reach>>,
    /// Redirections of the enclosing groups; shared, because they are passed on unchanged.
    pub(super) redirects: Option<Rc<Vec<Redirect>>>,
    /// The text on the standard input, if another command of the line prints it.
    pub(super) input: Option<Rc<str>>,
    pub(super) depth: usize,
}

impl Context {
    /// Returns the context after one more step.
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

    pub(super) fn with_effect(self, effect: Effect) -> Self {
        Self { effect, ..self }
    }

    pub(super) fn masked(self) -> Self {
        self.with_effect(Effect::Ignored)
    }

    /// Returns the context inside a child process, where `exit` does not end the parent shell.
    pub(super) fn in_child(self) -> Self {
        Self { exit_effect: self.effect, return_effect: self.effect, ..self }
    }

    pub(super) fn effect_of(&self, ended: Ended) -> Effect {
        match ended {
            Ended::Shell => self.exit_effect,
            Ended::Function => self.return_effect,
        }
    }
}

/// A simple command after expansion.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// The program first; empty only if there are just redirections.
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

    /// Returns the call with other words but the same assignments, redirections and span.
    pub(super) fn with_words(&self, words: Vec<Word>) -> Self {
        Self {
            words,
            assignments: self.assignments.clone(),
            redirects: self.redirects.clone(),
            span: self.span.clone(),
        }
    }
}
