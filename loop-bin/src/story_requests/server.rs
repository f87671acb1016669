//! What the server has, and what is pushed to it.

use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::{self, Event, StoryKey, plan_name};
use ralph_core::git::GitError;
use ralph_core::plan::{self, Plan, State, Story};
use run_history::LOOP;

use super::{PAUSE, Requests};
use crate::exit::Failure;
use crate::fleet::{has_moved, named};
use crate::forge::{PullRequest, Request, default_branch};
use crate::run::record::journal;
use crate::run::start::{name_in_branch, take_lock};
use crate::saved::{self, SavedAttempt};
use board::{forget, is_ancestor, resolve};

/// What is to be done about a story that is not done on the server.
pub(super) enum Due {
    /// Work, from the start.
    Work,
    /// Its branch does not fit the target any more.
    Rebase(String),
    /// Its work passed, and is not on the server.
    Push,
    /// Its branch has no pull request yet.
    Open,
    /// Its pull request is yet to be merged.
    Wait(String),
    /// A person is to decide, about its pull request if there is one.
    Person(Option<String>, String),
}

impl Requests<'_> {
    /// Finds the branch that is meant, and refuses a plan that is not the server's.
    pub(super) fn begin(&mut self) -> Result<(), Failure> {
        self.lock.set(Some(take_lock(&self.run_dir, LOOP)?));
        self.fetch()?;
        if self.target.is_empty() {
            self.target = default_branch(&self.git, &self.remote);
        }
        if self.target.is_empty() {
            let said = self.git.line(&["ls-remote", "--symref", &self.remote, "HEAD"])?;
            let name = said.strip_prefix("ref: refs/heads/").and_then(|it| it.split('\t').next());
            let none =
                || Failure::because("the server has no default branch; name one with --branch");
            name.ok_or_else(none)?.clone_into(&mut self.target);
        }
        self.check(&self.plan_on_server()?)?;
        // Before the first agent: one who is not logged in is told now.
        self.forge.request_of(self.project.root(), &self.target)?;
        let mut record = self.record()?;
        record.process.server = self.tracking(&self.target);
        record.save(&self.run_dir)?;
        self.append(
            None,
            &Event::LoopStarted {
                mode: "building".to_owned(),
                plan: self.plan_here().into_string(),
                branch: self.target.clone(),
                unguarded: None,
                sandbox: None,
            },
        )
    }

    /// What is to be done about a story.
    pub(super) fn due(&self, story: &Story) -> Result<Due, Failure> {
        let branch = self.branch(story);
        let ours = resolve(&self.git, &format!("refs/heads/{}", self.ours(story)))?;
        let theirs = resolve(&self.git, &self.tracking(&branch))?;
        let others = theirs.as_deref().map_or(Ok(false), |tip| self.has_others(tip))?;
        if ours.as_deref().map_or(Ok(false), |tip| self.has_others(tip))? {
            let name = self.ours(story);
            let why = format!("{name} has commits of yours; rename that branch");
            return Ok(Due::Person(None, why));
        }
        if self.is_asked(story)? && !others {
            return Ok(Due::Work);
        }
        if let Some(tip) = ours.filter(|tip| theirs.as_ref() != Some(tip))
            && self.has_story(story, &tip)?
        {
            return Ok(Due::Push);
        }
        let Some(tip) = theirs else { return Ok(Due::Work) };
        if is_ancestor(&self.git, &tip, &self.tracking(&self.target))? {
            return Ok(Due::Work);
        }
        if !self.has_story(story, &tip)? {
            let name = format!("{branch} on {}", self.remote);
            let why = format!("{name} has other work; rename or delete that branch");
            return Ok(Due::Person(None, why));
        }
        let retry = format!("`ralph-loop retry {}` tries again", story.id);
        Ok(match self.request_of(&branch)? {
            None => Due::Open,
            Some(Request { state, address }) => match state.to_ascii_uppercase().as_str() {
                // Perhaps since the last fetch.
                "MERGED" if self.is_done_now(story)? => Due::Wait(address),
                "MERGED" => Due::Work,
                "CLOSED" => Due::Person(None, format!("{address} was closed; {retry}")),
                _ if self.conflicts(&tip)? && others => {
                    let target = &self.target;
                    let why = format!(
                        "it conflicts with {target} and has commits of others; resolve that by hand"
                    );
                    Due::Person(Some(address), why)
                }
                _ if self.conflicts(&tip)? => Due::Rebase(tip),
                _ => Due::Wait(address),
            },
        })
    }

    /// Whether the server's plan has it done by now.
    fn is_done_now(&self, story: &Story) -> Result<bool, Failure> {
        self.fetch()?;
        let plan = self.plan_on_server()?;
        Ok(plan.story(&story.id).is_some_and(|it| it.state == State::Done))
    }

    /// Whether `ralph-loop retry` asks for it.
    fn is_asked(&self, story: &Story) -> Result<bool, Failure> {
        let newest = saved::newest(saved::at_story(&self.git, &self.key(story))?);
        Ok(newest.as_ref().is_some_and(SavedAttempt::is_retry))
    }

    /// Pushes the work of a story over what its branch on the server has, and opens its pull request.
    pub(super) fn push(&self, story: &Story) -> Result<(), Failure> {
        let (branch, ours) = (self.branch(story), self.ours(story));
        let known = resolve(&self.git, &self.tracking(&branch))?.unwrap_or_default();
        let lease = format!("--force-with-lease=refs/heads/{branch}:{known}");
        let spec = format!("refs/heads/{ours}:refs/heads/{branch}");
        let pushed = self.git.run(&["push", "--quiet", &lease, &self.remote, &spec]);
        if let Err(GitError::Failed { stderr, .. }) = &pushed
            && has_moved(stderr)
        {
            // It was merged in the meantime, or somebody works on it; ours is kept as an attempt.
            return Ok(forget(&self.git, &format!("refs/heads/{ours}"))?);
        }
        if let Err(error) = pushed {
            let failure = Failure::from(error);
            let why = refusal(&failure).unwrap_or_else(|| failure.to_string());
            let why = format!("the server refused its push: {why}");
            self.note(story, None, Some(why.clone()))?;
            return Err(Failure::because(format!(
                "{} passed its checks and is kept on {ours}, but {why}; allow that push, then run the \
                 command again: it pushes the work that is there",
                story.id
            )));
        }
        self.open(story)?;
        Ok(forget(&self.git, &format!("refs/heads/{ours}"))?)
    }

    /// Opens the pull request of a branch, with the commit's message as its text.
    pub(super) fn open(&self, story: &Story) -> Result<(), Failure> {
        let (branch, root) = (self.branch(story), self.project.root());
        let tip = self.tracking(&branch);
        let message = |part| self.git.line(&["log", "-1", &of_story(story), part, &tip]);
        let (title, body) = (message("--format=%s")?, message("--format=%b")?);
        let (title, body) = (title.as_str(), body.as_str());
        let text = PullRequest { branch: &branch, title, body, is_draft: false, replaces: true };
        let opened = match self.request_of(&branch)? {
            // What was pushed came too late, unless that was an earlier one.
            Some(Request { state, .. })
                if state.eq_ignore_ascii_case("merged") && self.is_done_now(story)? =>
            {
                return Ok(());
            }
            _ => self.forge.open(root, &text),
        };
        let address = match opened {
            Ok(address) => address,
            Err(failure) => {
                self.note(story, None, Some(failure.to_string()))?;
                return Err(failure);
            }
        };
        self.merge_later(story, address)
    }

    /// Has a pull request merged as soon as the forge allows.
    pub(super) fn merge_later(&self, story: &Story, address: String) -> Result<(), Failure> {
        let (branch, root) = (self.branch(story), self.project.root());
        let by_hand = self.forge.merge_later(root, &branch, &address).err();
        let by_hand = by_hand.map(|why| format!("merge it by hand: {why}"));
        let then = by_hand.as_deref().unwrap_or("it is merged as soon as the forge allows");
        self.say(format!("{}: {address}; {then}", story.id));
        self.note(story, Some(address), by_hand)
    }

    /// Refuses a plan whose open stories are not those that the server has.
    fn check(&self, theirs: &Plan) -> Result<(), Failure> {
        let ours = plan::load(&self.plan_here(), &self.config.plan)?;
        let text =
            |story: &Story| (story.title.clone(), story.details.clone(), story.depends.clone());
        let differs = |story: &&Story| {
            let other = theirs.story(&story.id);
            let is_same = |other: &Story| match other.state {
                State::Open => text(other) == text(story),
                // It was merged, and is asked for again.
                _ => !self.is_asked(story).unwrap_or_default(),
            };
            story.state == State::Open && !other.is_some_and(is_same)
        };
        let Some(story) = ours.stories().iter().find(differs) else { return Ok(()) };
        Err(Failure::because(format!(
            "{} in {} is not what {} on the server has, and `--pr story` works on what is there; \
             commit and push the plan (or pull it), then run the command again",
            story.id, self.plan, self.target
        )))
    }

    /// The server's plan, with what is blocked here.
    pub(super) fn plan_on_server(&self) -> Result<Plan, Failure> {
        let name = format!("{}:{}", self.tracking(&self.target), self.plan);
        let text = self.git.run(&["show", &name]).map_err(|_| {
            Failure::because(format!(
                "{} on the server has no {}; commit and push the plan, then run the command again",
                self.target, self.plan
            ))
        })?;
        let path = self.plan_here();
        let mut plan = Plan::parse(&path, text, &self.config.plan)?;
        let ours = plan::load(&path, &self.config.plan)?;
        for story in ours.stories().iter().filter(|story| story.state == State::Blocked) {
            if plan.story(&story.id).is_some_and(|one| one.state == State::Open) {
                plan = Plan::parse(&path, plan.block(&story.id)?, &self.config.plan)?;
            }
        }
        Ok(plan)
    }

    /// Fetches the server's branches.
    pub(super) fn fetch(&self) -> Result<(), Failure> {
        self.patiently(|| {
            let fetched = self.git.run(&["fetch", "--quiet", "--prune", &self.remote]);
            fetched.map(drop).map_err(|error| {
                let said = match &error {
                    GitError::Failed { stderr, .. } => stderr.lines().next().unwrap_or_default(),
                    _ => &error.to_string(),
                };
                Failure::because(format!("cannot fetch from {}: {said}", self.remote))
            })
        })
    }

    /// The newest pull request of a branch.
    fn request_of(&self, branch: &str) -> Result<Option<Request>, Failure> {
        self.patiently(|| self.forge.request_of(self.project.root(), branch))
    }

    /// Tries again for a while what a server does not answer.
    fn patiently<T>(&self, act: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
        let limit = self.config.run.wait.limit().unwrap_or(Duration::MAX);
        let (since, mut is_said) = (Instant::now(), false);
        loop {
            let failure = match act() {
                Err(failure) => failure,
                done => return done,
            };
            let left = limit.saturating_sub(since.elapsed());
            if left.is_zero() || self.interrupts.count() > 0 {
                return Err(failure);
            }
            if !is_said {
                self.say(format!("{failure}; trying again"));
                is_said = true;
            }
            self.interrupts.wait(left.min(PAUSE));
        }
    }

    /// Whether a branch cannot be merged as it is.
    fn conflicts(&self, tip: &str) -> Result<bool, Failure> {
        let target = self.tracking(&self.target);
        let merge = ["merge-tree", "--write-tree", "--name-only", &target, tip];
        match self.git.run(&merge) {
            Err(GitError::Failed { code: Some(1), .. }) => Ok(true),
            // An older git cannot tell.
            _ => Ok(false),
        }
    }

    /// Whether a branch has commits that no run made: those are not replaced.
    fn has_others(&self, tip: &str) -> Result<bool, Failure> {
        let range = format!("{}..{tip}", self.tracking(&self.target));
        let others = ["log", "-1", "--format=%H", "--no-merges", "--invert-grep", "--grep=^Ralph-"];
        Ok(!self.git.line(&[&others[..], &[&range]].concat())?.is_empty())
    }

    /// Whether a branch has a commit of the story that the target lacks.
    pub(super) fn has_story(&self, story: &Story, tip: &str) -> Result<bool, Failure> {
        let range = format!("{}..{tip}", self.tracking(&self.target));
        let log = ["log", "-1", "--format=%H", &of_story(story), &range];
        Ok(!self.git.line(&log)?.is_empty())
    }

    pub(super) fn plan_here(&self) -> Utf8PathBuf {
        let top = self.git.dir();
        Utf8Path::from_path(top).map_or_else(|| self.plan.clone(), |top| top.join(&self.plan))
    }

    pub(super) fn key(&self, story: &Story) -> StoryKey {
        StoryKey::new(&plan_name(self.project.root(), &self.plan_here()), &story.id)
    }

    /// The name of the branch that the pull request of a story has.
    pub(super) fn branch(&self, story: &Story) -> String {
        let plan = name_in_branch(&self.plan_here(), &self.config.plan.tag);
        named(&format!("{plan}-{}", story.id))
    }

    /// The name of the branch here, until it is pushed. A person may have checked out the other one.
    pub(super) fn ours(&self, story: &Story) -> String {
        format!("ralph-pr/{}", self.branch(story))
    }

    pub(super) fn tracking(&self, branch: &str) -> String {
        format!("refs/remotes/{}/{branch}", self.remote)
    }

    /// The stories whose pull requests are known and not known to be merged.
    pub(super) fn requested(&self) -> Result<Vec<String>, Failure> {
        let mut history = self.history()?;
        history.see_plans([&plan::load(&self.plan_here(), &self.config.plan)?]);
        Ok(history.requested().into_iter().map(|(key, _)| key.story.clone()).collect())
    }

    /// Writes down which pull requests were merged; returns how many.
    pub(super) fn note_merged(&self, plan: &Plan) -> Result<u64, Failure> {
        let mut count = 0;
        for id in self.requested()? {
            let story = plan.story(&id).filter(|story| story.state == State::Done);
            if let Some(story) = story {
                self.say(format!("{id}: merged"));
                self.note(story, None, None)?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// Writes down what became of the pull request of a story.
    pub(super) fn note(
        &self,
        story: &Story,
        address: Option<String>,
        why: Option<String>,
    ) -> Result<(), Failure> {
        self.append(Some(story), &Event::PullRequest { address, why })
    }

    pub(super) fn append(&self, story: Option<&Story>, event: &Event) -> Result<(), Failure> {
        let key = story.map(|story| self.key(story));
        let journal = journal(self.project.own_state(), self.config, &self.run, key.as_ref());
        Ok(journal.append(event)?)
    }

    /// Marks a story as blocked in the user's plan: what is on the server changes only by pull requests.
    pub(super) fn block(&self, story: &Story) -> Result<(), Failure> {
        let plan = plan::load(&self.plan_here(), &self.config.plan)?;
        if plan.story(&story.id).is_some_and(|one| one.state == State::Open) {
            state::replace_users(plan.path(), &plan.block(&story.id)?)?;
        }
        self.say(format!("{} is blocked, in the plan here", story.id));
        Ok(saved::forget_wish(&self.git, &self.key(story))?)
    }
}

/// Has `git log` find the commits of a story.
fn of_story(story: &Story) -> String {
    format!("--grep=^Ralph-Story: {}$", story.id)
}

/// What a server said that refuses a push for good, in a line.
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
