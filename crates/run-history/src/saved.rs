//! Attempts that are saved as commits in the project: `refs/ralph/attempts/<plan>/<story>/<n>`, in
//! older versions without the plan.
//!
//! The first parent of such a commit is the base of the attempt, so that the changes are the
//! difference between the two; the message explains why it did not land, and trailers hold the
//! rest. A landed attempt is the landed commit itself.

use std::collections::BTreeMap;

use ralph_base::state::StoryKey;
use ralph_core::git::{Git, GitError};

use crate::run::is_called;

/// The prefix of the refs of saved attempts.
pub const ATTEMPTS: &str = "refs/ralph/attempts/";

/// The outcome of an attempt that `ralph-loop retry` asks for.
pub const RETRY: &str = "retry";

/// In a clone of a fleet's server, the file with the attempts and journals of the server.
pub const FLEET: &str = ".git/ralph-known";

/// The outcome of a fleet's attempt that passed its checks, but another task landed first.
const OVERTAKEN: &str = "overtaken";

/// A saved attempt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SavedAttempt {
    /// The id that users type: `US-001/2`, or `PRD-1/US-001/2` if another plan has that, too.
    pub id: String,
    /// The name of its ref.
    pub name: String,
    /// Its commit.
    pub commit: String,
    /// The commit that it started from; `None` in a repository without commits.
    pub base: Option<String>,
    /// When it was saved, in local time.
    pub at: String,
    /// Its story; older versions did not record the plan.
    pub key: StoryKey,
    /// The number of the attempt at the story.
    pub number: u64,
    /// How it ended; `None` if it landed.
    pub outcome: Option<String>,
    /// Why it did not land, in one line.
    pub why: String,
    /// The failing lines.
    pub details: String,
    /// Its cost, if known.
    pub cost_usd: Option<f64>,
    /// The tokens that it used, if known.
    pub tokens: Option<u64>,
    /// The run that made it.
    pub run: Option<String>,
    /// The client's session that worked on it.
    pub session: Option<String>,
}

impl SavedAttempt {
    /// Returns whether it is an attempt at this story, whose id is compared without case.
    pub fn is_at(&self, key: &StoryKey) -> bool {
        let has_plan = self.key.plan.is_empty() || self.key.plan == key.plan;
        has_plan && self.key.story.eq_ignore_ascii_case(&key.story)
    }

    /// Returns whether it only records a request by `ralph-loop retry`.
    pub fn is_retry(&self) -> bool {
        self.outcome.as_deref() == Some(RETRY)
    }

    pub(crate) fn is_failed(&self) -> bool {
        self.outcome.is_some() && !self.is_retry()
    }

    /// Returns its changes, as printed by git.
    pub fn changes(&self, git: &Git, args: &[&str]) -> Result<Vec<u8>, GitError> {
        let base = base_of(git, self.base.as_deref())?;
        git.run(&[args, &[&base, &self.commit]].concat())
    }

    fn parse(fields: &[&str]) -> Option<Self> {
        let [name, commit, parents, at, contents] = fields else { return None };
        let name = name.trim();
        let (folder, number) = name.strip_prefix(ATTEMPTS)?.rsplit_once('/')?;
        let (plan, story) = folder.split_once('/').unwrap_or(("", folder));
        let trailer = |key: &str| {
            let mut lines = contents.lines().rev();
            let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
            value.map(|value| value.trim().to_owned())
        };
        let story = trailer("Ralph-Story").unwrap_or_else(|| story.to_owned());
        let (subject, body) = contents.split_once('\n').unwrap_or((contents, ""));
        let details = body.lines().filter_map(|line| line.strip_prefix("    "));
        let cost = trailer("Ralph-Cost");
        Some(Self {
            id: format!("{story}/{number}"),
            name: name.to_owned(),
            commit: (*commit).to_owned(),
            base: parents.split_whitespace().next().map(str::to_owned),
            at: (*at).to_owned(),
            key: StoryKey::new(plan, &story),
            number: number.parse().ok()?,
            outcome: trailer("Ralph-Outcome"),
            why: subject.to_owned(),
            details: details.collect::<Vec<_>>().join("\n"),
            cost_usd: cost.and_then(|cost| cost.trim_start_matches('$').parse().ok()),
            tokens: trailer("Ralph-Tokens").and_then(|tokens| tokens.parse().ok()),
            run: trailer("Ralph-Run"),
            session: trailer("Ralph-Session"),
        })
    }
}

/// Returns the base for a diff: a commit, or the empty tree if there is none.
pub fn base_of(git: &Git, commit: Option<&str>) -> Result<String, GitError> {
    match commit {
        Some(commit) => Ok(commit.to_owned()),
        None => git.line(&["hash-object", "-t", "tree", "-w", "/dev/null"]),
    }
}

