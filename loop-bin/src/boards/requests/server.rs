//! The server's state, as far as it concerns stories.

use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::{Event, StoryKey, plan_name};
use ralph_core::git::GitError;
use ralph_core::plan::{self, Plan, State, Story};
use run_history::{LOOP, REQUESTS};

use super::{INCOMPLETE, PAUSE, Requests};
use crate::boards::fleet::{has_moved, named};
use crate::exit::Failure;
use crate::forge::default_branch;
use crate::in_task;
use crate::plan_choice::with_given_up;
use crate::record::take_lock;
use crate::run::observe::Audience;
use crate::run::start::name_in_branch;
use crate::run::{echo, journal};
use crate::saved::{self, SavedAttempt};
use board::{forget, is_ancestor, resolve};

/// Messages of forges and servers after which another try is pointless.
const FINAL: [&str; 12] = [
    "auth login",
    "logged in",
    "HTTP 401",
    "HTTP 403",
    "HTTP 404",
    "HTTP 422",
    "not allowed",
    "GraphQL",
    "rejected]",
    "denied",
    "error: 403",
    "stale info",
];

/// How long to wait for the project's lock at the start.
const PATIENCE: Duration = Duration::from_secs(3);

/// The next step for a story that is not done on the server.
pub(super) enum Due {
    /// Work on it from the start.
    Work,
    /// Rebase this commit of its branch, which conflicts with the target.
    Rebase(String),
    /// Push its checked work.
    Push,
    /// Open a pull request for its branch.
    Open,
    /// Wait until its pull request is merged; with whether its checks failed on the forge.
    Wait(String, bool),
    /// Ask a person to decide; with the address of its pull request, if any.
    Person(Option<String>, String),
}

/// Whether another try may help: not after a refusal.
pub(super) fn may_pass(failure: &Failure) -> bool {
    let said = failure.to_string();
    !has_moved(&said) && !FINAL.iter().any(|words| said.contains(words))
}

