//! `loop.json`: a loop inside one session that continues until its result is verified, and the gate
//! on it.

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;

use super::state_file::{StateFile, count, flag, text};
use super::unmet::{Unmet, on_task, quoted};
use ralph_base::state::SessionDir;

/// The iteration limit if the file has none; the default of existing tools.
const USUAL_LIMIT: u64 = 25;

/// A loop inside a session.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct LoopState {
    /// The current iteration.
    #[serde(deserialize_with = "count")]
    pub iteration: Option<u64>,
    /// The iteration limit.
    #[serde(deserialize_with = "count")]
    pub max_iterations: Option<u64>,
    /// `pending`, `passed` or `failed`.
    #[serde(deserialize_with = "text")]
    pub validation_result: String,
    /// What it works on.
    #[serde(deserialize_with = "text")]
    pub task: String,
    /// The last error.
    #[serde(deserialize_with = "text")]
    pub last_error: String,
    /// Whether somebody verified that the task is done.
    #[serde(deserialize_with = "flag")]
    pub verified_done: bool,
}

impl StateFile for LoopState {
    fn path(session: &SessionDir) -> Utf8PathBuf {
        session.loop_state()
    }
}

impl LoopState {
    /// Returns the message about a loop that has reached its limit without being verified.
    pub fn spent(&self) -> Option<String> {
        let (iteration, limit) = (self.iteration?, self.max_iterations.unwrap_or(USUAL_LIMIT));
        let is_spent = !self.verified_done && iteration >= limit;
        is_spent.then(|| format!("the loop reached its limit of {limit} iterations unverified"))
    }

    /// The gate: blocks until `verified_done`, while iterations are left. `file` is the state file.
    pub fn gate(&self, file: &Utf8Path) -> Option<Unmet> {
        let iteration = self.iteration.unwrap_or(0);
        let limit = self.max_iterations.unwrap_or(USUAL_LIMIT);
        if self.verified_done || iteration >= limit {
            return None;
        }
        let (what, next) = if !self.last_error.trim().is_empty() {
            (format!("last error: {}", quoted(&self.last_error)), "fix that error".to_owned())
        } else if self.validation_result.trim().is_empty() {
            ("its result was not verified".to_owned(), "verify the result".to_owned())
        } else {
            let result = quoted(&self.validation_result);
            (format!("its validation result is `{result}`"), "validate the result".to_owned())
        };
        let task = on_task(&self.task);
        let what =
            format!("the loop{task} is at iteration {iteration}/{limit} and is not done; {what}");
        let next = format!(
            "{next}, then increase the iteration in {file} and set `verified_done` to true once \
             the result is verified (`ralph-loop verified` does both)"
        );
        Some(Unmet { gate: "LOOP", what, next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spent_loop_does_not_block() {
        for text in [
            r#"{"iteration":"5","max_iterations":"5","last_error":"x"}"#,
            r#"{"max_iterations":0}"#,
        ] {
            let state: LoopState = serde_json::from_str(text).unwrap();
            assert_eq!(state.gate("l.json".into()), None, "{text}");
        }
    }

    #[test]
    fn only_an_unverified_loop_is_reported_as_spent() {
        let spent = |text: &str| serde_json::from_str::<LoopState>(text).unwrap().spent();
        let said = "the loop reached its limit of 25 iterations unverified";
        assert_eq!(spent(r#"{"iteration":25}"#).as_deref(), Some(said));
        assert_eq!(spent(r#"{"iteration":25,"verified_done":true}"#), None);
        assert_eq!(spent(r#"{"iteration":24}"#), None);
    }

    #[test]
    fn without_an_error_the_reason_names_the_validation_result() {
        let text = r#"{"validation_result":"pending","last_error":""}"#;
        let state: LoopState = serde_json::from_str(text).unwrap();
        let unmet = state.gate("l.json".into()).unwrap().to_string();
        let expected = "is not done; its validation result is `pending`. Next: validate the result";
        assert!(unmet.contains(expected), "{unmet}");
    }
}
