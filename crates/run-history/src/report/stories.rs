//! The stories of a report: those that landed, and those that are not done.

use std::collections::{BTreeMap, BTreeSet};

use ralph_base::state::StoryKey;
use ralph_core::git::GitError;
use ralph_core::plan::State;
use serde::Serialize;

use super::commits::{Landed, landed};
use super::page::Sources;
use crate::failing::{cause, without_rulers};
use crate::forecast::CostSum;
use crate::needs::{Situation, may_be_done};
use crate::run::{Attempt, tests_passed};
use crate::saved::SavedAttempt;
use crate::words::{block, dollars, epoch, hour, line, time};

/// How many bytes of a diff are kept.
const LONGEST_DIFF: usize = 60_000;

/// How many attempts are shown with their diff.
const MOST_DIFFS: usize = 60;

/// How the note of an open story begins if the story cannot be started yet.
const WAITS: &str = "waits for ";

/// A story.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct StoryPart {
    pub(crate) story: String,
    pub(crate) title: String,
    /// `proven`, `checked`, `to review`, `unchecked`, `blocked`, `open` or `under way`.
    pub(crate) state: &'static str,
    /// Whether it landed, to review or not.
    pub(crate) done: bool,
    /// What to review, why it is blocked, or what it waits for.
    pub(crate) why: String,
    /// The stories that wait for it, and the command that reopens it, if it is blocked.
    pub(crate) keeps_waiting: String,
    pub(crate) retry: String,
    /// The landed commit; this and the following details are empty if it did not land.
    pub(crate) commit: String,
    /// The address of its pull request, until that is merged.
    pub(crate) request: String,
    pub(crate) tests: String,
    pub(crate) stat: String,
    pub(crate) checks: String,
    pub(crate) proof: String,
    pub(crate) review: String,
    pub(crate) agent: String,
    pub(crate) claim: String,
    /// The command that prints its receipt, if it has one.
    pub(crate) receipt: String,
    pub(crate) worker: Option<String>,
    /// All attempts of the run, and those that failed.
    pub(crate) attempts: usize,
    pub(crate) failed: Vec<Tried>,
    pub(crate) time: String,
    pub(crate) cost: String,
    pub(crate) failed_cost: String,
}

/// A failed attempt.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Tried {
    pub(crate) id: String,
    pub(crate) worker: Option<String>,
    pub(crate) outcome: String,
    pub(crate) why: String,
    /// The failing assertion, and the whole output if that shows more.
    pub(crate) cause: String,
    pub(crate) failing: String,
    pub(crate) files: String,
    pub(crate) cost: String,
    pub(crate) at: String,
    pub(crate) diff: String,
    pub(crate) commands: Vec<String>,
}

impl StoryPart {
    /// Returns its state as a CSS class.
    pub(super) fn class(&self) -> String {
        self.state.replace(' ', "-")
    }

    pub(super) fn anchor(&self) -> String {
        let safe = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        format!("story-{}", self.story.chars().map(safe).collect::<String>())
    }

    /// Whether it landed and a person should look at it.
    pub(super) fn needs_review(&self) -> bool {
        self.done && !self.why.is_empty()
    }

    pub(super) fn waits(&self) -> bool {
        self.why.starts_with(WAITS)
    }

    pub(super) fn may_be_done(&self) -> bool {
        may_be_done(self.failed.iter().all(|tried| tried.files.is_empty()), &self.why)
    }

    /// Returns why the last attempt failed, or why the story is in its state.
    pub(super) fn note(&self) -> &str {
        let last = if self.state == "blocked" { self.failed.last() } else { None };
        last.map_or(&self.why, |last| &last.why)
    }
}

