//! `orchestrator.json`: an orchestrating skill's nine conditions, and the gate on them.

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::state_file::{StateFile, flag, shown, text, truth};
use super::unmet::{Unmet, on_task, quoted};
use ralph_base::state::SessionDir;

/// An orchestrated session.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Orchestrator {
    /// The phase of the work.
    #[serde(deserialize_with = "text")]
    pub phase: String,
    /// Whether somebody verified that all of it is done.
    #[serde(deserialize_with = "flag")]
    pub verified_done: bool,
    /// The conditions by name: `true`, `false`, or `null` for "not evaluated yet".
    pub conditions: Map<String, Value>,
    /// Everything else in the file, including the conditions of tools that do not put them into
    /// `conditions`.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl StateFile for Orchestrator {
    fn path(session: &SessionDir) -> Utf8PathBuf {
        session.orchestrator()
    }
}

/// The nine conditions in the order in which they are met, and what to do about each.
pub(super) const CONDITIONS: [(&str, &str); 9] = [
    ("memory_search", "search for what earlier sessions learned about this"),
    ("task_classified", "classify the task"),
    ("must_have_answered", "get answers to the questions that must be settled first"),
    ("plan_approved", "write the plan and get it approved"),
    ("implementation_complete", "finish the implementation"),
    ("correctness_passed", "build it and run its tests until they pass"),
    ("quality_passed", "run the type checker and linter and fix what they report"),
    ("adversarial_passed", "get an adversarial review of the result"),
    ("retrospective_done", "write down what was learned"),
];

/// The complexity from which an adversarial review is required, if a complexity is given.
const ADVERSARIAL_FROM: f64 = 7.0;

impl Orchestrator {
    /// Whether a condition is required for a task of this `complexity`, from 1 to 10.
    fn counts(&self, condition: &str) -> bool {
        let complexity = self.other.get("complexity").and_then(|value| shown(value).parse().ok());
        condition != "adversarial_passed"
            || complexity.is_none_or(|complexity: f64| complexity >= ADVERSARIAL_FROM)
    }

    /// Returns the unmet conditions, known ones first in their order: the text to show for each,
    /// and what to do about it.
    pub(super) fn unmet(&self) -> Vec<(String, &str)> {
        let counting = CONDITIONS.iter().filter(|(name, _)| self.counts(name));
        let known = counting.filter_map(|(name, next)| {
            let value = self.conditions.get(*name).or_else(|| self.other.get(*name))?;
            // Any value of the nine conditions that is not clearly true means unmet.
            Some((*name, *next, truth(value).unwrap_or(Some(false))))
        });
        let is_known = |name: &str| CONDITIONS.iter().any(|(known, _)| *known == name);
        let own = self.conditions.iter().filter(|(name, _)| !is_known(name));
        let own = own.filter_map(|(name, value)| Some((name.as_str(), "meet it", truth(value)?)));
        let unmet = known.chain(own).filter(|(_, _, value)| *value != Some(true));
        let shown = unmet.map(|(name, next, value)| match value {
            Some(_) => (quoted(name), next),
            None => (format!("{} (not evaluated yet)", quoted(name)), next),
        });
        shown.collect()
    }

    /// The gate: blocks until `verified_done`. `file` is the state file.
    pub fn gate(&self, file: &Utf8Path) -> Option<Unmet> {
        if self.verified_done {
            return None;
        }
        let phase = if self.phase.is_empty() { "unknown" } else { &self.phase };
        let unmet = self.unmet();
        let task = on_task(&self.other.get("task").map(shown).unwrap_or_default());
        let phase = quoted(phase);
        let mut what = format!("the orchestrator{task} is in phase `{phase}` and not verified");
        if !unmet.is_empty() {
            let names: Vec<&str> = unmet.iter().take(12).map(|(shown, _)| shown.as_str()).collect();
            what.push_str(&format!("; unmet: {}", names.join(", ")));
        }
        let next = match unmet.first() {
            Some((_, first)) => format!("{first}, record each condition as it is met"),
            None => "check the result against the task".to_owned(),
        };
        let next = format!(
            "{next}, and set `verified_done` to true in {file} once everything holds \
             (`ralph-loop verified` does both)"
        );
        Some(Unmet { gate: "ORCHESTRATOR", what, next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(text: &str) -> String {
        let state: Orchestrator = serde_json::from_str(text).unwrap();
        state.gate("o.json".into()).unwrap().to_string()
    }

    #[test]
    fn the_phase_and_every_unmet_condition_are_named() {
        assert_eq!(
            gate(
                r#"{"phase":"implementation","verified_done":false,"conditions":{
                "retrospective_done":false,"plan_approved":true,"implementation_complete":"false",
                "adversarial_passed":null,"screenshots_taken":false,"note":"x"}}"#
            ),
            "ORCHESTRATOR gate failed: the orchestrator is in phase `implementation` and not \
             verified; unmet: implementation_complete, adversarial_passed (not evaluated yet), \
             retrospective_done, screenshots_taken. Next: finish the implementation, record \
             each condition as it is met, and set `verified_done` to true in o.json once \
             everything holds (`ralph-loop verified` does both)."
        );
    }

    #[test]
    fn conditions_may_be_top_level_fields_or_missing() {
        let text = gate(r#"{"phase":"tests","quality_passed":false,"iterations":3}"#);
        assert!(text.contains("not verified; unmet: quality_passed. Next: run the type"), "{text}");
        let text = gate("{}");
        let expected = "in phase `unknown` and not verified. Next: check the result against";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn an_adversarial_review_is_not_required_for_simple_tasks() {
        for (complexity, counts) in
            [("3", false), ("\"6\"", false), ("7", true), ("\"high\"", true), ("null", true)]
        {
            let text = format!(
                r#"{{"complexity":{complexity},"conditions":{{"adversarial_passed":false}}}}"#
            );
            assert_eq!(gate(&text).contains("unmet: adversarial_passed"), counts, "{text}");
        }
    }

    #[test]
    fn each_condition_alone_is_named_with_its_next_step() {
        for (name, next) in CONDITIONS {
            let conditions =
                CONDITIONS.map(|(other, _)| (other.to_owned(), (other != name).into()));
            let state = Orchestrator {
                conditions: conditions.into_iter().collect(),
                ..Orchestrator::default()
            };
            let text = state.gate("o.json".into()).unwrap().to_string();
            assert!(text.contains(&format!("unmet: {name}. Next: {next},")), "{text}");
        }
    }
}
