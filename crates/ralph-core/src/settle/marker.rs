//! The note that a tick and its commit are being made, so that a crash between them is seen.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::attempt::unreadable;
use crate::git::{Looks, Repo};
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
    /// The looks of the attempt's files, in one number.
    #[serde(default)]
    looks: String,
}

impl Marker {
    pub(super) fn new(story: &str, head: Option<String>, repo: &Repo, files: &[PathBuf]) -> Self {
        Self { version: VERSION, story: story.to_owned(), head, looks: looks(repo, files) }
    }

    /// Whether these are the files that are being committed, and as they were. Whoever wrote since,
    /// the user or a git hook, made others of them.
    pub(super) fn has_seen(&self, repo: &Repo, files: &[PathBuf]) -> bool {
        self.looks == looks(repo, files)
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
        state::remove_if_there(state.settling())
    }
}

fn looks(repo: &Repo, files: &[PathBuf]) -> String {
    let mut hasher = DefaultHasher::new();
    for file in files {
        (file, Looks::of(&repo.top().join(file))).hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}