impl Requests<'_> {
    /// Determines the target branch, and refuses a plan that differs from the server's.
    pub(super) fn begin(&mut self) -> Result<(), Failure> {
        let begun = Instant::now();
        let lock = loop {
            match take_lock(&self.run_dir, LOOP) {
                // The child process of a killed run ends soon.
                Err(Failure::Locked(_)) if begun.elapsed() < PATIENCE => {
                    self.interrupts.wait(PATIENCE / 20);
                }
                lock => break lock?,
            }
        };
        self.lock.set(Some(lock));
        let mut record = self.record()?;
        record.process.pid = std::process::id();
        record.save(&self.run_dir)?;
        // No pull request has this branch, so this only shows whether the user is logged in.
        self.request_of(REQUESTS)?;
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
        let plan = self.plan_on_server()?;
        self.check(&plan)?;
        self.forget_merged(&plan)?;
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
                probed: None,
            },
        )
    }

    /// Runs the loop for one story; returns its exit code.
    pub(super) fn run_loop(&self, story: &Story, branch: &str) -> Result<u8, Failure> {
        let mut record = self.record()?;
        if record.process.run == self.run {
            // The time between stories counts too.
            record.process.elapsed_s = self.begun.elapsed().as_secs_f64();
            record.save(&self.run_dir)?;
        }
        drop(self.lock.take());
        let task = [&*self.run, branch, &self.config.plan.tag, &story.id];
        let code = in_task::run_loop(&self.interrupts, &task, |_| {});
        self.lock.set(Some(take_lock(&self.run_dir, LOOP)?));
        let code = code?;
        Ok(code.filter(|code| *code != INCOMPLETE).unwrap_or_default())
    }

    /// Removes local branches of merged stories, which a killed run left.
    fn forget_merged(&self, plan: &Plan) -> Result<(), Failure> {
        let list = ["for-each-ref", "--format=%(refname)", &format!("refs/heads/{REQUESTS}")];
        let there = self.git.line(&list)?;
        for story in plan.stories().iter().filter(|story| story.state == State::Done) {
            let name = format!("refs/heads/{}", self.ours(story));
            if there.lines().any(|line| line == name) && !self.has_others(&name)? {
                forget(&self.git, &name)?;
            }
        }
        Ok(())
    }

    /// Decides the next step for a story.
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
        if self.is_asked(story)? && others {
            let why = format!(
                "{branch} has commits of others, so it is not done again; merge or delete it"
            );
            return Ok(Due::Person(None, why));
        }
        if self.is_asked(story)? {
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
        Ok(match self.request_of(&branch)? {
            None => Due::Open,
            Some(request) => {
                match (request.state.to_ascii_uppercase().as_str(), request.address.clone()) {
                    // Perhaps it was merged after the last fetch.
                    ("MERGED", address) if self.is_done_now(story)? => Due::Wait(address, false),
                    ("MERGED", _) => Due::Work,
                    ("CLOSED", address) => rejected(story, &address),
                    (_, address) if self.conflicts(&tip)? && others => {
                        let target = &self.target;
                        let why = format!(
                            "it conflicts with {target} and has commits of others; resolve that by hand"
                        );
                        Due::Person(Some(address), why)
                    }
                    _ if self.conflicts(&tip)? => Due::Rebase(tip),
                    (_, address) => Due::Wait(address, request.is_red()),
                }
            }
        })
    }

    /// Whether the story is done in the server's current plan.
    pub(super) fn is_done_now(&self, story: &Story) -> Result<bool, Failure> {
        self.fetch()?;
        let plan = self.plan_on_server()?;
        Ok(plan.story(&story.id).is_some_and(|it| it.state == State::Done))
    }

    /// The step for a story whose pull request was closed, unless the user asked for another.
    pub(super) fn rejection(&self, story: &Story) -> Result<Option<Due>, Failure> {
        if self.is_asked(story)? {
            return Ok(None);
        }
        let request = self.request_of(&self.branch(story))?;
        let closed = request.filter(|request| request.state.eq_ignore_ascii_case("closed"));
        Ok(closed.map(|request| rejected(story, &request.address)))
    }

    /// Whether `ralph-loop retry` was run for it.
    fn is_asked(&self, story: &Story) -> Result<bool, Failure> {
        let newest = saved::newest(saved::at_story(&self.git, &self.key(story))?);
        Ok(newest.as_ref().is_some_and(SavedAttempt::is_retry))
    }

    /// Refuses a plan whose open stories differ from the server's.
    fn check(&self, theirs: &Plan) -> Result<(), Failure> {
        let ours = plan::load(&self.plan_here(), &self.config.plan)?;
        let text =
            |story: &Story| (story.title.clone(), story.details.clone(), story.depends.clone());
        let differs = |story: &&Story| {
            let other = theirs.story(&story.id);
            let is_same = |other: &Story| match other.state {
                State::Open => text(other) == text(story),
                // It was merged, and the user wants it done again.
                _ => !self.is_asked(story).unwrap_or_default(),
            };
            story.state == State::Open && !other.is_some_and(is_same)
        };
        let Some(story) = ours.stories().iter().find(differs) else { return Ok(()) };
        Err(Failure::because(format!(
            "{} in {} differs from {} on the server, and `--pr story` works on the server's plan; \
             commit and push yours (or pull), then run the command again",
            story.id, self.plan, self.target
        )))
    }

    /// The server's plan, with the stories that are blocked locally.
    pub(super) fn plan_on_server(&self) -> Result<Plan, Failure> {
        let name = format!("{}:{}", self.tracking(&self.target), self.plan);
        let text = self.git.run(&["show", &name]).map_err(|_| {
            Failure::because(format!(
                "{} on the server has no {}; commit and push the plan, then run the command again",
                self.target, self.plan
            ))
        })?;
        let path = self.plan_here();
        let plan = Plan::parse(&path, text, &self.config.plan)?;
        with_given_up(plan, &self.project, &self.git, &self.config.plan)
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

    /// Retries for a while if a server does not answer.
    pub(super) fn patiently<T>(&self, act: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
        let limit = self.config.run.wait.limit().unwrap_or(Duration::MAX);
        let (since, mut is_said) = (Instant::now(), false);
        loop {
            let failure = match act() {
                Err(failure) => failure,
                done => return done,
            };
            if !may_pass(&failure) {
                return Err(failure);
            }
            let left = limit.saturating_sub(since.elapsed());
            if left.is_zero() || self.interrupts.count() > 0 {
                return Err(Failure::Away(failure.to_string().into()));
            }
            if !is_said {
                self.say(format!("{failure}; trying again"));
                is_said = true;
            }
            self.interrupts.wait(left.min(PAUSE));
        }
    }

    /// Whether a branch conflicts with the target.
    fn conflicts(&self, tip: &str) -> Result<bool, Failure> {
        let target = self.tracking(&self.target);
        let merge = ["merge-tree", "--write-tree", "--name-only", &target, tip];
        match self.git.run(&merge) {
            Err(GitError::Failed { code: Some(1), .. }) => Ok(true),
            // Older versions of git cannot merge without a work tree.
            _ => Ok(false),
        }
    }

    /// Whether a branch has commits that no run made, which must not be replaced.
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

    /// The name of the branch of a story's pull request.
    pub(super) fn branch(&self, story: &Story) -> String {
        let plan = name_in_branch(&self.plan_here(), &self.config.plan.tag);
        named(&format!("{plan}-{}", story.id))
    }

    /// The local branch until it is pushed. The user may have the other one checked out.
    pub(super) fn ours(&self, story: &Story) -> String {
        format!("{REQUESTS}{}", self.branch(story))
    }

    pub(super) fn tracking(&self, branch: &str) -> String {
        format!("refs/remotes/{}/{branch}", self.remote)
    }

    pub(super) fn append(&self, story: Option<&Story>, event: &Event) -> Result<(), Failure> {
        let key = story.map(|story| self.key(story));
        let journal = journal(
            self.project.own_state(),
            echo(self.config, Audience::default()),
            &self.run,
            key.as_ref(),
        );
        Ok(journal.append(event)?)
    }
}

/// The step for a closed pull request.
fn rejected(story: &Story, address: &str) -> Due {
    let id = &story.id;
    Due::Person(None, format!("{address} was closed; `ralph-loop retry {id}` tries again"))
}

/// Restricts `git log` to the commits of a story.
pub(super) fn of_story(story: &Story) -> String {
    format!("--grep=^Ralph-Story: {}$", story.id)
}
