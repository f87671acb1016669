//! Attempts that are kept as commits in the project: `refs/ralph/attempts/<story>/<n>`.
//!
//! The first parent of such a commit is what the attempt began from, so that its changes are the
//! difference between the two; its message says why it was not landed, and trailers say the rest. A
//! landed attempt is the landed commit itself.

use std::collections::BTreeMap;

use camino::Utf8Path;
use ralph_base::fault;
use ralph_base::secrets::mask;
use ralph_base::state::{StoryKey, plan_name};
use ralph_core::git::{Git, GitError};
use ralph_core::plan::{Plan, State};
use ralph_project::under_way::Attempt;

use crate::board;
use crate::exit::Failure;
use crate::git_output::base_of;

/// Where attempts are kept.
pub(crate) const REFS: &str = "refs/ralph/attempts/";

/// What the attempt under way began from. The user may rewrite the target and have git remove what
/// nothing names any more; what our record names stays.
const BEGUN: &str = "refs/ralph/begun";

/// How `ralph-loop retry` calls the attempt that it asks for.
pub(crate) const RETRY: &str = "retry";

/// The longest first line.
const LONGEST_SUBJECT: usize = 200;

/// How much of the failing output a message holds.
const LONGEST_BODY: usize = 16 * 1024;

/// An attempt that is kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SavedAttempt {
    /// What the user types: `US-001/2`.
    pub(crate) id: String,
    pub(crate) commit: String,
    /// What it began from; none in a repository that had no commit.
    pub(crate) base: Option<String>,
    /// When it was kept, as people here read it.
    pub(crate) at: String,
    pub(crate) story: String,
    pub(crate) number: u64,
    /// How it ended; none if it was landed.
    pub(crate) outcome: Option<String>,
    /// Why it was not landed, in one line.
    pub(crate) why: String,
    /// The failing lines.
    pub(crate) details: String,
    pub(crate) cost_usd: Option<f64>,
    /// The client's session that worked on it.
    pub(crate) session: Option<String>,
}

impl SavedAttempt {
    /// Its changes, as git prints them.
    pub(crate) fn changes(&self, git: &Git, args: &[&str]) -> Result<Vec<u8>, GitError> {
        let base = base_of(git, self.base.as_deref())?;
        git.run(&[args, &[&base, &self.commit]].concat())
    }
}

/// What is written down of an attempt.
#[derive(Debug, Clone, Default)]
pub(crate) struct Account<'a> {
    pub(crate) key: StoryKey,
    pub(crate) number: u64,
    pub(crate) outcome: &'a str,
    /// The first line says why, the others what failed.
    pub(crate) why: &'a str,
    pub(crate) cost_usd: Option<f64>,
    pub(crate) seconds: Option<f64>,
    pub(crate) run: &'a str,
    pub(crate) session: Option<&'a str>,
}

impl Account<'_> {
    /// The message of the commit.
    pub(crate) fn message(&self) -> String {
        let masked = mask(self.why);
        let (first, rest) = masked.split_once('\n').unwrap_or((&masked, ""));
        let subject: String = first.replace(|c: char| c.is_control(), " ").trim().to_owned();
        let subject: String = subject.chars().take(LONGEST_SUBJECT).collect();
        let mut text = if subject.is_empty() { self.outcome.to_owned() } else { subject };
        let rest: String =
            rest.trim_end().chars().filter(|c| *c != '\0').take(LONGEST_BODY).collect();
        if !rest.trim().is_empty() {
            // Indented, so that no line of it can pass for a trailer.
            let lines = rest.lines().map(|line| format!("    {line}"));
            text.push_str(&format!("\n\n{}", lines.collect::<Vec<_>>().join("\n")));
        }
        let trailers = [
            ("Story", Some(self.key.story.clone())),
            ("Attempt", Some(self.number.to_string())),
            ("Outcome", Some(self.outcome.to_owned())),
            ("Cost", self.cost_usd.map(|cost| format!("${cost:.4}"))),
            ("Seconds", self.seconds.map(|seconds| format!("{seconds:.0}"))),
            ("Run", Some(self.run.to_owned())),
            ("Session", self.session.map(str::to_owned)),
        ];
        text.push_str("\n\n");
        for (key, value) in trailers.into_iter().filter_map(|(key, value)| Some((key, value?))) {
            text.push_str(&format!("Ralph-{key}: {value}\n"));
        }
        text
    }
}

/// Holds the commit that an attempt begins from.
pub(crate) fn hold(git: &Git, worker: &str, base: &str) -> Result<(), GitError> {
    git.run(&["update-ref", &format!("{BEGUN}/{worker}"), base]).map(drop)
}

/// No attempt is under way any more.
pub(crate) fn release(git: &Git) -> Result<(), GitError> {
    board::forget(git, BEGUN)
}

/// The story of an attempt under way in the project at `root`.
pub(crate) fn key_of(root: &Utf8Path, attempt: &Attempt) -> StoryKey {
    StoryKey::new(&plan_name(root, &attempt.plan), &attempt.story)
}

/// Keeps a tree as an attempt, reads it back, and gives the name of its ref.
pub(crate) fn keep(
    git: &Git,
    top: &Utf8Path,
    tree: &str,
    parents: &[&str],
    account: &Account<'_>,
) -> Result<String, GitError> {
    let commit = board::commit_tree(git, tree, parents, &account.message())?;
    board::verify(top, &commit, parents.first().copied())?;
    fault::point("discard.saved");
    put(&Git::at(top.as_std_path()), &account.key, account.number, account.run, &commit)
}

/// Points the ref of an attempt to a commit.
pub(crate) fn put(
    git: &Git,
    key: &StoryKey,
    number: u64,
    _run: &str,
    commit: &str,
) -> Result<String, GitError> {
    let name = name_of(key, number);
    git.run(&["update-ref", &name, commit])?;
    Ok(name)
}

