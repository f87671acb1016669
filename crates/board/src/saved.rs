//! Saves attempts as commits in the project: `refs/ralph/attempts/<plan>/<story>/<n>`. They are
//! read by [`run_history::saved`].

use std::collections::BTreeMap;

use camino::Utf8Path;
use ralph_base::fault;
use ralph_base::secrets::mask;
use ralph_base::state::{StoryKey, plan_name};
use ralph_core::git::{Git, GitError};
use ralph_core::plan::{Plan, State};
use ralph_project::failure::Failure;
use ralph_project::under_way::Attempt;
pub use run_history::SavedAttempt;
use run_history::saved::ATTEMPTS;
pub use run_history::saved::{RETRY, all, at_story, called, number_after};

use crate::commit::{commit_tree, verify};
use crate::notes::PREPARED;
use crate::refs::{forget, resolve};

/// The ref that holds the commits from which running attempts began. If the user rewrites the
/// target, git may otherwise delete them while our record still names them.
const BEGUN: &str = "refs/ralph/begun";

/// The maximum length of the subject.
const LONGEST_SUBJECT: usize = 200;

/// The maximum length of the failing output in a message.
const LONGEST_BODY: usize = 16 * 1024;

/// The facts about an attempt that are saved with it.
#[derive(Debug, Clone, Default)]
pub struct Account<'a> {
    /// The story.
    pub key: StoryKey,
    /// The number of the attempt at the story.
    pub number: u64,
    /// The outcome, in one word.
    pub outcome: &'a str,
    /// The first line says why it ended so, the others what failed.
    pub why: &'a str,
    /// Its cost in US dollars, if known.
    pub cost_usd: Option<f64>,
    /// The number of tokens that it used.
    pub tokens: Option<u64>,
    /// How long its agent worked, in seconds.
    pub seconds: Option<f64>,
    /// The id of its run.
    pub run: &'a str,
    /// The id of the client's session.
    pub session: Option<String>,
}

impl Account<'_> {
    /// Builds the commit message.
    fn message(&self) -> String {
        let masked = mask(self.why);
        let (first, rest) = masked.split_once('\n').unwrap_or((&masked, ""));
        let subject: String = first.replace(|c: char| c.is_control(), " ").trim().to_owned();
        let subject: String = subject.chars().take(LONGEST_SUBJECT).collect();
        let mut text = if subject.is_empty() { self.outcome.to_owned() } else { subject };
        let rest: String =
            rest.trim_end().chars().filter(|c| *c != '\0').take(LONGEST_BODY).collect();
        if !rest.trim().is_empty() {
            // Indented, so that no line can be read as a trailer.
            let lines = rest.lines().map(|line| format!("    {line}"));
            text.push_str(&format!("\n\n{}", lines.collect::<Vec<_>>().join("\n")));
        }
        let trailers = [
            ("Story", Some(self.key.story.clone())),
            ("Attempt", Some(self.number.to_string())),
            ("Outcome", Some(self.outcome.to_owned())),
            ("Cost", self.cost_usd.map(|cost| format!("${cost:.4}"))),
            ("Tokens", self.tokens.map(|tokens| tokens.to_string())),
            ("Seconds", self.seconds.map(|seconds| format!("{seconds:.0}"))),
            ("Run", Some(self.run.to_owned())),
            ("Session", self.session.clone()),
        ];
        text.push_str("\n\n");
        for (key, value) in trailers.into_iter().filter_map(|(key, value)| Some((key, value?))) {
            text.push_str(&format!("Ralph-{key}: {value}\n"));
        }
        text
    }
}

/// Keeps the commit that a worker's attempt begins from reachable.
pub fn hold(git: &Git, worker: &str, base: &str) -> Result<(), GitError> {
    git.run(&["update-ref", &format!("{BEGUN}/{worker}"), base]).map(drop)
}

/// Releases the held commits of all workers, when no attempt is running any more, and the notes that a
/// killed loop prepared.
pub fn release(git: &Git) -> Result<(), GitError> {
    forget(git, BEGUN)?;
    forget(git, PREPARED)
}

