//! A simple command, once its words are known.

use std::ops::Range;

use super::{Redirect, Word};

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
