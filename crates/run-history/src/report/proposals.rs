//! What can be learned from a run, as settings to think about; never applied by themselves. Pure.

use serde::Serialize;

use crate::history::{PastAttempt, PastRun};

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
pub(super) fn of(run: &PastRun) -> Vec<Proposal> {
    let mut found = Vec::new();
    found.extend(rules(run));
    found.extend(checks(run));
    found.extend(timeouts(run));
    found.extend(gates(run));
    found
}

/// A rule that is hit again and again: the agent should know before.
fn rules(run: &PastRun) -> Vec<Proposal> {
    let mut by_rule: Vec<(&str, u64)> = Vec::new();
    for kind in &run.refusals.0 {
        match by_rule.iter_mut().find(|(rule, _)| *rule == kind.rule) {
            Some((_, count)) => *count += kind.count,
            None => by_rule.push((&kind.rule, kind.count)),
        }
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
fn checks(run: &PastRun) -> Option<Proposal> {
    let failed = |attempt: &PastAttempt| {
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

fn timeouts(run: &PastRun) -> Option<Proposal> {
    let count = run.attempts.iter().filter(|attempt| attempt.outcome == "timeout").count();
    (count as u64 >= OFTEN).then(|| Proposal {
        why: format!("{count} attempts ran out of time"),
        setting: "smaller stories, or a larger [agent] timeout".to_owned(),
    })
}

/// A gate that holds sessions and is let go in the end leads nowhere.
fn gates(run: &PastRun) -> Option<Proposal> {
    let given_up = run.stops.iter().filter(|stops| stops.let_go == "let_go").count();
    (given_up as u64 >= OFTEN).then(|| Proposal {
        why: format!("{given_up} sessions were held by gates that were never met"),
        setting: "look at the gates below; [stop] max_blocks = 0 switches them off".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Counted, Kind, PastCheck};

    #[test]
    fn what_happens_often_is_a_proposal() {
        let refusal = |what: &str| Kind {
            rule: "git-push".into(),
            what: what.into(),
            story: "A".into(),
            count: 2,
        };
        let check = PastCheck {
            check: "pytest".into(),
            ended: "failed with exit code 1".into(),
            ..PastCheck::default()
        };
        let red =
            PastAttempt { checks: vec![check], outcome: "failed".into(), ..Default::default() };
        let run = PastRun {
            refusals: Counted(vec![refusal("git push"), refusal("git push -f")]),
            attempts: vec![red.clone(), red.clone(), red],
            has_hooks: true,
            ..PastRun::default()
        };
        assert_eq!(of(&PastRun { has_hooks: false, ..run.clone() }).len(), 1);
        let found: Vec<String> = of(&run).into_iter().map(|proposal| proposal.why).collect();
        assert_eq!(
            found,
            [
                "the rule git-push refused 4 calls: tell the agent beforehand",
                "`pytest` is what failed in all 3 red attempts",
            ]
        );
        assert_eq!(of(&PastRun::default()), []);
    }
}
