//! A piece of text in the tree: cut out of the line without a copy, or put together.
//!
//! Nearly every word of a command line stands in it as it is; copying each of them would cost more
//! than reading it.

use std::ops::{Deref, Range};
use std::rc::Rc;

/// A text that is read like any other `str`.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    /// Lies in a text that is shared with the other pieces of it.
    Cut { source: Rc<str>, place: Range<usize> },
    /// Was put together from several, or does not stand on the line.
    Made(String),
}

impl Piece {
    /// Appends text; only then is a piece of the line copied.
    pub(super) fn append(&mut self, more: Self) {
        match self {
            Self::Made(text) if !text.is_empty() => text.push_str(&more),
            _ if self.is_empty() => *self = more,
            _ if more.is_empty() => {}
            Self::Made(_) | Self::Cut { .. } => *self = Self::Made([&**self, &*more].concat()),
        }
    }
}

impl Default for Piece {
    fn default() -> Self {
        Self::Made(String::new())
    }
}

impl Deref for Piece {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Cut { source, place } => source.get(place.clone()).unwrap_or_default(),
            Self::Made(text) => text,
        }
    }
}

impl From<String> for Piece {
    fn from(text: String) -> Self {
        Self::Made(text)
    }
}

impl From<&str> for Piece {
    fn from(text: &str) -> Self {
        Self::Made(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_copied_only_when_something_is_appended() {
        let source: Rc<str> = "git push".into();
        let cut = |place: Range<usize>| Piece::Cut { source: Rc::clone(&source), place };
        let mut piece = Piece::default();
        piece.append(cut(0..3));
        assert!(matches!(piece, Piece::Cut { .. }));
        piece.append(Piece::default());
        assert!(matches!(piece, Piece::Cut { .. }));
        piece.append(cut(3..8));
        piece.append("es".into());
        assert_eq!(&*piece, "git pushes");
    }
}
