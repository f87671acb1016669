//! The user's checks as a step of settling. They run what the agent wrote, so they have its hands: the
//! plan, our folder and the branch are looked after once more when they have ended.

use std::io;
use std::path::PathBuf;

use super::attempt::Attempt;
use super::changed::changed_files;
use super::check::{Bench, Check, run_checks};
use super::commit::set_branch;
use super::named_files::named_files;
use super::procedure::{Place, SettleError};
use super::repaired_plan::repair_after;
use crate::git::{CheckpointError, GitError, Looks, Position, Repo, SafeCopy, Status};
use crate::plan::Repaired;
use crate::state::Id;

/// Who looks on while a story is settled.
#[derive(Clone, Copy)]
pub struct Onlooker<'a> {
    /// Asked while checks and commit run: whether to stop.
    pub stop: &'a dyn Fn() -> bool,
    /// Called before the checks, if there are any.
    pub checking: &'a dyn Fn(),
    /// Called after them, whatever they did.
    pub checked: &'a dyn Fn() -> io::Result<()>,
}

impl Default for Onlooker<'_> {
    fn default() -> Self {
        Self { stop: &|| false, checking: &|| (), checked: &|| Ok(()) }
    }
}

/// What the checks left.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) checks: Vec<Check>,
    /// What they did besides, and what became of it.
    pub(super) findings: Vec<String>,
    /// Why the work cannot be committed any more, if it cannot.
    pub(super) displaced: Option<String>,
}

/// What was there before the checks.
pub(super) struct Before<'a> {
    /// The plan.
    pub(super) plan: &'a Repaired,
    /// The tree; the branch is that of the attempt.
    pub(super) status: &'a Status,
    /// The files that the attempt changed.
    pub(super) files: &'a [PathBuf],
}

/// Runs the checks.
pub(super) fn check(
    place: &Place<'_>,
    attempt: &Attempt,
    before: &Before<'_>,
    onlooker: Onlooker<'_>,
) -> Result<Checked, SettleError> {
    let verify = &place.config.verify;
    if verify.commands.is_empty() {
        return Ok(Checked::default());
    }
    (onlooker.checking)();
    let looks = looks_of(place.repo, before.files);
    let copy = copy_of(place, attempt, before)?;
    let bench = Bench { dir: place.root, run: place.run };
    let checks = run_checks(bench, &verify.commands, verify.timeout.limit(), onlooker.stop)?;
    (onlooker.checked)()?;
    // Without its rules git would see the state that is about to be written there.
    place.state.prepare()?;
    let mut stays = look_after(place, attempt, before, &looks)?;
    match (copy, stays.without_work()) {
        (Some(copy), None) => copy.forget(place.repo)?,
        (Some(copy), Some(told)) => {
            told.push_str(&format!("; `ralph-loop undo {}` has all as it was", copy.id()));
        }
        (None, _) => {}
    }
    let mut findings: Vec<String> = stays.finding.into_iter().collect();
    // What is undone after a check that failed is told by whoever takes the attempt back.
    if checks.last().is_none_or(Check::passed) {
        findings.extend(repair_after(place, attempt, before.plan)?.iter().map(ToString::to_string));
    }
    Ok(Checked { checks, findings, displaced: stays.displaced })
}

/// The work as it is, because a check may remove it: it is in no commit yet.
fn copy_of(
    place: &Place<'_>,
    attempt: &Attempt,
    before: &Before<'_>,
) -> Result<Option<SafeCopy>, SettleError> {
    if before.files.is_empty() {
        return Ok(None);
    }
    let story = Id::parse(&attempt.story).ok();
    let message = format!("the work on {} before a check removed some of it", attempt.story);
    let copy = SafeCopy::take(place.repo, before.status, story.as_ref(), &message);
    Ok(Some(copy.map_err(CheckpointError::from)?))
}

/// What these files look like; none where there is no file.
pub(super) fn looks_of(repo: &Repo, files: &[PathBuf]) -> Vec<Option<Looks>> {
    files.iter().map(|file| Looks::of(&repo.top().join(file))).collect()
}

