//! How the last test run of a session ended: written after each run, read by the stop gates and by
//! the loop.

use std::io;

use serde::{Deserialize, Serialize};

use super::{SessionDir, journal, read, write};

/// The last test run of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LastVerdict {
    /// When it ended, as RFC 3339 in UTC.
    pub at: String,
    /// `failed`, `passed`, `errored` or `no-tests`.
    pub verdict: String,
    /// The command as it was typed, cut to a readable length.
    pub command: String,
    /// Who ran the tests, where that is known.
    pub runner: Option<String>,
    /// The tests that failed, where they were printed.
    pub tests: Vec<String>,
    /// What failed, in one line; empty if nothing did.
    pub what: String,
    /// The loop's run that the session works for; empty if it works for none.
    pub run: String,
    /// The subagent that ran it; none if the session itself did.
    pub agent: Option<String>,
    /// Whether all that failed had failed before the work began.
    pub failed_before: bool,
    /// Failing runs in a row, without a passing one between.
    pub failures_in_a_row: u64,
}

impl LastVerdict {
    /// Reads it; none if no test ran yet.
    pub fn load(session: &SessionDir) -> Option<Self> {
        let text = read::read(session.last_verdict()).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Writes it, stamped with the time, and without the keys in command and output.
    pub fn save(&self, session: &SessionDir) -> io::Result<()> {
        let [command, what] = [&self.command, &self.what].map(|text| crate::secrets::mask(text));
        let stamped = Self { at: journal::now(), command, what, ..self.clone() };
        // The session does not outlive a power cut, so the disk need not be waited for.
        write::replace_unsynced(&session.last_verdict(), &serde_json::to_vec_pretty(&stamped)?)
    }
}
