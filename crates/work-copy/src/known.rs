//! What is known about a workspace since other processes ran in it; initially nothing.

use std::path::PathBuf;

use camino::Utf8Path;

use super::remove::remove_pipes;

/// What is known about a workspace.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) pipes: Pipes,
    pub(super) files: Files,
}

/// What is known about the files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Files {
    /// Nothing is known.
    #[default]
    Any,
    /// They match HEAD.
    Clean,
    /// They match what is staged, except for these, which include new files.
    StagedBut(Vec<PathBuf>),
    /// They match a commit that was made from them.
    Of(String),
}

/// What is known about pipes and sockets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Pipes {
    /// Nothing is known.
    #[default]
    Any,
    /// There are some, but none that git would open.
    Harmless,
    /// There are none.
    None,
}

impl Pipes {
    /// Removes the pipes that git would open, or `all` pipes and sockets, unless there are known to
    /// be none: searching a large copy takes long.
    pub(super) fn remove(&mut self, top: &Utf8Path, all: bool) {
        if *self == Self::Any || all && *self == Self::Harmless {
            let are_left = remove_pipes(top.as_std_path(), false, all);
            *self = if are_left { Self::Harmless } else { Self::None };
        }
    }
}
