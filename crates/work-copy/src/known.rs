//! What is known of a workspace since others were at work in it. Nothing, at first.

use std::path::PathBuf;

use camino::Utf8Path;

use super::remove::remove_pipes;

/// What is known of a workspace.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Whether the repository was made anew since the last agent.
    pub(super) is_fresh: bool,
    pub(super) pipes: Pipes,
    pub(super) files: Files,
}

/// What is known of the files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Files {
    /// Nothing.
    #[default]
    Any,
    /// They are those of HEAD.
    Clean,
    /// They are those that are staged, but for these; new ones count.
    StagedBut(Vec<PathBuf>),
    /// They are those of a commit that was made of them.
    Of(String),
}

/// What is known of pipes and sockets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Pipes {
    /// Nothing.
    #[default]
    Any,
    /// There are some, but none that git would open.
    Harmless,
    /// There are none.
    None,
}

impl Pipes {
    /// Removes the pipes that git would open, or `all` of them and all sockets, unless there are none: a large copy
    /// takes long to search.
    pub(super) fn remove(&mut self, top: &Utf8Path, all: bool) {
        if *self == Self::Any || all && *self == Self::Harmless {
            let are_left = remove_pipes(top.as_std_path(), false, all);
            *self = if are_left { Self::Harmless } else { Self::None };
        }
    }
}