/// Returns the key of the story of an attempt in the project at `root`.
pub fn key_of(root: &Utf8Path, attempt: &Attempt) -> StoryKey {
    StoryKey::new(&plan_name(root, &attempt.plan), &attempt.story)
}

/// Returns the ref of an attempt. Story ids are valid in a ref except for dots in some places.
pub fn name_of(key: &StoryKey, number: u64) -> String {
    let is_odd = |c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c);
    format!("{ATTEMPTS}{}/{}/{number}", key.plan, key.story.replace(is_odd, "_"))
}

/// Returns the id that the user types for the attempt with this ref: the ref without the plan.
pub fn shown(name: &str) -> &str {
    let id = name.trim_start_matches(ATTEMPTS);
    id.split_once('/').map_or(id, |(_, id)| id)
}

/// Saves a tree as an attempt, verifies it, and returns its ref and commit. `git` has the tree: in
/// the project at `top` or a copy sharing its objects. The run's earlier save becomes a parent.
pub fn keep(
    git: &Git,
    top: &Utf8Path,
    tree: &str,
    parents: &[&str],
    account: &Account<'_>,
) -> Result<(String, String), GitError> {
    let (ours, Account { key, number, run, .. }) = (Git::at(top.as_std_path()), account);
    let (name, old) = place(&ours, key, *number, run, "")?;
    let kept = old.as_deref().filter(|old| !parents.contains(old));
    let all: Vec<&str> = parents.iter().copied().chain(kept).collect();
    let commit = commit_tree(git, tree, &all, &account.message())?;
    verify(top, &commit, parents.first().copied())?;
    fault::point("discard.saved");
    let name = match point(&ours, &name, &commit, old.as_deref()) {
        Ok(()) => name,
        Err(_) => put(&ours, key, *number, run, &commit)?,
    };
    Ok((name, commit))
}

fn point(git: &Git, name: &str, to: &str, from: Option<&str>) -> Result<(), GitError> {
    git.run(&["update-ref", name, to, from.unwrap_or_default()]).map(drop)
}

/// Points the ref of a run's attempt at a commit, and returns the ref.
pub fn put(
    git: &Git,
    key: &StoryKey,
    number: u64,
    run: &str,
    commit: &str,
) -> Result<String, GitError> {
    loop {
        let (name, old) = place(git, key, number, run, commit)?;
        match point(git, &name, commit, old.as_deref()) {
            Ok(()) => return Ok(name),
            // Another process moved the ref first.
            Err(_) if resolve(git, &name)? != old => {}
            Err(error) => return Err(error),
        }
    }
}

/// Chooses the ref for a commit of an attempt, and returns it with its current value. A ref of
/// another run is never overwritten: the next free number is used instead.
fn place(
    git: &Git,
    key: &StoryKey,
    mut number: u64,
    run: &str,
    commit: &str,
) -> Result<(String, Option<String>), GitError> {
    loop {
        let name = name_of(key, number);
        match resolve(git, &name)? {
            Some(old) if old != commit && !is_made_by(git, &old, run)? => number += 1,
            old => return Ok((name, old)),
        }
    }
}

/// Returns the saved commit of an attempt that has not landed, if there is one.
pub fn commit_of(
    git: &Git,
    root: &Utf8Path,
    attempt: &Attempt,
) -> Result<Option<String>, GitError> {
    let mut kept = at_story(git, &key_of(root, attempt))?;
    kept.retain(|one| one.number >= attempt.number && one.run.as_ref() == Some(&attempt.run));
    Ok(newest(kept).map(|newest| newest.commit))
}

fn is_made_by(git: &Git, commit: &str, run: &str) -> Result<bool, GitError> {
    let format = "--format=%(trailers:key=Ralph-Run,valueonly=true,separator=%x2C)";
    Ok(git.line(&["log", "-1", format, commit])? == run)
}

