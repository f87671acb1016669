//! Records what a session claims about its own verification, and rejects some claims: the way to
//! `verified_done` without editing the files by hand.

use serde_json::{Map, Value, json};

use super::orchestrator::{CONDITIONS, Orchestrator};
use super::unmet::quoted;
use super::work::last_verdict;
use ralph_base::state::LastVerdict;

/// The condition that a test run decides.
const TESTED: &str = "correctness_passed";

/// The claims of a session.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// Conditions of an orchestrator that hold now.
    pub conditions: Vec<String>,
    /// The phase of an orchestrator's work.
    pub phase: Option<String>,
    /// The current iteration of a loop.
    pub iteration: Option<u64>,
    /// Whether everything is done.
    pub done: bool,
}

/// Returns the initial state of an orchestrated session.
pub fn new_orchestrator(task: &str) -> Map<String, Value> {
    let conditions = CONDITIONS.iter().map(|(name, _)| ((*name).to_owned(), Value::Bool(false)));
    object(json!({
        "task": task,
        "phase": "planning",
        "verified_done": false,
        "conditions": conditions.collect::<Map<_, _>>(),
    }))
}

/// Returns the initial state of a session with a loop of its own.
pub fn new_loop(task: &str, max_iterations: Option<u64>) -> Map<String, Value> {
    let mut state = object(json!({
        "task": task,
        "iteration": 0,
        "validation_result": "pending",
        "last_error": "",
        "verified_done": false,
    }));
    state.extend(max_iterations.map(|most| ("max_iterations".to_owned(), most.into())));
    state
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

impl Said {
    /// Returns an orchestrator's state with these claims, or why they are rejected. Everything else
    /// in the state is kept.
    pub fn of_orchestrator(
        &self,
        state: Map<String, Value>,
        last: Option<&LastVerdict>,
    ) -> Result<Map<String, Value>, String> {
        let mut state = state;
        let parsed: Orchestrator =
            serde_json::from_value(Value::Object(state.clone())).map_err(|e| e.to_string())?;
        for name in &self.conditions {
            let is_known = CONDITIONS.iter().any(|(known, _)| known == name);
            if !is_known && !parsed.conditions.contains_key(name) {
                let known: Vec<&str> = CONDITIONS.iter().map(|(name, _)| *name).collect();
                return Err(format!("no condition `{name}`; there are {}", known.join(", ")));
            }
            if let (TESTED, Some(why)) = (name.as_str(), last.and_then(not_passed)) {
                return Err(format!("`{name}` does not hold: {why}"));
            }
            let is_bare = state.contains_key(name) && !parsed.conditions.contains_key(name);
            if is_bare {
                state.insert(name.clone(), true.into());
            } else if let Value::Object(conditions) =
                state.entry("conditions").or_insert_with(|| json!({}))
            {
                conditions.insert(name.clone(), true.into());
            }
        }
        state.extend(self.phase.iter().map(|phase| ("phase".to_owned(), phase.clone().into())));
        let said: Orchestrator =
            serde_json::from_value(Value::Object(state.clone())).map_err(|e| e.to_string())?;
        if self.done {
            if let Some((name, next)) = said.unmet().first() {
                return Err(format!("not done: {name} is not met; {next}"));
            }
            self.finish(&mut state, last)?;
        }
        Ok(state)
    }

    /// Returns a loop's state with these claims, or why they are rejected.
    pub fn of_loop(
        &self,
        state: Map<String, Value>,
        last: Option<&LastVerdict>,
    ) -> Result<Map<String, Value>, String> {
        let mut state = state;
        if let Some(name) = self.conditions.first() {
            return Err(format!(
                "a loop has no condition `{name}`; only an orchestrated session has conditions"
            ));
        }
        state.extend(self.phase.iter().map(|phase| ("phase".to_owned(), phase.clone().into())));
        state.extend(self.iteration.map(|number| ("iteration".to_owned(), number.into())));
        if self.done {
            self.finish(&mut state, last)?;
            state.insert("validation_result".to_owned(), "passed".into());
            state.insert("last_error".to_owned(), "".into());
        }
        Ok(state)
    }

    fn finish(
        &self,
        state: &mut Map<String, Value>,
        last: Option<&LastVerdict>,
    ) -> Result<(), String> {
        if let Some(why) = last.and_then(not_passed) {
            return Err(format!("not done: {why}"));
        }
        state.insert("verified_done".to_owned(), true.into());
        Ok(())
    }
}

/// Returns what is wrong with the session's last test run, and what to do about it.
fn not_passed(last: &LastVerdict) -> Option<String> {
    if last.verdict == "errored" {
        let command = quoted(&last.command);
        return Some(format!(
            "`{command}` exited before running any test; fix it and run it again"
        ));
    }
    last_verdict(last).map(|unmet| format!("{}; {}", unmet.what, unmet.next))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red() -> LastVerdict {
        LastVerdict {
            verdict: "failed".to_owned(),
            command: "cargo test".to_owned(),
            ..LastVerdict::default()
        }
    }

    fn saying(conditions: &[&str], done: bool) -> Said {
        Said {
            conditions: conditions.iter().map(|&c| c.to_owned()).collect(),
            done,
            ..Said::default()
        }
    }

    #[test]
    fn an_orchestrator_is_done_once_every_condition_holds() {
        let begun = new_orchestrator("x");
        let refused = saying(&[], true).of_orchestrator(begun.clone(), None).unwrap_err();
        assert_eq!(
            refused,
            "not done: memory_search is not met; search for what earlier sessions learned about this"
        );
        let all = CONDITIONS.map(|(name, _)| name);
        let done = saying(&all, true).of_orchestrator(begun.clone(), None).unwrap();
        assert_eq!(done.get("verified_done"), Some(&Value::Bool(true)));
        let mut bare = object(json!({"correctness_passed": "false", "mine": [1]}));
        bare = saying(&["correctness_passed"], true).of_orchestrator(bare, None).unwrap();
        let expected = json!({"correctness_passed": true, "mine": [1], "verified_done": true});
        assert_eq!(Value::Object(bare), expected);
    }

    #[test]
    fn a_claim_that_contradicts_a_failed_test_run_is_refused() {
        let red = red();
        for (said, words) in [
            (saying(&["correctness_passed"], false), "`correctness_passed` does not hold: "),
            (saying(&CONDITIONS.map(|(name, _)| name), true), "does not hold: "),
        ] {
            let refused = said.of_orchestrator(new_orchestrator("x"), Some(&red)).unwrap_err();
            assert!(refused.contains(words) && refused.contains("cargo test"), "{refused}");
        }
        let refused = saying(&[], true).of_loop(new_loop("x", Some(3)), Some(&red)).unwrap_err();
        assert!(refused.starts_with("not done: "), "{refused}");
        assert!(
            saying(&["plan_approved"], false)
                .of_orchestrator(new_orchestrator("x"), Some(&red))
                .is_ok()
        );
    }

    #[test]
    fn unknown_conditions_are_refused_by_name() {
        let refused = saying(&["all_good"], false).of_orchestrator(new_orchestrator("x"), None);
        assert!(
            refused.unwrap_err().starts_with("no condition `all_good`; there are memory_search,")
        );
        let refused = saying(&["plan_approved"], false).of_loop(new_loop("x", None), None);
        assert!(refused.unwrap_err().starts_with("a loop has no condition `plan_approved`"));
    }
}
