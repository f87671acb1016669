//! The procedure itself: repair, check, tick and commit. What is written down of it is
//! `bookkeeping.rs`.
//!
//! Nothing here decides what becomes of an attempt that did not settle; see [`Outcome`].

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use camino::Utf8Path;

use super::attempt::Attempt;
use super::bookkeeping::record_done;
use super::changed::{below_top, changed_since};
use super::check::{Check, CheckEnd};
use super::checked::{Before, Checked, Onlooker, check, looks_of};
use super::commit::{self, Content, StoryCommit};
use super::left_out;
use super::marker::Marker;
use super::named_files::named_files;
use super::nested;
use super::own_commit;
use super::recover::{Recovered, recover};
use super::repaired_plan::{plan_now, repair_plan, repair_ticked};
use super::repository::refuse_replaced;
use super::scope;
use super::taken_out::keep_taken_out;
use super::uncovered::{self, Uncovered};
use crate::attempt::TestFiles;
use crate::config::{Config, Weakened};
use crate::fault;
use crate::git::{
    CheckpointError, GitError, JustCommitted, Looks, Repo, RollbackError, Status, Unreturned,
    Watch, finish_interrupted, remove_dead_locks, unstage_all,
};
use crate::plan::{self, Options, UnknownStory};
use crate::project_plan;
use crate::state::{self, Event, Journal, StateDir};
use crate::weakening::weakened_since;

/// How often git hooks may put the files of one story in order.
const MOST_MENDINGS: usize = 2;

/// What a commit may take even when the run's time is used up.
const LEAST_FOR_A_COMMIT: Duration = Duration::from_secs(10);

/// Where an attempt takes place.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The project's folder, where checks run.
    pub root: &'a Utf8Path,
    /// Its repository.
    pub repo: &'a Repo,
    /// Its state.
    pub state: &'a StateDir,
    /// Its settings.
    pub config: &'a Config,
    /// Where events go.
    pub journal: &'a Journal,
    /// The loop's run.
    pub run: &'a str,
}

impl Place<'_> {
    /// How plans are read here.
    pub fn plan_options(&self) -> Options {
        project_plan::options(self.config)
    }
}

/// What is known about an attempt besides what it did to the tree.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// How long the agent ran.
    pub duration: Option<Duration>,
    /// Tokens that it used.
    pub tokens: Option<u64>,
    /// What it cost.
    pub cost_usd: Option<f64>,
    /// What the agent says that it did.
    pub summary: Option<String>,
    /// Whether the agent said explicitly that the story is done. Then checks that pass are enough
    /// even if no file changed.
    pub claimed: bool,
    /// How long it is until the run's time is used up; none without such a limit.
    pub time_left: Option<Duration>,
}

/// What became of an attempt that the agent ended well.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Committed and ticked.
    Done(Done),
    /// No file changed, so there is nothing that could be done.
    NothingChanged,
    /// Everything passes, but fewer tests run or they check less; told in one line.
    TestsWeakened(String),
    /// The last of these checks did not pass.
    CheckFailed(Vec<Check>),
    /// Git or one of the user's git hooks refused the commit.
    CommitRefused(String),
    /// Git cannot write any commit here, whatever the agent does: it cannot sign it, for instance.
    CommitImpossible(String),
    /// The work does not continue what was there.
    Displaced(String),
    /// We were asked to stop.
    Stopped,
}

/// A story that is done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Done {
    /// The commit; none if the repository has none and nothing had to be committed.
    pub commit: Option<String>,
    /// The files that changed.
    pub files: Vec<PathBuf>,
    /// The checks that passed.
    pub checks: Vec<Check>,
    /// In what respect the tests are weaker than before, for a person to look at.
    pub weakened: Option<String>,
    /// Files that were ignored before and stayed out of the commit, though the rules were changed.
    pub kept_out: Vec<PathBuf>,
    /// New files that ignore rules of the attempt's own kept out of the commit.
    pub hidden: Vec<PathBuf>,
    /// Uncommitted work from before the attempt that is not in the tree any more, kept for undo.
    pub taken_out: Option<Box<Unreturned>>,
    /// What the checks or the user's git hooks did to plan and branch, and what became of it.
    pub findings: Vec<String>,
    /// That nothing is uncommitted now, if that is certain.
    pub known: Option<Box<JustCommitted>>,
}

