//! Suggests settings that follow from a run; they are never applied automatically.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::run::{NoteKind, Run};

/// The number of occurrences that makes a pattern.
const OFTEN: u64 = 3;

/// A suggested setting.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Proposal {
    pub(crate) why: String,
    /// The setting, and where to write it.
    pub(crate) setting: String,
}

/// Returns all proposals for a run.
pub(super) fn of(run: &Run) -> Vec<Proposal> {
    rules(run).into_iter().chain(gates(run)).chain(timeouts(run)).collect()
}

/// Finds gates that sessions often leave unmet: one block is not enough, or they ask for too much.
fn gates(run: &Run) -> Vec<Proposal> {
    let mut by_gate: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, gate) in run.stops.iter().flat_map(|stops| &stops.gates) {
        *by_gate.entry(name).or_default() += gate.given_up;
    }
    let often = by_gate.into_iter().filter(|(_, count)| *count >= OFTEN);
    often
        .map(|(gate, count)| Proposal {
            why: format!("sessions stopped {count} times with the gate {gate} unmet"),
            setting: "`[stop] max_blocks = 2` to block each turn up to twice".to_owned(),
        })
        .collect()
}

/// Finds rules that are often violated: the agent should know them beforehand.
fn rules(run: &Run) -> Vec<Proposal> {
    let mut by_rule: BTreeMap<&str, u64> = BTreeMap::new();
    for note in run.notes.iter().filter(|note| note.kind == NoteKind::Refusal) {
        *by_rule.entry(&note.rule).or_default() += note.count;
    }
    let often = by_rule.into_iter().filter(|(_, count)| *count >= OFTEN);
    often
        .map(|(rule, count)| Proposal {
            why: format!("the rule {rule} refused {count} calls"),
            setting: "warn the agent in `.ralph/guardrails.md`".to_owned(),
        })
        .collect()
}

fn timeouts(run: &Run) -> Option<Proposal> {
    let count = run.attempts.iter().filter(|attempt| attempt.outcome == "timeout").count();
    (count as u64 >= OFTEN).then(|| Proposal {
        why: format!("{count} attempts ran out of time"),
        setting: "smaller stories, or a larger `[agent] timeout`".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use ralph_base::state::StoryKey;

    use super::*;
    use crate::run::{Attempt, Note};
    use crate::stops::{Gate, Stops};

    #[test]
    fn frequent_problems_become_proposals() {
        let refusal = |what: &str| Note {
            kind: NoteKind::Refusal,
            rule: "git-push".into(),
            what: what.into(),
            key: StoryKey::new("PRD-1", "A"),
            count: 2,
        };
        let late = Attempt { outcome: "timeout".into(), ..Attempt::default() };
        let left = Gate { held: 2, given_up: 2, ..Gate::default() };
        let stops =
            Stops { gates: BTreeMap::from([("TESTS".to_owned(), left)]), ..Stops::default() };
        let run = Run {
            stops: vec![stops.clone(), stops],
            notes: vec![refusal("git push"), refusal("git push -f")],
            attempts: vec![late.clone(), late.clone(), late],
            ..Run::default()
        };
        let found: Vec<String> = of(&run).into_iter().map(|proposal| proposal.why).collect();
        let gate = "sessions stopped 4 times with the gate TESTS unmet";
        assert_eq!(
            found,
            ["the rule git-push refused 4 calls", gate, "3 attempts ran out of time"]
        );
        assert_eq!(of(&Run::default()), []);
    }
}
