//! The result of a session's last test run: written after each run, read by the stop gates and by
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
    /// `failed`, `passed`, `errored`, `no-tests` or `unknown`.
    pub verdict: String,
    /// The command line, truncated to a readable length.
    pub command: String,
    /// The test runner, if it is known.
    pub runner: Option<String>,
    /// The tests that failed, if the runner printed them.
    pub tests: Vec<String>,
    /// A one-line summary of what failed; empty if nothing did.
    pub what: String,
    /// The loop's run that the session belongs to; empty if it belongs to none.
    pub run: String,
    /// The subagent that ran the tests; `None` for the session's main agent.
    pub agent: Option<String>,
    /// Whether all failing tests had already failed before the work began.
    pub failed_before: bool,
    /// The number of consecutive failing runs.
    pub failures_in_a_row: u64,
}

impl LastVerdict {
    /// Reads the verdict; `None` if no test ran yet.
    pub fn load(session: &SessionDir) -> Option<Self> {
        let text = read::read(session.last_verdict()).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Writes the verdict with the current time and with secrets masked.
    pub fn save(&self, session: &SessionDir) -> io::Result<()> {
        let stamped = Self { at: journal::now(), ..self.clone() };
        let text = crate::secrets::mask_json(&serde_json::to_string_pretty(&stamped)?);
        // The session does not survive a power cut, so an fsync is not needed.
        write::replace_unsynced(&session.last_verdict(), text.as_bytes())
    }
}
