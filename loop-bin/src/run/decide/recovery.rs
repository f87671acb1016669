//! What the next start does about a run that did not come to its end. Pure: the start does it, and
//! `status`, `doctor` and `--dry-run` say it.

use ralph_project::under_way::{Attempt, Phase};

use super::words::Discarding;
use crate::run::record::RunRecord;
use crate::terminal::counted;

/// What was found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    pub(crate) record: Option<RunRecord>,
    pub(crate) attempt: Option<Attempt>,
    /// Whether the commit that the attempt was landing is on the target.
    pub(crate) is_landed: bool,
    /// Whether the project's files are behind their branch.
    pub(crate) is_behind: bool,
    /// Processes of the run that are still alive.
    pub(crate) processes: usize,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// End the processes that outlived the run.
    EndProcesses { run: String, count: usize },
    /// Bring the project's files to where their branch is.
    BringFiles,
    /// The story is on the target; tick it and say so.
    FinishLanding { story: String, commit: String },
    /// The agent had ended well: check and land its work.
    LandAgain { story: String },
    /// The attempt had failed and was counted: keep it.
    FinishDiscard { story: String, kept: Discarding },
    /// Keep what the agent did, and go on with it. It counts as an attempt if the loop was killed.
    KeepAttempt { story: String, counts: bool },
    /// Count on from where the run was.
    CountOn { iterations: u64 },
}

/// What has to be done, in this order.
pub(crate) fn recovery(found: &Found) -> Vec<Recovery> {
    let mut steps = Vec::new();
    let unfinished = found.record.as_ref().filter(|record| record.finish.is_none());
    if let (Some(record), count @ 1..) = (unfinished, found.processes) {
        steps.push(Recovery::EndProcesses { run: record.run.clone(), count });
    }
    if found.is_behind {
        steps.push(Recovery::BringFiles);
    }
    if let Some(attempt) = &found.attempt {
        let story = attempt.story.clone();
        let own = unfinished.filter(|record| record.run == attempt.run);
        let was_killed = own.is_some_and(|record| !record.interrupted);
        let kept = own.and_then(|record| record.discarding.clone());
        steps.push(match (&attempt.phase, kept) {
            (Phase::Working | Phase::Checking, Some(kept)) => {
                Recovery::FinishDiscard { story, kept }
            }
            (Phase::Begun, _) => Recovery::KeepAttempt { story, counts: false },
            (Phase::Landing { commit }, _) if found.is_landed => {
                Recovery::FinishLanding { story, commit: commit.clone() }
            }
            (Phase::Landing { .. } | Phase::Checking, _) => Recovery::LandAgain { story },
            (Phase::Working, None) => Recovery::KeepAttempt { story, counts: was_killed },
        });
    }
    if let Some(record) = unfinished.filter(|record| !record.planning) {
        // An iteration that was interrupted is made again, and is counted once.
        let is_again = steps.iter().any(|step| matches!(step, Recovery::KeepAttempt { .. }));
        let iterations = record.counters.iteration.saturating_sub(u64::from(is_again));
        steps.push(Recovery::CountOn { iterations });
    }
    steps
}

impl Recovery {
    /// What the next start will do, in one line.
    pub(crate) fn told(&self) -> Option<String> {
        Some(match self {
            Self::EndProcesses { count, .. } => {
                let processes = counted(*count, "process", "processes");
                format!("{processes} survived the last run; the next start ends them")
            }
            Self::BringFiles => {
                "your files are behind their branch; the next start updates them".to_owned()
            }
            Self::FinishLanding { story, .. } => {
                format!("{story} landed just before its run ended; the next start ticks it")
            }
            Self::LandAgain { story } => format!(
                "{story} was being checked when its run ended; the next start checks and lands it"
            ),
            Self::FinishDiscard { story, .. } => {
                format!(
                    "the run ended before a failed attempt at {story} was saved; the next start saves it"
                )
            }
            Self::KeepAttempt { story, .. } => {
                format!("an attempt at {story} was interrupted; the next start continues it")
            }
            Self::CountOn { .. } => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::decide::Outcome;

    fn attempt(phase: Phase) -> Attempt {
        Attempt { run: "r1".into(), story: "US-001".into(), phase, ..Attempt::now() }
    }

    fn record(interrupted: bool, finish: Option<&str>) -> RunRecord {
        let finish = finish.map(str::to_owned);
        RunRecord { run: "r1".into(), interrupted, finish, ..RunRecord::new() }
    }

    fn check(found: Found, expected: &[&str]) {
        let steps: Vec<String> = recovery(&found).iter().map(|step| format!("{step:?}")).collect();
        assert_eq!(steps.len(), expected.len(), "{steps:?}");
        for (step, expected) in steps.iter().zip(expected) {
            assert!(step.starts_with(expected), "{step} {expected}");
        }
    }

    #[test]
    fn nothing_is_to_be_done_after_a_run_that_ended() {
        check(Found::default(), &[]);
        check(Found { record: Some(record(false, Some("complete"))), ..Found::default() }, &[]);
    }

    #[test]
    fn a_kill_counts_and_an_interruption_does_not() {
        let working = || Some(attempt(Phase::Working));
        let killed = Found {
            record: Some(record(false, None)),
            attempt: working(),
            processes: 2,
            ..Found::default()
        };
        let kept = "KeepAttempt { story: \"US-001\", counts: true }";
        check(killed, &["EndProcesses", kept, "CountOn"]);
        let interrupted =
            Found { record: Some(record(true, None)), attempt: working(), ..Found::default() };
        check(interrupted, &["KeepAttempt { story: \"US-001\", counts: false }", "CountOn"]);
        // The record was lost: then nobody knows, and it does not count.
        check(
            Found { attempt: working(), ..Found::default() },
            &["KeepAttempt { story: \"US-001\", counts: false }"],
        );
    }

    #[test]
    fn a_failure_that_was_counted_is_not_counted_twice() {
        let discarding = Some(Discarding::new(Outcome::Failed, "a check failed"));
        let found = Found {
            record: Some(RunRecord { discarding, ..record(false, None) }),
            attempt: Some(attempt(Phase::Checking)),
            ..Found::default()
        };
        check(found, &["FinishDiscard", "CountOn"]);
    }

    #[test]
    fn work_that_had_ended_well_is_not_paid_for_twice() {
        let landing = Some(attempt(Phase::Landing { commit: "bb".into() }));
        let found = Found {
            record: Some(record(false, None)),
            attempt: landing.clone(),
            is_behind: true,
            is_landed: true,
            ..Found::default()
        };
        check(found.clone(), &["BringFiles", "FinishLanding", "CountOn"]);
        check(Found { is_landed: false, is_behind: false, ..found }, &["LandAgain", "CountOn"]);
        let checking = Some(attempt(Phase::Checking));
        let found =
            Found { record: Some(record(false, None)), attempt: checking, ..Found::default() };
        check(found, &["LandAgain", "CountOn"]);
    }
}
