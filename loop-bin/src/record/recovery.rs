//! What the next start does about an interrupted run. Pure: the start does it, and `status`, `doctor`
//! and `--dry-run` print it.

use ralph_base::state::{Id, run_and_worker};
use ralph_project::under_way::{Attempt, Phase};

use super::{Discarding, RunRecord};
use crate::terminal::counted;
use work_copy::ONLY_WORKER;

/// What an interrupted run has left.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    pub(crate) record: Option<RunRecord>,
    /// Its unfinished attempts.
    pub(crate) attempts: Vec<FoundAttempt>,
    /// Whether the project's files lag behind their branch.
    pub(crate) is_behind: bool,
    /// How many of its processes are still running.
    pub(crate) processes: usize,
}

/// An unfinished attempt.
#[derive(Debug, Clone, Default)]
pub(crate) struct FoundAttempt {
    /// The worker's number, if there were several workers.
    pub(crate) worker: Option<Id>,
    pub(crate) attempt: Attempt,
    /// Whether the commit that it was landing has reached the target.
    pub(crate) is_landed: bool,
}

/// One recovery step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// End the processes that outlived the run.
    EndProcesses { run: String, count: usize },
    /// Restore the project's files, which are in a state between two commits.
    RestoreFiles,
    /// The story has reached the target: tick it and record that.
    FinishLanding { story: String, commit: String },
    /// The agent ended well: check and land its work.
    LandAgain { story: String },
    /// The attempt failed and has been counted: save it.
    FinishDiscard { story: String, kept: Discarding },
    /// Save the agent's work and continue it. It counts as an attempt if the loop was killed.
    KeepAttempt { story: String, counts: bool },
    /// Continue the count of iterations.
    CountOn { iterations: u64 },
}

/// The steps for the run as a whole, which precede those for its attempts.
pub(crate) fn recovery(found: &Found) -> Vec<Recovery> {
    let mut steps = Vec::new();
    let unfinished = found.record.as_ref().filter(|record| record.finish.is_none());
    if let (Some(record), count @ 1..) = (unfinished, found.processes) {
        steps.push(Recovery::EndProcesses { run: record.process.run.clone(), count });
    }
    if found.is_behind {
        steps.push(Recovery::RestoreFiles);
    }
    if let Some(record) = unfinished.filter(|record| !record.planning) {
        // An interrupted iteration is repeated, but counted once.
        let steps_of = |left: &FoundAttempt| recovery_of(found.record.as_ref(), left);
        let is_again =
            |left: &&FoundAttempt| matches!(steps_of(left), Recovery::KeepAttempt { .. });
        let again = found.attempts.iter().filter(is_again).count() as u64;
        let iterations = record.tally.run.iteration.saturating_sub(again);
        steps.push(Recovery::CountOn { iterations });
    }
    steps
}

/// The step for an unfinished attempt.
pub(crate) fn recovery_of(record: Option<&RunRecord>, left: &FoundAttempt) -> Recovery {
    let story = left.attempt.story.clone();
    let is_own = |record: &&RunRecord| {
        let run = run_and_worker(&left.attempt.run).0;
        record.process.run == run || record.process.continues.as_deref() == Some(run)
    };
    let own = record.filter(is_own);
    let was_killed =
        own.is_some_and(|record| record.finish.is_none() && !record.process.interrupted);
    let slot = left.worker.as_ref().map_or(ONLY_WORKER, Id::as_str);
    let kept = record.and_then(|record| record.slots.get(slot)?.discarding.clone());
    match (&left.attempt.phase, kept) {
        (Phase::Working | Phase::Checking, Some(kept)) => Recovery::FinishDiscard { story, kept },
        (Phase::Begun, _) => Recovery::KeepAttempt { story, counts: false },
        (Phase::Landing { commit }, _) if left.is_landed => {
            Recovery::FinishLanding { story, commit: commit.clone() }
        }
        (Phase::Landing { .. } | Phase::Checking, _) => Recovery::LandAgain { story },
        (Phase::Working, None) => Recovery::KeepAttempt { story, counts: was_killed },
    }
}

impl Recovery {
    /// The step as one line for `status` and `doctor`.
    pub(crate) fn in_words(&self) -> Option<String> {
        Some(match self {
            Self::EndProcesses { count, .. } => {
                let processes = counted(*count, "process", "processes");
                format!("the next run will end {processes} left over from the last one")
            }
            Self::RestoreFiles => {
                "a landing was interrupted; the next run restores your files and finishes it"
                    .to_owned()
            }
            Self::FinishLanding { story, .. }
            | Self::LandAgain { story }
            | Self::FinishDiscard { story, .. }
            | Self::KeepAttempt { story, .. } => {
                format!("work on {story} was interrupted; the next run continues it")
            }
            Self::CountOn { .. } => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Outcome, RunProcess, SlotRecord};

    fn left(phase: Phase, is_landed: bool) -> FoundAttempt {
        let attempt =
            Attempt { run: "r1.2".into(), story: "US-001".into(), phase, ..Attempt::now() };
        FoundAttempt { worker: Id::parse("2").ok(), attempt, is_landed }
    }

    fn record(interrupted: bool, finish: Option<&str>) -> RunRecord {
        let mut record = RunRecord { finish: finish.map(str::to_owned), ..RunRecord::new() };
        record.process = RunProcess { run: "r1".into(), interrupted, ..RunProcess::default() };
        record.tally.run.iteration = 5;
        record
    }

    #[test]
    fn a_finished_run_needs_no_recovery() {
        assert!(recovery(&Found::default()).is_empty());
        let ended = Found { record: Some(record(false, Some("complete"))), ..Found::default() };
        assert!(recovery(&ended).is_empty());
    }

    #[test]
    fn a_killed_attempt_counts_and_an_interrupted_one_does_not() {
        let working = left(Phase::Working, false);
        let kept = |counts| Recovery::KeepAttempt { story: "US-001".into(), counts };
        assert_eq!(recovery_of(Some(&record(false, None)), &working), kept(true));
        assert_eq!(recovery_of(Some(&record(true, None)), &working), kept(false));
        // Without a record it is unknown whether the loop was killed: the attempt does not count.
        assert_eq!(recovery_of(None, &working), kept(false));
        let found = Found {
            record: Some(record(false, None)),
            attempts: vec![working, left(Phase::Checking, false)],
            processes: 2,
            ..Found::default()
        };
        let ended = Recovery::EndProcesses { run: "r1".into(), count: 2 };
        assert_eq!(recovery(&found), [ended, Recovery::CountOn { iterations: 4 }]);
    }

    #[test]
    fn a_counted_failure_is_not_counted_again() {
        let discarding = Some(Discarding::new(Outcome::Failed, "a check failed"));
        let mut record = record(false, None);
        record.slots.insert("2".into(), SlotRecord { discarding, ..SlotRecord::default() });
        let found = recovery_of(Some(&record), &left(Phase::Checking, false));
        assert!(matches!(found, Recovery::FinishDiscard { .. }), "{found:?}");
    }

    #[test]
    fn finished_work_is_landed_instead_of_repeated() {
        let landing = |is_landed| left(Phase::Landing { commit: "bb".into() }, is_landed);
        let of = |left| recovery_of(Some(&record(false, None)), &left);
        assert!(matches!(of(landing(true)), Recovery::FinishLanding { .. }));
        assert!(matches!(of(landing(false)), Recovery::LandAgain { .. }));
        assert!(matches!(of(left(Phase::Checking, false)), Recovery::LandAgain { .. }));
    }
}
