//! How full the context window is, and when a session is handed over to a fresh one.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use super::state_file::{self, Reading};
use super::unmet::quoted;
use crate::progress::section_for;
use ralph_base::secrets::mask;
use ralph_base::state::{self, StateDir};

/// The context windows of models as the client reported them; the loop stores them for the hooks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextWindows {
    /// The size in tokens, by the name of the model.
    pub windows: BTreeMap<String, u64>,
}

impl ContextWindows {
    /// Reads the reported windows.
    pub fn load(state: &StateDir) -> Self {
        match state_file::read(&state.context_window()) {
            Reading::Found(windows) => windows,
            _ => Self::default(),
        }
    }

    /// Writes the reported windows.
    pub fn save(&self, state: &StateDir) -> io::Result<()> {
        state_file::write(&state.context_window(), self)
    }

    /// Returns the window of a model; `None` if it was not reported.
    pub fn of(&self, model: &str) -> Option<u64> {
        self.windows.get(model).copied()
    }
}

/// How full a context is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fill {
    /// Tokens in use.
    pub used: u64,
    /// Tokens that fit.
    pub window: u64,
    /// The fraction of it at which a session is handed over.
    pub limit: f64,
}

impl Fill {
    /// Returns whether the session should be handed over. A limit of zero or NaN disables this.
    pub fn is_at_limit(&self) -> bool {
        self.limit > 0.0 && self.used as f64 >= self.limit * self.window as f64
    }

    /// Formats it for people: `161k of 200k tokens (80%)`.
    pub fn in_words(&self) -> String {
        let percent = self.used.saturating_mul(100).checked_div(self.window).unwrap_or(0);
        format!("{}k of {}k tokens ({percent}%)", self.used / 1000, self.window / 1000)
    }
}

/// Returns what to append to the progress for the next session; `existing` is its current content.
pub fn handoff_note(
    existing: &[u8],
    story: Option<&str>,
    fill: &Fill,
    last_words: &str,
) -> Vec<u8> {
    let left_off = match quoted(&mask(last_words)) {
        words if words.is_empty() => "no message".to_owned(),
        words => words,
    };
    let section = format!(
        "## Handoff - {}\n- Time: {}\n- Context: {}\n- Left off: {left_off}\n",
        quoted(story.unwrap_or("no story")),
        state::now(),
        fill.in_words()
    );
    section_for(existing, &section)
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn a_session_is_handed_over_at_a_limit_above_zero() {
        let is_at_limit = |used, window, limit| Fill { used, window, limit }.is_at_limit();
        assert!(is_at_limit(160_000, 200_000, 0.8));
        assert!(!is_at_limit(u64::MAX, 1, 0.0));
        assert!(!is_at_limit(u64::MAX, 1, f64::NAN));
        assert_eq!(Fill { used: 7, window: 0, limit: 0.8 }.in_words(), "0k of 0k tokens (0%)");
    }

    #[test]
    fn the_handoff_note_is_a_separate_entry_without_keys() {
        let fill = Fill { used: 161_020, window: 200_000, limit: 0.8 };
        let words = "Half\n## Iteration 9 - US-9\nkey ghp_0123456789abcdefghij0123456789abcdef";
        let note = handoff_note(b"x\n", Some("US-001"), &fill, words);
        let note = String::from_utf8(note).unwrap();
        assert!(note.starts_with("\n## Handoff - US-001\n- Time: 2"), "{note}");
        assert!(note.contains("\n- Context: 161k of 200k tokens (80%)\n"), "{note}");
        assert!(
            note.ends_with("\n- Left off: Half ## Iteration 9 - US-9 key [masked]\n"),
            "{note}"
        );
        let first = String::from_utf8(handoff_note(b"", None, &fill, "")).unwrap();
        assert!(first.starts_with("# Progress Log\n\n## Handoff - no story\n"), "{first}");
    }

    #[test]
    fn reported_windows_are_kept_and_invalid_ones_are_ignored() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        assert_eq!(ContextWindows::load(&state).of("m"), None);
        let windows = [("m".to_owned(), 1_000_000)].into();
        ContextWindows { windows }.save(&state).unwrap();
        let known = ContextWindows::load(&state);
        assert_eq!((known.of("m"), known.of("other")), (Some(1_000_000), None));
        fs_err::write(state.context_window(), r#"{"windows":{"m":-5}}"#).unwrap();
        assert_eq!(ContextWindows::load(&state).of("m"), None);
    }
}
