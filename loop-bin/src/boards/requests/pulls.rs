//! Opens the pull requests of stories, and tracks their state.

use std::collections::BTreeMap;

use ralph_base::state::Event;
use ralph_core::git::GitError;
use ralph_core::plan::{self, Plan, State, Story};

use super::Requests;
use super::server::of_story;
use crate::boards::fleet::has_moved;
use crate::exit::Failure;
use crate::forge::{PullRequest, Request};
use crate::receipts::advice;
use board::{forget, push_notes, resolve};

/// The note on a pull request whose checks failed on the forge.
const RED: &str = "its checks failed on the forge";

/// The note on a merged pull request, until the local plan has the merge.
const MERGED: &str = "merged; run `git pull` to get it";

impl Requests<'_> {
    /// Pushes a story's work, replacing the story's branch on the server, and opens its pull request.
    pub(super) fn push(&self, story: &Story) -> Result<(), Failure> {
        let (branch, ours) = (self.branch(story), self.ours(story));
        let known = resolve(&self.git, &self.tracking(&branch))?.unwrap_or_default();
        let lease = format!("--force-with-lease=refs/heads/{branch}:{known}");
        let spec = format!("refs/heads/{ours}:refs/heads/{branch}");
        let push = ["push", "--quiet", &lease, &self.remote, &spec];
        if let Err(error) = push_notes(&self.git, &self.remote) {
            log::warn!("the receipts could not be pushed: {error}");
        }
        let pushed = self.patiently(|| Ok(self.git.run(&push).map(drop)?));
        if let Err(failure) = pushed {
            if has_moved(&failure.to_string()) {
                // It has been merged meanwhile, or somebody has pushed to it; our work is saved as an attempt.
                return Ok(forget(&self.git, &format!("refs/heads/{ours}"))?);
            }
            if let Failure::Away(_) = failure {
                return Err(failure);
            }
            let why = refusal(&failure).unwrap_or_else(|| failure.to_string());
            let why = format!("the server refused its push: {why}");
            self.note(story, None, Some(why.clone()))?;
            return Err(Failure::because(format!(
                "{} passed its checks and is kept on {ours}, but {why}; allow the push, then run the \
                 command again to push this work",
                story.id
            )));
        }
        self.open(story)?;
        Ok(forget(&self.git, &format!("refs/heads/{ours}"))?)
    }

    /// Opens a branch's pull request with the commit message as its text.
    pub(super) fn open(&self, story: &Story) -> Result<(), Failure> {
        let (branch, root) = (self.branch(story), self.project.root());
        let tip = self.tracking(&branch);
        let message = |part| self.git.line(&["log", "-1", &of_story(story), part, &tip]);
        let (title, body) = (message("--format=%s")?, message("--format=%b")?);
        let body = body + &advice(&self.git, &self.tracking(&self.target), &tip)?;
        let (title, body) = (title.as_str(), body.as_str());
        let text = PullRequest { branch: &branch, title, body, is_draft: false, replaces: true };
        // It may be merged at any moment, even while it is being opened.
        if self.is_done_now(story)? {
            return Ok(());
        }
        let opened = self.patiently(|| self.forge.open(root, &text));
        if opened.is_err() && self.is_done_now(story)? {
            return Ok(());
        }
        let address = match opened {
            Ok(address) => address,
            Err(failure) => {
                self.note(story, None, Some(failure.to_string()))?;
                return Err(failure);
            }
        };
        self.merge_later(story, address)
    }

    /// Enables auto-merge for a pull request.
    pub(super) fn merge_later(&self, story: &Story, address: String) -> Result<(), Failure> {
        let (branch, root) = (self.branch(story), self.project.root());
        let by_hand = self.forge.merge_later(root, &branch, &address).err();
        let by_hand = by_hand.map(|why| format!("merge it by hand: {why}"));
        let then = by_hand.as_deref().unwrap_or("to be merged as soon as the forge allows");
        self.say(format!("{}: {address}; {then}", story.id));
        self.note(story, Some(address), by_hand)
    }

    /// The newest pull request of a branch.
    pub(super) fn request_of(&self, branch: &str) -> Result<Option<Request>, Failure> {
        self.patiently(|| self.forge.request_of(self.project.root(), branch))
    }

    /// The open local stories with known pull requests: the address, and why a person must act.
    pub(super) fn requested(&self) -> Result<BTreeMap<String, (String, Option<String>)>, Failure> {
        let mut history = self.history()?;
        history.add_plans([&plan::load(&self.plan_here(), &self.config.plan)?]);
        let requests = history.requests_of_stories().into_iter();
        let known = |address: &str, why: Option<&str>| (address.to_owned(), why.map(str::to_owned));
        Ok(requests.map(|(key, address, why)| (key.story.clone(), known(address, why))).collect())
    }

    /// Reports an open pull request when it is first seen, or when its checks have changed.
    pub(super) fn see(&self, story: &Story, address: String, is_red: bool) -> Result<(), Failure> {
        let known = self.requested()?.remove(&story.id).map(|(_, why)| why);
        let was_red = known.as_ref().is_some_and(|why| why.as_deref() == Some(RED));
        let is_new =
            self.history()?.find(&self.run).is_some_and(|run| run.asked_for(&self.key(story)));
        if was_red != is_red || !is_new && known != Some(None) {
            // A killed run opened it, or the forge refused to enable auto-merge.
            self.merge_later(story, address.clone())?;
        }
        if is_red {
            self.say(format!("{}: {address}: {RED}", story.id));
            self.note(story, Some(address), Some(RED.to_owned()))?;
        }
        Ok(())
    }

    /// Records merged pull requests; returns how many there are.
    pub(super) fn note_merged(&self, plan: &Plan) -> Result<u64, Failure> {
        let mut count = 0;
        for (id, (address, why)) in self.requested()? {
            let story = plan.story(&id).filter(|story| story.state == State::Done);
            if let Some(story) = story
                && why.as_deref() != Some(MERGED)
            {
                self.say(format!("{id}: merged"));
                self.note(story, Some(address), Some(MERGED.to_owned()))?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// Records the state of a story's pull request.
    pub(super) fn note(
        &self,
        story: &Story,
        address: Option<String>,
        why: Option<String>,
    ) -> Result<(), Failure> {
        self.append(Some(story), &Event::PullRequest { address, why })
    }
}

/// The line with which a server refused a push for good, if it did.
fn refusal(failure: &Failure) -> Option<String> {
    let Failure::Error(error) = failure else { return None };
    let Some(GitError::Failed { stderr, .. }) = error.downcast_ref() else { return None };
    let is_refused = |line: &&str| {
        ["[remote rejected]", "denied", "error: 403"].iter().any(|words| line.contains(words))
    };
    let refused = stderr.lines().rfind(is_refused)?;
    let mut said = stderr.lines().filter_map(|line| line.trim().strip_prefix("remote: "));
    Some(said.rfind(|line| !line.trim().is_empty()).unwrap_or(refused).trim().to_owned())
}