/// Returns the newest of the attempts at a story.
pub fn newest(attempts: Vec<SavedAttempt>) -> Option<SavedAttempt> {
    attempts.into_iter().max_by_key(|attempt| attempt.number)
}

/// Returns the stories whose newest attempt is a retry request, if any of the plan is blocked.
pub fn asked_for(git: &Git, root: &Utf8Path, plan: &Plan) -> Result<Vec<String>, GitError> {
    if !plan.stories().iter().any(|story| story.state == State::Blocked) {
        return Ok(Vec::new());
    }
    let plan_name = plan_name(root, plan.path());
    let mut by_story: BTreeMap<String, Vec<SavedAttempt>> = BTreeMap::new();
    for attempt in all(git)? {
        if attempt.is_at(&StoryKey::new(&plan_name, &attempt.key.story)) {
            by_story.entry(attempt.key.story.clone()).or_default().push(attempt);
        }
    }
    let newest = by_story.into_values().filter_map(newest);
    let asked_for = newest.filter(SavedAttempt::is_retry);
    Ok(asked_for.map(|newest| newest.key.story).collect())
}

/// Removes a retry request that has been granted and had nothing saved in its place.
pub fn forget_retry(git: &Git, key: &StoryKey) -> Result<(), GitError> {
    match newest(at_story(git, key)?) {
        Some(wish) if wish.is_retry() => git.run(&["update-ref", "-d", &wish.name]).map(drop),
        _ => Ok(()),
    }
}

/// Finds an attempt by its id; a story's id alone means its newest attempt.
pub fn find(git: &Git, id: &str) -> Result<SavedAttempt, Failure> {
    let found = called(git, id)?;
    let mut keys: Vec<&StoryKey> = found.iter().map(|attempt| &attempt.key).collect();
    keys.dedup();
    match (found.first(), keys.len()) {
        (Some(first), 1) => Ok(first.clone()),
        (Some(_), _) => {
            let choices: Vec<String> = found.iter().map(|one| format!("`{}`", one.id)).collect();
            let choices = choices.join(", ");
            Err(Failure::because(format!("`{id}` is ambiguous; specify one of {choices}")))
        }
        (None, _) => Err(Failure::because(format!(
            "no attempt `{id}`; list them with `ralph-loop attempts`"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::*;

    #[test]
    fn the_ref_of_another_run_is_never_overwritten() {
        let repo = TestRepo::new();
        let git = Git::at(repo.root().as_std_path());
        let (key, tree) = (StoryKey::new("PRD-1", "US-001"), repo.git(["write-tree"]));
        let keep = |run: &str, why: &str| {
            let (key, number, outcome) = (key.clone(), 1, "failed");
            let account = Account { key, number, outcome, why, run, ..Account::default() };
            keep(&git, repo.root(), tree.trim(), &[], &account).unwrap().0
        };
        let kept = [keep("r1", "red"), keep("r2", "red"), keep("r1", "still red"), keep("r2", "x")];
        let [first, second] = [1, 2].map(|number| name_of(&key, number));
        assert_eq!(kept, [first.clone(), second.clone(), first, second]);
        let all = all(&git).unwrap();
        let mut found: Vec<_> = all.iter().map(|one| (&*one.id, &*one.why)).collect();
        found.sort_unstable();
        assert_eq!(found, [("US-001/1", "still red"), ("US-001/2", "x")]);
        let kept = repo.git(["log", "--format=%s", &name_of(&key, 1)]);
        assert_eq!(kept, "still red\nred\n");
    }

    #[test]
    fn ref_names_contain_only_valid_characters() {
        let name = |story: &str| name_of(&StoryKey::new("PRD-1", story), 1);
        assert_eq!(name("US-001"), "refs/ralph/attempts/PRD-1/US-001/1");
        assert_eq!(name("a.lock"), "refs/ralph/attempts/PRD-1/a_lock/1");
        assert_eq!(name("odd id"), "refs/ralph/attempts/PRD-1/odd_id/1");
    }
}
