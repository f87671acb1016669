//! What an earlier run left.

use ralph_base::state::{Lock, RunDir};
use ralph_core::git::{Git, Repo};
use ralph_project::project::Project;
use ralph_project::under_way::Phase;

use super::decide::{Found, FoundAttempt, recovery, recovery_of};
use super::record::{RunRecord, attempts_left};
use super::start::run_dir;
use crate::exit::Failure;
use work_copy::{ONLY_WORKER, Source};

/// What the next start would do, for `status` and `doctor`; nothing while a loop runs.
pub(crate) fn look_for_recovery(project: &Project) -> Result<Vec<String>, Failure> {
    // Where there is no repository, nothing was ever left.
    let Ok(repo) = Repo::open(project.root()) else { return Ok(Vec::new()) };
    let run_dir = run_dir(&repo)?;
    if Lock::holder(&run_dir.lock()).is_some() {
        return Ok(Vec::new());
    }
    let found = find(&run_dir, &Source::of(project, &repo)?)?;
    let of_attempts =
        found.attempts.iter().map(|(_, left)| recovery_of(found.found.record.as_ref(), left));
    let steps = recovery(&found.found).into_iter().chain(of_attempts);
    Ok(steps.filter_map(|step| step.in_words()).collect())
}

/// What an earlier run left, with the folders of its slots.
pub(super) struct Leftovers {
    pub(super) found: Found,
    pub(super) attempts: Vec<(RunDir, FoundAttempt)>,
}

/// Finds what an earlier run left.
pub(super) fn find(run_dir: &RunDir, source: &Source) -> Result<Leftovers, Failure> {
    let record = RunRecord::load(run_dir)?;
    let mut attempts = Vec::new();
    for (folder, attempt) in attempts_left(run_dir)? {
        let is_landed = match &attempt.phase {
            // It may wait on a branch of ours, or have come from there.
            Phase::Landing { commit } => is_on_a_branch(&source.git(), commit),
            _ => false,
        };
        let is_only = folder == run_dir.of_run();
        let name = if is_only { None } else { folder.root().file_name() };
        let slot = name.unwrap_or(ONLY_WORKER).to_owned();
        attempts.push((folder, FoundAttempt { slot, attempt, is_landed }));
    }
    let unfinished = record.as_ref().filter(|record| record.finish.is_none());
    let processes = unfinished.map_or(0, |record| client::left_by(&record.process.run).len());
    let is_behind = board::is_interrupted(source);
    let of_slots = attempts.iter().map(|(_, left)| left.clone()).collect();
    let found = Found { record, attempts: of_slots, is_behind, processes };
    Ok(Leftovers { found, attempts })
}

/// Whether a commit has come to any branch.
fn is_on_a_branch(git: &Git, commit: &str) -> bool {
    let list = ["for-each-ref", "--count=1", "--contains", commit, "refs/heads"];
    git.line(&list).is_ok_and(|found| !found.is_empty())
}
