//! What can be learned from a run, as settings to think about; never applied by themselves.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::run::{Attempt, NoteKind, Run};

/// So often is a pattern.
const OFTEN: u64 = 3;

/// A setting to think about.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Proposal {
    pub(crate) why: String,
    /// What to write, and where.
    pub(crate) setting: String,
}

/// All of them.
pub(super) fn of(run: &Run) -> Vec<Proposal> {
    let others = [checks(run), timeouts(run), gates(run)];
    rules(run).into_iter().chain(others.into_iter().flatten()).collect()
}

/// A rule that is hit again and again: the agent should know before.
fn rules(run: &Run) -> Vec<Proposal> {
    let mut by_rule: BTreeMap<&str, u64> = BTreeMap::new();
    for note in run.notes.iter().filter(|note| note.kind == NoteKind::Refusal) {
        *by_rule.entry(&note.rule).or_default() += note.count;
    }
    let often = by_rule.into_iter().filter(|(_, count)| *count >= OFTEN);
    often
        .map(|(rule, count)| Proposal {
            why: format!("the rule {rule} refused {count} calls: tell the agent beforehand"),
            setting: format!(
                "a line in .ralph/guardrails.md, or [guard] disable = [\"{rule}\"] if it is meant"
            ),
        })
        .collect()
}

/// A check that fails first each time could be the first one that runs, or one that the agent runs.
fn checks(run: &Run) -> Option<Proposal> {
    let failed = |attempt: &Attempt| {
        let red = attempt.checks.iter().find(|check| check.ended.starts_with("failed"))?;
        Some(red.check.clone())
    };
    let red: Vec<String> = run.attempts.iter().filter_map(failed).collect();
    let first = red.first()?;
    // Without hooks there is nothing that could hold an agent back.
    let is_alone =
        run.has_hooks && red.len() as u64 >= OFTEN && red.iter().all(|check| check == first);
    is_alone.then(|| Proposal {
        why: format!("`{first}` is what failed in all {} red attempts", red.len()),
        setting: format!("[stop] verify = true, so that the agent meets `{first}` before it stops"),
    })
}

fn timeouts(run: &Run) -> Option<Proposal> {
    let count = run.attempts.iter().filter(|attempt| attempt.outcome == "timeout").count();
    (count as u64 >= OFTEN).then(|| Proposal {
        why: format!("{count} attempts ran out of time"),
        setting: "smaller stories, or a larger [agent] timeout".to_owned(),
    })
}

/// A gate that holds sessions and is let go in the end leads nowhere.
fn gates(run: &Run) -> Option<Proposal> {
    let given_up = run.stops.iter().filter(|stops| stops.let_go == "let_go").count();
    (given_up as u64 >= OFTEN).then(|| Proposal {
        why: format!("{given_up} sessions were held by gates that were never met"),
        setting: "look at the gates below; [stop] max_blocks = 0 switches them off".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use ralph_base::state::StoryKey;

    use super::*;
    use crate::run::{Check, Note};

    #[test]
    fn what_happens_often_is_a_proposal() {
        let refusal = |what: &str| Note {
            kind: NoteKind::Refusal,
            rule: "git-push".into(),
            what: what.into(),
            key: StoryKey::new("PRD-1", "A"),
            count: 2,
        };
        let (check, ended) = ("pytest".into(), "failed with exit code 1".into());
        let check = Check { check, ended, ..Check::default() };
        let red = Attempt { checks: vec![check], outcome: "failed".into(), ..Attempt::default() };
        let run = Run {
            notes: vec![refusal("git push"), refusal("git push -f")],
            attempts: vec![red.clone(), red.clone(), red],
            has_hooks: true,
            ..Run::default()
        };
        assert_eq!(of(&Run { has_hooks: false, ..run.clone() }).len(), 1);
        let found: Vec<String> = of(&run).into_iter().map(|proposal| proposal.why).collect();
        assert_eq!(
            found,
            [
                "the rule git-push refused 4 calls: tell the agent beforehand",
                "`pytest` is what failed in all 3 red attempts",
            ]
        );
        assert_eq!(of(&Run::default()), []);
    }
}
