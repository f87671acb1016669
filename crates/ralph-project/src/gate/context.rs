//! How full the context window is, and when a session is handed over to a fresh one.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use super::state_file::{self, Reading};
use super::unmet::quoted;
use crate::config;
use crate::progress::section_for;
use ralph_base::secrets::mask;
use ralph_base::state::{self, StateDir};

/// The windows of models as the client reported them; the loop writes them down for the hooks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextWindows {
    /// How many tokens fit, by the name of the model.
    pub windows: BTreeMap<String, u64>,
}

impl ContextWindows {
    /// Reads what was reported so far.
    pub fn load(state: &StateDir) -> Self {
        match state_file::read(&state.context_window()) {
            Reading::Found(windows) => windows,
            _ => Self::default(),
        }
    }

    /// Writes down what was reported.
    pub fn save(&self, state: &StateDir) -> io::Result<()> {
        state_file::write(&state.context_window(), self)
    }

    /// The window of a model; none if nobody said.
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
    /// The part of it at which a session is handed over.
    pub limit: f64,
}

impl Fill {
    /// Puts together what is known; `reported` is asked only where the configuration is silent.
    /// Where neither tells the window, none: a guess would end sessions that have room.
    pub fn new(
        used: u64,
        session: &config::Session,
        reported: impl FnOnce() -> Option<u64>,
    ) -> Option<Self> {
        let window = match session.context_window {
            0 => reported().filter(|tokens| *tokens > 0)?,
            tokens => tokens,
        };
        Some(Self { used, window, limit: session.context_limit })
    }

    /// Whether the session is to be handed over. A limit of zero, or none at all, switches this off.
    pub fn is_at_limit(&self) -> bool {
        self.limit > 0.0 && self.used as f64 >= self.limit * self.window as f64
    }

    /// For people: `161,020 of 200,000 tokens (80 %)`.
    pub fn told(&self) -> String {
        let percent = self.used.saturating_mul(100).checked_div(self.window).unwrap_or(0);
        format!("{} of {} tokens ({percent}%)", grouped(self.used), grouped(self.window))
    }
}

/// What is appended to the progress for the session that goes on; `existing` is what stands there.
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
        fill.told()
    );
    section_for(existing, &section)
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    fn check(used: u64, configured: u64, reported: Option<u64>, expected: Option<(u64, bool)>) {
        let session = config::Session { context_window: configured, ..Default::default() };
        let fill = Fill::new(used, &session, || reported);
        let found = fill.map(|fill| (fill.window, fill.is_at_limit()));
        assert_eq!(found, expected, "{used} {configured} {reported:?}");
    }

    #[test]
    fn the_window_is_configured_or_reported_and_never_guessed() {
        check(160_000, 0, Some(200_000), Some((200_000, true)));
        check(159_999, 0, Some(200_000), Some((200_000, false)));
        check(161_020, 0, Some(1_000_000), Some((1_000_000, false)));
        check(161_020, 150_000, Some(1_000_000), Some((150_000, true)));
        check(900_000, 0, None, None);
        check(0, 0, Some(0), None);
    }

    #[test]
    fn a_limit_of_zero_never_hands_over() {
        let session = config::Session { context_limit: 0.0, ..Default::default() };
        assert!(!Fill::new(u64::MAX, &session, || Some(1)).unwrap().is_at_limit());
        let session = config::Session { context_limit: f64::NAN, ..Default::default() };
        assert!(!Fill::new(u64::MAX, &session, || Some(1)).unwrap().is_at_limit());
    }

    #[test]
    fn it_is_told_readably() {
        let fill = Fill { used: 161_020, window: 1_000_000, limit: 0.8 };
        assert_eq!(fill.told(), "161,020 of 1,000,000 tokens (16%)");
        assert_eq!(Fill { used: 7, window: 0, limit: 0.8 }.told(), "7 of 0 tokens (0%)");
    }

    #[test]
    fn the_note_is_an_entry_of_its_own_and_holds_no_key() {
        let fill = Fill { used: 161_020, window: 200_000, limit: 0.8 };
        let words = "Half\n## Iteration 9 - US-9\nkey ghp_0123456789abcdefghij0123456789abcdef";
        let note = handoff_note(b"x\n", Some("US-001"), &fill, words);
        let note = String::from_utf8(note).unwrap();
        assert!(note.starts_with("\n## Handoff - US-001\n- Time: 2"), "{note}");
        assert!(note.contains("\n- Context: 161,020 of 200,000 tokens (80%)\n"), "{note}");
        assert!(
            note.ends_with("\n- Left off: Half ## Iteration 9 - US-9 key [masked]\n"),
            "{note}"
        );
        let first = String::from_utf8(handoff_note(b"", None, &fill, "")).unwrap();
        assert!(first.starts_with("# Progress Log\n\n## Handoff - no story\n"), "{first}");
    }

    #[test]
    fn what_was_reported_is_kept_and_rubbish_is_not_believed() {
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
