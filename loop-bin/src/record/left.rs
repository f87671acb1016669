//! Finds what an earlier run left; what follows is decided in `recovery.rs`.

use camino::Utf8PathBuf;
use ralph_base::state::{Id, Lock, RunDir};
use ralph_core::git::{Git, Repo};
use ralph_project::project::Project;
use ralph_project::under_way::Phase;

use super::recovery::{Found, FoundAttempt, recovery, recovery_of};
use super::{RunRecord, attempts_left, run_dir};
use crate::exit::Failure;
use work_copy::Source;

/// What the next start would do, for `status` and `doctor`; empty while a loop is running.
pub(crate) fn look_for_recovery(project: &Project) -> Result<Vec<String>, Failure> {
    // Without a repository there was no run.
    let Ok(repo) = Repo::open(project.root()) else { return Ok(Vec::new()) };
    let run_dir = run_dir(&repo)?;
    if Lock::holder(&run_dir.lock()).is_some() {
        return Ok(Vec::new());
    }
    let found = left_behind(&run_dir, &Source::of(project, &repo)?)?;
    let of_attempts = found.attempts.iter().map(|left| recovery_of(found.record.as_ref(), left));
    let steps = recovery(&found).into_iter().chain(of_attempts);
    Ok(steps.filter_map(|step| step.in_words()).collect())
}

/// Finds what an earlier run left.
pub(crate) fn left_behind(run_dir: &RunDir, source: &Source) -> Result<Found, Failure> {
    let record = RunRecord::load(run_dir)?;
    let mut attempts = Vec::new();
    for (folder, attempt) in attempts_left(run_dir)? {
        let is_landed = match &attempt.phase {
            // The commit may also be on the waiting branch, or have come from there.
            Phase::Landing { commit } => is_on_a_branch(&source.git(), commit),
            _ => false,
        };
        let is_only = folder == run_dir.of_run();
        let name = if is_only { None } else { folder.root().file_name() };
        let worker = name.map(Id::parse).transpose().map_err(Failure::usage)?;
        attempts.push(FoundAttempt { worker, attempt, is_landed });
    }
    let unfinished = record.as_ref().filter(|record| record.finish.is_none());
    let copies = copies_of(&attempts, source);
    let left = unfinished.map(|record| client::processes_of(&record.process.run, &copies));
    let (is_behind, processes) = (board::is_interrupted(source), left.map_or(0, |left| left.len()));
    Ok(Found { attempts, is_behind, processes, record })
}

/// The copies of these attempts. The project's own tree is left out, because others work there too.
pub(crate) fn copies_of(attempts: &[FoundAttempt], source: &Source) -> Vec<Utf8PathBuf> {
    let copies = attempts.iter().map(|left| left.attempt.work.clone());
    copies.filter(|work| !work.as_str().is_empty() && !work.starts_with(&source.top)).collect()
}

/// Whether a commit is on any branch.
fn is_on_a_branch(git: &Git, commit: &str) -> bool {
    let list = ["for-each-ref", "--count=1", "--contains", commit, "refs/heads"];
    git.line(&list).is_ok_and(|found| !found.is_empty())
}