/// Whether branch and work are what they were.
#[derive(Default)]
struct Stays {
    finding: Option<String>,
    displaced: Option<String>,
    /// Whether a part of the work is gone, as the finding says.
    is_reduced: bool,
}

impl Stays {
    fn displaced(why: impl Into<String>) -> Self {
        Self { displaced: Some(why.into()), ..Self::default() }
    }

    /// What is told of work that is gone, if some is.
    fn without_work(&mut self) -> Option<&mut String> {
        let finding = self.finding.as_mut().filter(|_| self.is_reduced);
        finding.or(self.displaced.as_mut())
    }
}

/// Starts no git where the checks moved nothing.
fn look_after(
    place: &Place<'_>,
    attempt: &Attempt,
    before: &Before<'_>,
    looks: &[Option<Looks>],
) -> Result<Stays, SettleError> {
    let known = Position { branch: attempt.branch.clone(), commit: before.status.head.clone() };
    if Position::of(place.repo).as_ref() != Some(&known) {
        return go_back(place, attempt, before, &known);
    }
    // A check may put files in order; but a story is not done with nothing to commit.
    let now = looks_of(place.repo, before.files);
    if now == looks {
        return Ok(Stays::default());
    }
    let changed = changed_files(place, attempt)?;
    if changed.is_empty() {
        return Ok(Stays::displaced("a check took all of the work away"));
    }
    let gone: Vec<&PathBuf> = before.files.iter().filter(|file| !changed.contains(file)).collect();
    if gone.is_empty() {
        return Ok(Stays::default());
    }
    let finding =
        format!("took back what was done to {}; the commit is without", named_files(gone));
    Ok(Stays { finding: Some(finding), displaced: None, is_reduced: true })
}

/// Goes back to the branch that a check left. Commits that it made on the branch itself are part of
/// the story.
fn go_back(
    place: &Place<'_>,
    attempt: &Attempt,
    before: &Before<'_>,
    known: &Position,
) -> Result<Stays, SettleError> {
    let repo = place.repo;
    let now = Status::read(repo)?;
    let elsewhere = now.branch.as_deref().unwrap_or("a detached HEAD").to_owned();
    if now.branch == known.branch {
        return Ok(match continues(repo, known.commit.as_deref(), now.head.as_deref())? {
            true => Stays::default(),
            false => Stays::displaced("a check left or rewrote the history of the branch"),
        });
    }
    if now.head == known.commit {
        set_branch(repo, attempt)?;
    } else {
        check_out(repo, known)?;
    }
    let now = Status::read(repo)?;
    let is_back = now.branch == known.branch && now.head == known.commit;
    if !is_back || changed_files(place, attempt)? != before.files {
        return Ok(Stays::displaced(format!(
            "a check switched to {elsewhere}, and the work is not as it was; a check has to leave \
             the branch alone"
        )));
    }
    let finding = Some(format!("switched to {elsewhere}; the branch is as it was"));
    Ok(Stays { finding, ..Stays::default() })
}

/// As the check has left it: what is uncommitted is carried along, or git refuses.
fn check_out(repo: &Repo, known: &Position) -> Result<(), GitError> {
    let tried = match (&known.branch, &known.commit) {
        (Some(branch), _) => repo.git().run(&["checkout", "--quiet", branch, "--"]),
        (None, Some(commit)) => repo.git().run(&["checkout", "--quiet", "--detach", commit, "--"]),
        (None, None) => Ok(Vec::new()),
    };
    match tried {
        // Whether we are back is looked at afterwards.
        Err(GitError::Failed { .. }) => Ok(()),
        other => other.map(drop),
    }
}

fn continues(repo: &Repo, old: Option<&str>, new: Option<&str>) -> Result<bool, GitError> {
    match (old, new) {
        (None, _) => Ok(true),
        (Some(_), None) => Ok(false),
        (Some(old), Some(new)) => super::commit::is_ancestor(repo, old, new),
    }
}
