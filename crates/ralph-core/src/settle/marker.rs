//! The note that a tick and its commit are being made, so that a crash between them is seen.

use std::io;

use serde::{Deserialize, Serialize};

use super::attempt::{remove_if_there, unreadable};
use crate::state::{self, StateDir};

/// The version of the file's format.
const VERSION: u32 = 1;

/// What is being made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marker {
    pub(super) version: u32,
    /// The story.
    pub(super) story: String,
    /// The commit that was checked out before; the story's commit comes after it.
    pub(super) head: Option<String>,
}

impl Marker {
    pub(super) fn new(story: &str, head: Option<String>) -> Self {
        Self { version: VERSION, story: story.to_owned(), head }
    }

    pub(super) fn load(state: &StateDir) -> io::Result<Option<Self>> {
        let text = match fs_err::read(state.settling()) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // A power cut may leave it empty. Then the attempt is taken back and made again: what was
        // committed is kept as any discarded attempt is.
        if text.is_empty() {
            return Ok(None);
        }
        let marker: Self =
            serde_json::from_slice(&text).map_err(|error| unreadable(&state.settling(), &error))?;
        if marker.version > VERSION {
            let path = state.settling();
            return Err(io::Error::other(format!("{path} was written by a newer version")));
        }
        Ok(Some(marker))
    }

    /// Git does not wait for the disk when it commits, so there is no reason to do so here.
    pub(super) fn save(&self, state: &StateDir) -> io::Result<()> {
        state::replace_unsynced(&state.settling(), &serde_json::to_vec_pretty(self)?)
    }

    pub(super) fn clear(state: &StateDir) -> io::Result<()> {
        remove_if_there(&state.settling())
    }
}
