//! Where the run stands, on disk: for the next start after a crash, and for `status`.

use std::io;

use camino::Utf8PathBuf;
use ralph_core::state::{self, StateDir};
use serde::{Deserialize, Serialize};

use super::scripted::Scripted;
use crate::step::Counters;

/// The version of the file's format.
const VERSION: u32 = 1;

/// Where a run stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Record {
    pub(crate) version: u32,
    /// The run's name.
    pub(crate) run: String,
    /// The process.
    pub(crate) pid: u32,
    /// When it began, as RFC 3339 in UTC.
    pub(crate) started_at: String,
    /// How long it has taken.
    pub(crate) elapsed_s: f64,
    pub(crate) plan: Utf8PathBuf,
    pub(crate) counters: Counters,
    /// The story under way.
    pub(crate) story: Option<String>,
    /// Why it ended; none while it runs, or if it never got to its end.
    pub(crate) finish: Option<String>,
    /// Whether somebody asked it to end.
    pub(crate) interrupted: bool,
    /// The snapshot of the user's uncommitted work that is kept aside.
    pub(crate) aside: Option<String>,
    /// Whether it writes the plan instead of working through it.
    pub(crate) planning: bool,
    /// What its scripts may have changed since the last story.
    pub(crate) scripted: Option<Scripted>,
}

impl Record {
    /// An empty one of this process.
    pub(crate) fn new() -> Self {
        Self { version: VERSION, pid: std::process::id(), ..Self::default() }
    }

    /// The last run's; none if there was none yet. One that is damaged is an error of the kind
    /// [`io::ErrorKind::InvalidData`].
    pub(crate) fn load(state: &StateDir) -> io::Result<Option<Self>> {
        let text = match fs_err::read(state.run()) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // A power cut may leave it empty; then there is nothing to go on with.
        if text.is_empty() {
            return Ok(None);
        }
        let record: Self =
            serde_json::from_slice(&text).map_err(|error| damaged(state, &error.to_string()))?;
        if record.version == 0 {
            return Err(damaged(state, "it has no version"));
        }
        if record.version > VERSION {
            let path = state.run();
            let advice = "use that version, or remove the file";
            return Err(io::Error::other(format!(
                "{path} was written by a newer version; {advice}"
            )));
        }
        Ok(Some(record))
    }

    /// The same; a damaged one is moved out of the way, and its new place is told.
    pub(crate) fn load_or_move_away(
        state: &StateDir,
    ) -> io::Result<(Option<Self>, Option<Utf8PathBuf>)> {
        match Self::load(state) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Ok((None, Some(state::keep_as_found(&state.run(), &state.logs())?)))
            }
            other => other.map(|record| (record, None)),
        }
    }

    /// The same for whoever only looks: what is to be said of a damaged one.
    pub(crate) fn load_or_tell(state: &StateDir) -> io::Result<(Option<Self>, Option<String>)> {
        match Self::load(state) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Ok((None, Some(error.to_string())))
            }
            other => other.map(|record| (record, None)),
        }
    }

    /// Writes it down. Only the user's work that is kept aside is worth a wait for the disk: without
    /// the record nobody would bring it back.
    pub(crate) fn save(&self, state: &StateDir) -> io::Result<()> {
        let content = serde_json::to_vec_pretty(self)?;
        match self.aside {
            Some(_) => state::replace(&state.run(), &content),
            None => state::replace_unsynced(&state.run(), &content),
        }
    }
}

fn damaged(state: &StateDir, why: &str) -> io::Error {
    let path = state.run();
    let advice = "the next start sets it aside and counts anew";
    io::Error::new(io::ErrorKind::InvalidData, format!("{path} is damaged ({why}); {advice}"))
}