/// Why an attempt could not be settled at all.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The checkpoint could not be made.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A rollback that was interrupted could not be finished.
    #[error(transparent)]
    Rollback(#[from] RollbackError),
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The repository is not the one any more in which the attempt began.
    #[error(
        "the agent removed or replaced the repository: {git_dir} does not have the commit {commit} \
         any more; nothing was touched; put the folder back from a copy or clone it again, or start \
         again to go on with what is there"
    )]
    Replaced {
        /// The git folder.
        git_dir: String,
        /// The commit at which the attempt began.
        commit: String,
    },
    /// The plan cannot be read.
    #[error(transparent)]
    Plan(#[from] plan::Error),
    /// The plan does not have the story.
    #[error(transparent)]
    Story(#[from] UnknownStory),
}

/// Settles an attempt that the agent ended well. Git hooks that put files in order and refuse the
/// commit get one of what they left, once that has passed the checks as well.
pub fn settle(
    place: &Place<'_>,
    attempt: &Attempt,
    report: &Report,
    onlooker: Onlooker<'_>,
) -> Result<Outcome, SettleError> {
    refuse_replaced(place.repo, Some(attempt))?;
    // A hook that was killed in the middle of a rollback left a tree that is nobody's work, and one
    // that was killed while it wrote the plan a file that is not the agent's.
    finish_interrupted(place.repo, place.state)?;
    // Or the commit was made, and what follows from it was not.
    if let Recovered::Finished { commit, taken_out, .. } = recover(place)? {
        return Ok(Outcome::Done(Done { commit, taken_out, ..Done::default() }));
    }
    let limit = commit_limit(place.config.verify.timeout.limit(), report.time_left);
    let watch = Watch { limit, stop: onlooker.stop };
    let mut mendings = 0;
    loop {
        let ready = match make_ready(place, attempt, report, onlooker)? {
            Ok(ready) => ready,
            Err(outcome) => return Ok(outcome),
        };
        fault::point("settle.checked");
        let (staged_at, files) = (Instant::now(), &ready.done.files);
        let looks = looks_of(place.repo, files);
        match tick_and_commit(place, attempt, files, &ready.content, watch)? {
            Ok(made) => {
                let committed = Committed { made, staged_at, looks };
                return conclude(place, attempt, report, ready, committed);
            }
            Err(Outcome::CommitRefused(_))
                if mendings < MOST_MENDINGS && looks_of(place.repo, files) != looks =>
            {
                mendings += 1;
            }
            Err(outcome) => return Ok(outcome),
        }
    }
}

/// Work that may be committed.
struct Ready {
    /// What is known of it so far.
    done: Done,
    content: Content,
    status: Status,
}

/// Everything up to the commit. The inner error is an attempt that gets none.
fn make_ready(
    place: &Place<'_>,
    attempt: &Attempt,
    report: &Report,
    onlooker: Onlooker<'_>,
) -> Result<Result<Ready, Outcome>, SettleError> {
    attempt.plan.parent().map_or(Ok(()), state::remove_stale_temporaries)?;
    let known = repair_plan(place, attempt)?;
    let status = Status::read(place.repo)?;
    if let Some(why) = commit::return_to_branch(place.repo, attempt, &status)? {
        return Ok(Err(Outcome::Displaced(why)));
    }
    let unsettled = nested::since(place, &status.unsettled)?;
    let mut left_out = nested::untouched(place, &status.unsettled);
    let is_anothers = |path: &&PathBuf| place.repo.is_state_of_another(path);
    left_out.extend(status.changed.iter().filter(is_anothers).cloned());
    left_out.extend(left_out::left_out(place.state)?);
    let mut files = changed_since(place, attempt, status.clone())?;
    let kept_out = match uncovered::keep_out(place, attempt, &status, &files)? {
        Uncovered::None => Vec::new(),
        Uncovered::Exposed(why) => return Ok(Err(Outcome::CommitRefused(why))),
        Uncovered::Covered(paths, now) => {
            files = changed_since(place, attempt, *now)?;
            paths
        }
    };
    let has_checks = !place.config.verify.commands.is_empty();
    if files.is_empty() && !(report.claimed && has_checks) {
        return Ok(Err(Outcome::NothingChanged));
    }
    if let Some(refusal) = nested::refusal(&unsettled) {
        return Ok(Err(Outcome::CommitRefused(refusal)));
    }
    if let Some(refusal) = scope::refusal(place, attempt, &files)? {
        return Ok(Err(Outcome::CommitRefused(refusal)));
    }
    let hidden = uncovered::hidden(place, &files)?;
    let before = Before { plan: &known, status: &status, files: &files };
    let Checked { checks, findings, displaced } = check(place, attempt, &before, onlooker)?;
    match (checks.last(), displaced) {
        (Some(Check { end: CheckEnd::Stopped, .. }), _) => return Ok(Err(Outcome::Stopped)),
        (Some(check), _) if !check.passed() => return Ok(Err(Outcome::CheckFailed(checks))),
        (_, Some(why)) => return Ok(Err(Outcome::Displaced(why))),
        _ => {}
    }
    let weakened = weakened(place, attempt, &files)?;
    if let (Some(what), Weakened::Refuse) = (&weakened, place.config.tests.weakened) {
        return Ok(Err(Outcome::TestsWeakened(what.clone())));
    }
    // Checks may have made files of their own.
    let is_seen = checks.is_empty() && kept_out.is_empty() && status.nested.is_empty();
    let seen = is_seen.then(|| everything_in(place, attempt, &status));
    let done = Done { files, checks, weakened, kept_out, hidden, findings, ..Done::default() };
    Ok(Ok(Ready { done, content: Content { left_out, seen }, status }))
}

/// A commit that was made of what was staged at an instant, when the files looked like this.
struct Committed {
    made: Ticked,
    staged_at: Instant,
    looks: Vec<Option<Looks>>,
}

/// What follows from it.
fn conclude(
    place: &Place<'_>,
    attempt: &Attempt,
    report: &Report,
    ready: Ready,
    committed: Committed,
) -> Result<Outcome, SettleError> {
    fault::point("settle.committed");
    let Committed { made, staged_at, looks } = committed;
    let Ready { mut done, status, .. } = ready;
    let after = repair_ticked(place, attempt, made.plan)?;
    done.findings.extend(after.iter().map(ToString::to_string));
    done.findings.extend(done_by_hooks(place, &done.files, &looks)?);
    if let Some(commit) = made.commit.as_ref().filter(|_| is_all_committed(place, attempt, &status))
    {
        done.known = JustCommitted::note(place.repo, commit, staged_at).map(Box::new);
    }
    done.commit = made.commit;
    done.taken_out = keep_taken_out(place, attempt)?;
    record_done(place, attempt, report, &done)?;
    Ok(Outcome::Done(done))
}

/// What the user's git hooks kept out of the commit, and what they wrote or took back though it had
/// passed the checks. Where there are none no git is started.
fn done_by_hooks(
    place: &Place<'_>,
    files: &[PathBuf],
    looks: &[Option<Looks>],
) -> Result<Vec<String>, GitError> {
    if place.repo.has_no_hooks() {
        return Ok(Vec::new());
    }
    let changed = Status::read(place.repo)?.changed;
    let left: Vec<&PathBuf> = files.iter().filter(|file| changed.contains(file)).collect();
    let now = looks_of(place.repo, files);
    let each = files.iter().zip(looks.iter().zip(&now));
    let written: Vec<&PathBuf> =
        each.filter(|(_, (before, now))| before != now).map(|(file, _)| file).collect();
    let mut told = Vec::new();
    if !left.is_empty() {
        told.push(format!("left {} uncommitted", named_files(left)));
    }
    if !written.is_empty() {
        let files = named_files(written);
        told.push(format!("changed {files} while the commit was made; no check has seen that"));
    }
    Ok(told)
}

/// All that there is to commit, the tick included.
fn everything_in(place: &Place<'_>, attempt: &Attempt, status: &Status) -> Vec<PathBuf> {
    status.changed.iter().cloned().chain(below_top(place.repo, &attempt.plan)).collect()
}

/// Whether a commit holds all that is there: no repositories inside this one, and no progress that
/// is written after it into a file which a rollback would take back.
fn is_all_committed(place: &Place<'_>, attempt: &Attempt, status: &Status) -> bool {
    let progress = below_top(place.repo, &attempt.progress);
    status.nested.is_empty()
        && place.repo.outputs().is_empty()
        && progress.is_none_or(|path| place.repo.is_untouched(&path))
}

/// In what respect the attempt weakened the tests, if anybody wants to know.
pub(super) fn weakened(
    place: &Place<'_>,
    attempt: &Attempt,
    files: &[PathBuf],
) -> Result<Option<String>, GitError> {
    let tests = &place.config.tests;
    match (&attempt.head, tests.weakened) {
        (None, _) | (_, Weakened::Ignore) => Ok(None),
        (Some(head), _) => weakened_since(place.repo, head, files, &TestFiles::new(&tests.files)),
    }
}

/// A commit that was made, and the plan with the tick that belongs to it.
struct Ticked {
    commit: Option<String>,
    plan: Vec<u8>,
}

/// The tick is written first, so that it is part of the commit; until the commit is there, the
/// marker says that the tick is not to be believed. The inner error is a commit that was not made.
fn tick_and_commit(
    place: &Place<'_>,
    attempt: &Attempt,
    files: &[PathBuf],
    content: &Content,
    watch: Watch<'_>,
) -> Result<Result<Ticked, Outcome>, SettleError> {
    let open = plan_now(place, attempt)?;
    let ticked = open.tick(&attempt.story)?;
    let head = place.repo.head()?;
    Marker::new(&attempt.story, head.clone(), place.repo, files).save(place.state)?;
    fault::point("settle.marked");
    // Whatever a power cut leaves of it is repaired: the attempt knows the plan as it was.
    state::replace_users_soon(&attempt.plan, &ticked)?;
    fault::point("settle.ticked");
    let subject = own_commit::subject(attempt);
    let wanted = StoryCommit { head: head.as_deref(), subject: &subject, content, watch };
    let refusal = match commit::commit_all(place, wanted) {
        Ok(commit) => return Ok(Ok(Ticked { commit, plan: ticked })),
        Err(refusal) => refusal,
    };
    if let GitError::Deadline { .. } | GitError::Stopped { .. } = refusal {
        remove_dead_locks(place.repo, &[]);
        // What hung came after the commit, a `post-commit` for instance.
        let made = own_commit::made_since(place, attempt, head.as_deref())?;
        if made.is_some() {
            return Ok(Ok(Ticked { commit: made, plan: ticked }));
        }
    }
    state::replace_users(&attempt.plan, open.bytes())?;
    // Whoever holds the index kept us from staging as well, and to wait once more is no use.
    if !matches!(refusal, GitError::Locked { .. }) || !is_index_locked(place.repo) {
        unstage_all(place.repo)?;
    }
    Marker::clear(place.state)?;
    match refusal {
        GitError::Failed { stderr, .. } if commit::is_impossible(&stderr) => {
            Ok(Err(Outcome::CommitImpossible(stderr)))
        }
        GitError::Failed { stderr, .. } => Ok(Err(Outcome::CommitRefused(stderr))),
        GitError::Deadline { seconds, command, .. } if command.contains(commit::COMMAND) => {
            let plural = if seconds == 1 { "" } else { "s" };
            let text = format!(
                "it did not end within {seconds} second{plural} and was ended; does a git hook \
                 (pre-commit, commit-msg) hang?"
            );
            Ok(Err(Outcome::CommitRefused(text)))
        }
        GitError::Stopped { .. } => Ok(Err(Outcome::Stopped)),
        other => Err(other.into()),
    }
}

fn is_index_locked(repo: &Repo) -> bool {
    repo.git_dir().join("index.lock").exists()
}

/// A commit may take as long as a check, and no longer than the run may; but a budget that the
/// checks used up does not keep work from being committed that has passed them.
fn commit_limit(check: Option<Duration>, time_left: Option<Duration>) -> Option<Duration> {
    let time_left = time_left.map(|left| left.max(LEAST_FOR_A_COMMIT));
    check.into_iter().chain(time_left).min()
}

/// Marks the story of an attempt as waiting for a person.
pub fn mark_blocked(place: &Place<'_>, attempt: &Attempt, why: &str) -> Result<(), SettleError> {
    let blocked = plan_now(place, attempt)?.block(&attempt.story)?;
    state::replace_users(&attempt.plan, &blocked)?;
    place.journal.append(&Event::StorySetAside { why: why.to_owned() })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_bounded_by_the_shorter_of_two_limits_and_has_time_at_all() {
        let seconds = |number: Option<u64>| number.map(Duration::from_secs);
        for (check, left, limit) in [
            (Some(60), None, Some(60)),
            (Some(60), Some(20), Some(20)),
            (Some(60), Some(0), Some(10)),
            (Some(1), Some(0), Some(1)),
            (None, Some(30), Some(30)),
            (None, None, None),
        ] {
            assert_eq!(commit_limit(seconds(check), seconds(left)), seconds(limit));
        }
    }
}
