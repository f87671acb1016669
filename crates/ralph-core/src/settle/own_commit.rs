//! Which commit is the story's own, where somebody else may commit at the same time.

use camino::Utf8PathBuf;

use super::attempt::Attempt;
use super::changed::below_top;
use super::commit::SIGNED_BY_NOBODY;
use super::procedure::Place;
use crate::git::{GitError, Repo};
use crate::plan::{Plan, State};
use crate::state;

/// How many of the last moves of HEAD are looked at, and how much of their log.
const MOVES: usize = 50;
const LOG_BYTES: u64 = 64 * 1024;

/// The first line of the story's commit.
pub(super) fn subject(attempt: &Attempt) -> String {
    // Git takes no message with a NUL, and nobody wants to read the others.
    let title = attempt.title.replace(|c: char| c.is_control(), " ");
    let title: Vec<&str> = title.split_whitespace().collect();
    format!("feat({}): {}", attempt.story, title.join(" "))
}

/// The commit with this subject that was made last. The log of HEAD is read as a file, because to
/// start git takes longer; none if git keeps no log or a hook changed the subject.
pub(super) fn just_made(repo: &Repo, subject: &str) -> Option<String> {
    let log = Utf8PathBuf::from_path_buf(repo.git_dir().join("logs/HEAD")).ok()?;
    let lines = state::last_lines(&log, MOVES, LOG_BYTES).ok()?;
    let end = format!(": {subject}");
    let line = lines.iter().rev().find(|line| line.ends_with(end.as_bytes()))?;
    // `<before> <after> <who> <when>\t<what>: <subject>`
    let after = line.split(|byte| *byte == b' ').nth(1)?;
    String::from_utf8(after.to_vec()).ok()
}

/// Whether what moved HEAD last was a commit under a name of ours, because git does not know the
/// user's. Read as a file as well: every run asks it.
pub fn is_by_nobody(repo: &Repo) -> bool {
    let log = Utf8PathBuf::from_path_buf(repo.git_dir().join("logs/HEAD")).ok();
    let lines = log.and_then(|log| state::last_lines(&log, 1, LOG_BYTES).ok()).unwrap_or_default();
    lines.iter().any(|line| String::from_utf8_lossy(line).contains(SIGNED_BY_NOBODY))
}

/// The story's commit, if it is among those that were made since `before` was checked out. Where a
/// hook changed its subject, it is known by the tick that it holds.
pub(super) fn made_since(
    place: &Place<'_>,
    attempt: &Attempt,
    before: Option<&str>,
) -> Result<Option<String>, GitError> {
    let head = place.repo.head()?;
    if head.as_deref() == before || !continues(place.repo, before)? {
        return Ok(None);
    }
    let range = before.map_or("HEAD".to_owned(), |before| format!("{before}..HEAD"));
    let made = place.repo.git().line(&["log", "--format=%H %s", &range, "--"])?;
    let wanted = subject(attempt);
    let find = |is_own: &dyn Fn(&str) -> bool| {
        made.lines().filter_map(|line| line.split_once(' ')).find(|(_, subject)| is_own(subject))
    };
    // Hooks put the number of a ticket before it, for instance.
    let own = find(&|subject| subject == wanted)
        .or_else(|| find(&|subject| subject.ends_with(&wanted) || subject.starts_with(&wanted)));
    if let Some((commit, _)) = own {
        return Ok(Some(commit.to_owned()));
    }
    Ok(if is_tick_committed(place, attempt) { head } else { None })
}

/// Whether what is checked out comes after `before`; another branch has nothing to do with it.
fn continues(repo: &Repo, before: Option<&str>) -> Result<bool, GitError> {
    let Some(before) = before else { return Ok(true) };
    match repo.git().run(&["merge-base", "--is-ancestor", before, "HEAD"]) {
        Ok(_) => Ok(true),
        // A commit that is gone, or a branch without one, is no continuation either.
        Err(GitError::Failed { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Where git ignores the plan it cannot tell; a commit with another subject may be anybody's then.
fn is_tick_committed(place: &Place<'_>, attempt: &Attempt) -> bool {
    let git = place.repo.git();
    let Some(path) = below_top(place.repo, &attempt.plan) else { return false };
    let object = format!("HEAD:{}", path.display());
    let Ok(bytes) = git.run(&["cat-file", "blob", &object]) else { return false };
    let plan = Plan::parse(&attempt.plan, bytes, &place.plan_options());
    plan.is_ok_and(|plan| {
        plan.story(&attempt.story).is_some_and(|story| story.state == State::Done)
    })
}