/// The commit of an attempt that has not landed, if it is kept.
pub(crate) fn commit_of(
    git: &Git,
    root: &Utf8Path,
    attempt: &Attempt,
) -> Result<Option<String>, GitError> {
    board::resolve(git, &name_of(&key_of(root, attempt), attempt.number))
}

/// The attempts at a story.
pub(crate) fn at_story(git: &Git, key: &StoryKey) -> Result<Vec<SavedAttempt>, GitError> {
    all(git, Some(&key.story))
}

/// What the user types for the attempt with this ref.
pub(crate) fn shown(name: &str) -> &str {
    name.trim_start_matches(REFS)
}

/// The ref of an attempt.
pub(crate) fn name_of(key: &StoryKey, number: u64) -> String {
    format!("{REFS}{}/{number}", folder_of(&key.story))
}

/// A story as part of a ref's name. Ids are plain enough but for dots in some places.
pub(crate) fn folder_of(story: &str) -> String {
    story.replace(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c), "_")
}

/// All attempts that are kept, newest first; those at one story, if it is named.
pub(crate) fn all(git: &Git, story: Option<&str>) -> Result<Vec<SavedAttempt>, GitError> {
    let at = "creatordate:format-local:%Y-%m-%d %H:%M";
    let format = ["refname", "objectname", "parent", at, "contents"].map(|f| format!("%({f})%00"));
    let format = format!("--format={}", format.concat());
    // Several may be kept within a second.
    let (by_name, by_date) = ("--sort=-version:refname", "--sort=-creatordate");
    let listed = git.run(&["for-each-ref", by_name, by_date, &format, REFS])?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let parts: Vec<&str> = listed.split('\0').collect();
    let mut found: Vec<SavedAttempt> = parts.chunks_exact(5).filter_map(parse).collect();
    found.retain(|attempt| story.is_none_or(|story| attempt.story.eq_ignore_ascii_case(story)));
    Ok(found)
}

/// The same without those that a person only asked for.
pub(crate) fn tried(git: &Git, story: Option<&str>) -> Result<Vec<SavedAttempt>, GitError> {
    let mut found = all(git, story)?;
    found.retain(|attempt| attempt.outcome.as_deref() != Some(RETRY));
    Ok(found)
}

/// The newest of the attempts at a story.
pub(crate) fn newest(attempts: Vec<SavedAttempt>) -> Option<SavedAttempt> {
    attempts.into_iter().max_by_key(|attempt| attempt.number)
}

/// The stories whose newest attempt is a person's wish for another one, if the plan has blocked any.
pub(crate) fn asked_for(git: &Git, _root: &Utf8Path, plan: &Plan) -> Result<Vec<String>, GitError> {
    let mut stories = plan.stories().iter();
    if !stories.any(|story| story.state == State::Blocked) {
        return Ok(Vec::new());
    }
    let mut by_story: BTreeMap<String, Vec<SavedAttempt>> = BTreeMap::new();
    for attempt in all(git, None)? {
        by_story.entry(attempt.story.clone()).or_default().push(attempt);
    }
    let newest = by_story.into_values().filter_map(newest);
    let asked_for = newest.filter(|newest| newest.outcome.as_deref() == Some(RETRY));
    Ok(asked_for.map(|newest| newest.story).collect())
}

/// A wish for another attempt that was granted: where that changed nothing, none is kept in its place.
pub(crate) fn forget_wish(git: &Git, key: &StoryKey) -> Result<(), GitError> {
    let newest = newest(at_story(git, key)?);
    match newest.filter(|newest| newest.outcome.as_deref() == Some(RETRY)) {
        Some(wish) => git.run(&["update-ref", "-d", &format!("{REFS}{}", wish.id)]).map(drop),
        None => Ok(()),
    }
}

fn parse(fields: &[&str]) -> Option<SavedAttempt> {
    let [name, commit, parents, at, contents] = fields else { return None };
    let id = name.trim().strip_prefix(REFS)?;
    let (folder, number) = id.rsplit_once('/')?;
    let trailer = |key: &str| {
        let mut lines = contents.lines().rev();
        let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        value.map(|value| value.trim().to_owned())
    };
    let (subject, body) = contents.split_once('\n').unwrap_or((contents, ""));
    let details = body.lines().filter_map(|line| line.strip_prefix("    "));
    Some(SavedAttempt {
        id: id.to_owned(),
        commit: (*commit).to_owned(),
        base: parents.split_whitespace().next().map(str::to_owned),
        at: (*at).to_owned(),
        story: trailer("Ralph-Story").unwrap_or_else(|| folder.to_owned()),
        number: number.parse().ok()?,
        outcome: trailer("Ralph-Outcome"),
        why: subject.to_owned(),
        details: details.collect::<Vec<_>>().join("\n"),
        cost_usd: trailer("Ralph-Cost").and_then(|cost| cost.trim_start_matches('$').parse().ok()),
        session: trailer("Ralph-Session"),
    })
}

/// The number of the next attempt after these.
pub(crate) fn number_after(attempts: &[SavedAttempt]) -> u64 {
    attempts.iter().map(|attempt| attempt.number).max().unwrap_or(0) + 1
}

/// An attempt by its id; a story's id alone means its newest attempt.
pub(crate) fn find(git: &Git, id: &str) -> Result<SavedAttempt, Failure> {
    let mut found = tried(git, Some(id))?.into_iter().next();
    if found.is_none() {
        found = all(git, None)?.into_iter().find(|attempt| attempt.id.eq_ignore_ascii_case(id));
    }
    found.ok_or_else(|| {
        Failure::because(format!("no attempt `{id}`; list them with `ralph-loop attempts`"))
    })
}