/// Returns all saved attempts, newest first.
pub fn all(git: &Git) -> Result<Vec<SavedAttempt>, GitError> {
    let at = "creatordate:format-local:%Y-%m-%d %H:%M";
    let format = ["refname", "objectname", "parent", at, "contents"].map(|f| format!("%({f})%00"));
    let format = format!("--format={}", format.concat());
    // Several may be saved within a second.
    let (by_name, by_date) = ("--sort=-version:refname", "--sort=-creatordate");
    let listed = git.run(&["for-each-ref", by_name, by_date, &format, ATTEMPTS])?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let parts: Vec<&str> = listed.split('\0').collect();
    let mut found: Vec<_> = parts.chunks_exact(5).filter_map(SavedAttempt::parse).collect();
    if git.dir().join(FLEET).is_file() {
        // Whatever a task recorded, an attempt that is not on the branch has not landed.
        let landed =
            git.line(&["for-each-ref", "--merged=HEAD", "--format=%(refname)", ATTEMPTS])?;
        let has_landed = |attempt: &SavedAttempt| landed.lines().any(|name| name == attempt.name);
        for attempt in found.iter_mut().filter(|one| one.outcome.is_none() && !has_landed(one)) {
            attempt.outcome = Some(OVERTAKEN.to_owned());
            "another story landed first".clone_into(&mut attempt.why);
        }
    }
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    found.iter().for_each(|attempt| *uses.entry(attempt.id.clone()).or_default() += 1);
    for attempt in &mut found {
        if uses.get(&attempt.id).is_some_and(|uses| *uses > 1) && !attempt.key.plan.is_empty() {
            attempt.id = format!("{}/{}", attempt.key, attempt.number);
        }
    }
    Ok(found)
}

/// Returns all saved attempts, newest first, without requests for a retry.
pub fn tried(git: &Git) -> Result<Vec<SavedAttempt>, GitError> {
    let mut found = all(git)?;
    found.retain(|attempt| !attempt.is_retry());
    Ok(found)
}

/// Returns the attempts at a story, newest first.
pub fn at_story(git: &Git, key: &StoryKey) -> Result<Vec<SavedAttempt>, GitError> {
    let mut found = all(git)?;
    found.retain(|attempt| attempt.is_at(key));
    Ok(found)
}

/// Returns the attempts with an id, newest first. A full id stands for that attempt only.
pub fn called(git: &Git, id: &str) -> Result<Vec<SavedAttempt>, GitError> {
    let mut found = tried(git)?;
    let whole = |attempt: &SavedAttempt| attempt.name.strip_prefix(ATTEMPTS) == Some(id);
    let is_whole = found.iter().any(whole);
    found.retain(|attempt| {
        if is_whole { whole(attempt) } else { is_called(&attempt.key, attempt.number, id) }
    });
    Ok(found)
}

/// Returns the command that reopens a story; `has_plan` adds the plan to the id.
pub fn retry_command(key: &StoryKey, has_plan: bool) -> String {
    let plan = if has_plan { format!("{}/", key.plan) } else { String::new() };
    format!("ralph-loop retry {plan}{}", key.story)
}

/// Returns the number of the next attempt after these.
pub fn number_after(attempts: &[SavedAttempt]) -> u64 {
    attempts.iter().map(|attempt| attempt.number).max().unwrap_or(0) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_read_with_and_without_a_plan() {
        let message = "`sh t.sh` failed\n\n    Ralph-Outcome: landed\n    not ok\n\n\
                       Ralph-Story: a.b\nRalph-Outcome: failed\nRalph-Cost: $0.5000\n\
                       Ralph-Session: s1\n";
        let parsed = |name: &str| SavedAttempt::parse(&[name, "aa", "bb cc", "2026", message]);
        let old = parsed("refs/ralph/attempts/a_b/2").unwrap();
        let new = parsed("refs/ralph/attempts/PRD-1/a_b/2").unwrap();
        assert_eq!(
            [&old.key, &new.key],
            [&StoryKey::new("", "a.b"), &StoryKey::new("PRD-1", "a.b")]
        );
        assert_eq!((new.id.as_str(), new.outcome.as_deref()), ("a.b/2", Some("failed")));
        assert_eq!((new.why.as_str(), new.base.as_deref()), ("`sh t.sh` failed", Some("bb")));
        assert_eq!(new.details, "Ralph-Outcome: landed\nnot ok");
        assert_eq!((new.cost_usd, new.session.as_deref()), (Some(0.5), Some("s1")));
        let in_other_plan = StoryKey::new("PRD-2", "A.B");
        assert!(old.is_at(&in_other_plan) && !new.is_at(&in_other_plan));
        for id in ["a.b", "prd-1/a.b", "A.B/2", "PRD-1/a.b/2"] {
            assert!(is_called(&new.key, new.number, id), "{id}");
        }
    }
}