impl Sources<'_> {
    fn attempts_at<'a>(&'a self, key: &'a StoryKey) -> impl Iterator<Item = &'a Attempt> {
        self.run.attempts.iter().filter(move |attempt| attempt.key == *key)
    }

    /// Returns stories of other plans in the order in which they began, then those of the plan.
    pub(super) fn stories(&self, situation: &Situation) -> Result<Vec<StoryPart>, GitError> {
        let landed_at = self.run.landed();
        let ids: Vec<&str> = landed_at.iter().filter_map(|one| one.commit.as_deref()).collect();
        let commits = landed(self.git, &ids, &situation.own_files)?;
        let (mut tests, mut before) = (BTreeMap::new(), tests_passed(&self.run.baseline));
        for attempt in landed_at {
            let after = tests_passed(&attempt.checks);
            tests.insert(&attempt.key, (before, after));
            before = after.or(before);
        }
        let own = &self.history.stories;
        let mut seen: BTreeSet<&StoryKey> = own.iter().map(|story| &story.key).collect();
        let begun = self.run.attempts.iter().filter(|one| !one.key.story.is_empty());
        let others = begun.filter(|one| seen.insert(&one.key)).map(|one| (&one.key, &one.title));
        let (requests, mut parts, mut diffs) = (self.history.requests_of_stories(), Vec::new(), 0);
        for (key, title) in others.chain(own.iter().map(|story| (&story.key, &story.title))) {
            let mut part = self.part(key, title, &commits);
            if let Some((before, Some(after))) = tests.get(key) {
                let before = before.map(|before| format!("{before} → ")).unwrap_or_default();
                part.tests = format!("{before}{after}");
            }
            let request = requests.iter().find(|(other, ..)| *other == key);
            part.request = request.map(|(_, address, _)| (*address).to_owned()).unwrap_or_default();
            part.failed = self.tried(key, part.state == "blocked", &mut diffs)?;
            parts.push(part);
        }
        // Stories that an earlier run landed are left out.
        parts.retain(|part| !part.state.is_empty());
        Ok(parts)
    }

    fn part(&self, key: &StoryKey, title: &str, commits: &BTreeMap<String, Landed>) -> StoryPart {
        let all = || self.attempts_at(key);
        let landed = all().filter_map(|one| Some((one, one.commit.as_deref()?))).last();
        let mut part = StoryPart {
            story: line(&self.history.name(self.run, key)),
            title: line(title),
            attempts: all().count(),
            failed_cost: CostSum::of(all().filter(|one| one.is_failed()), self.price).short(),
            ..StoryPart::default()
        };
        let cost = CostSum::of(all(), self.price);
        if part.attempts > 0 {
            (part.cost, part.time) = (cost.short(), time(cost.seconds));
        }
        if let Some(blocked) = self.needs.stories.iter().find(|story| story.key == *key) {
            (part.state, part.why) = ("blocked", line(&blocked.why));
            part.keeps_waiting = line(&blocked.waits.join(", "));
            part.retry = line(&format!("{} --hint \"…\"", blocked.retry()));
        } else if self.is_running && all().any(|one| one.outcome.is_empty()) {
            part.state = "under way";
        } else if let Some((attempt, id)) = landed {
            self.review.of(key).clone_into(&mut part.why);
            part.state = self.review.state_of(key);
            part.done = true;
            part.worker.clone_from(&attempt.worker);
            part.commit = id.chars().take(8).collect();
            let commit = commits.get(id).cloned().unwrap_or_default();
            part.checks = commit.trailer("Ralph-Checks:");
            part.proof = commit.trailer("Ralph-Proof:");
            part.review = commit.trailer("Ralph-Review:");
            part.agent = commit.trailer("Ralph-Agent:");
            part.claim = commit.claim();
            if commit.has_receipt {
                part.receipt = format!("git notes --ref=ralph show {}", part.commit);
            }
            part.stat = commit.stat;
        } else if !self.is_settled(key) {
            (part.state, part.why) = ("open", self.note(key));
        }
        part
    }

    /// Whether a story was done before, or need not be done.
    fn is_settled(&self, key: &StoryKey) -> bool {
        let mut stories = self.history.stories.iter();
        let found = stories.find(|story| story.key == *key);
        found.is_some_and(|story| story.state == State::Done || story.is_optional)
    }

    /// Returns what an open story waits for, or the result of its newest failed attempt.
    fn note(&self, key: &StoryKey) -> String {
        let stories = &self.history.stories;
        let depends = stories.iter().find(|story| story.key == *key).map(|story| &story.depends);
        let awaited = stories.iter().find(|other| {
            other.key.plan == key.plan
                && other.state != State::Done
                && depends.is_some_and(|depends| depends.contains(&other.key.story))
        });
        let mut tried = self.history.saved.iter().filter(|saved| saved.is_at(key));
        match (awaited, tried.find(|saved| saved.is_failed())) {
            (Some(other), _) => format!("{WAITS}{}", other.key.story),
            (None, Some(SavedAttempt { id, why, .. })) => {
                line(&format!("tried: {why}; `ralph-loop attempts {id}`"))
            }
            (None, None) => String::new(),
        }
    }

    /// Returns the failed attempts at a story in the run, and earlier ones while it is blocked.
    fn tried(
        &self,
        key: &StoryKey,
        is_blocked: bool,
        diffs: &mut usize,
    ) -> Result<Vec<Tried>, GitError> {
        let failed: Vec<&Attempt> = self.attempts_at(key).filter(|one| one.is_failed()).collect();
        let saved = self.history.saved.iter().rev();
        let saved: Vec<_> = saved.filter(|one| one.is_failed() && one.is_at(key)).collect();
        let is_earlier = |one: &SavedAttempt| failed.iter().all(|of| of.number != one.number);
        let earlier = saved.iter().filter(|one| is_blocked && is_earlier(one));
        let of_run = failed.iter().map(|attempt| {
            (Some(*attempt), saved.iter().find(|one| one.number == attempt.number).copied())
        });
        let all = earlier.map(|one| (None, Some(*one))).chain(of_run);
        all.map(|(attempt, saved)| self.one_tried(attempt, saved, diffs)).collect()
    }

    fn one_tried(
        &self,
        attempt: Option<&Attempt>,
        saved: Option<&SavedAttempt>,
        diffs: &mut usize,
    ) -> Result<Tried, GitError> {
        let mut tried = Tried::default();
        if let Some(saved) = saved {
            let files = saved.changes(self.git, &["diff", "--name-only", "-z"])?;
            let files = String::from_utf8_lossy(&files).trim_end_matches('\0').replace('\0', ", ");
            if *diffs < MOST_DIFFS {
                let mut diff = saved.changes(self.git, &["diff", "--no-ext-diff", "--no-color"])?;
                diff.truncate(LONGEST_DIFF);
                tried.diff = block(&String::from_utf8_lossy(&diff));
                *diffs += 1;
            }
            let output = without_rulers(&block(&saved.details));
            tried.cause = cause(&output);
            if output.lines().count() > tried.cause.lines().count() {
                tried.failing = output;
            }
            (tried.id, tried.why, tried.files) = (line(&saved.id), line(&saved.why), line(&files));
            tried.at.clone_from(&saved.at);
            tried.outcome = saved.outcome.clone().unwrap_or_default();
            tried.cost = saved.cost_usd.map_or_else(|| "cost unknown".to_owned(), dollars);
            let looks = ["attempts", "attempts take"].map(|look| format!("ralph-loop {look} "));
            tried.commands = looks.map(|look| look + &tried.id).to_vec();
        }
        if let Some(attempt) = attempt {
            if saved.is_none() {
                let name = line(&self.history.name(self.run, &attempt.key));
                tried.id = format!("{name}/{}", attempt.number);
                tried.why = line(attempt.why.as_deref().unwrap_or_default());
                tried.outcome = attempt.outcome.replace('_', " ");
            }
            tried.worker.clone_from(&attempt.worker);
            tried.at = epoch(&attempt.began_at).map(hour).unwrap_or_default();
            tried.cost = CostSum::of([attempt], self.price).to_string();
            tried.commands.push(format!("ralph-loop logs {}", tried.id));
        }
        Ok(tried)
    }
}
