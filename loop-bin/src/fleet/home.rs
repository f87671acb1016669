//! The project in which `--pr story` was typed. Its tasks take its wishes for another attempt, and leave out what is
//! blocked in it; it gets the attempts, journal and logs of each, as one run.

use std::cell::RefCell;
use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_base::state::{self, Event, Journal, Marks, Record, StoryKey, plan_name};
use ralph_core::git::{Git, GitError};
use ralph_core::plan::{self, Options, Plan, State, Story};
use ralph_project::config::Config;
use ralph_project::project::Project;
use run_history::{LOOP, RunHistory, SavedAttempt};

use super::server::{Server, text_of};
use crate::exit::Failure;
use crate::here;
use crate::plan_choice::PlanChoice;
use crate::run::start::run_name;
use crate::saved::{self, Account};

/// Engines start a task again that ends with it.
pub(super) const TRY_LATER: u8 = 75;

/// Nothing is left that can be done without a person.
pub(super) const BLOCKED: u8 = 8;

/// Shows what a run did.
pub(crate) type Show = fn(&Env, &Project, &PlanChoice, &str) -> Result<(), Failure>;

/// That project.
#[derive(Debug)]
pub(super) struct Home {
    env: Env,
    options: Options,
    /// The file of its plan, if it has one.
    plan: Option<Utf8PathBuf>,
    project: Project,
    git: Git,
    /// The name of the run that all tasks together are.
    pub(super) run: String,
    /// Those about which something was taken: also earlier ones, whose work was pushed only now.
    runs: RefCell<BTreeSet<String>>,
    show: Show,
}

impl Home {
    /// Before the working directory changes, from which a plan may be named.
    pub(super) fn new(env: &Env, config: &Config, show: Show) -> Result<Self, Failure> {
        let project = here::project(env)?;
        let plan = here::plan(&project, env, config).ok().map(|plan| plan.path().to_owned());
        let (git, options) = (Git::at(project.root()), config.plan.clone());
        let runs = RefCell::default();
        Ok(Self { env: env.clone(), options, plan, project, git, run: run_name(), runs, show })
    }

    /// Refuses a plan whose open stories are not those that the server has.
    pub(super) fn check(&self, server: &Server, branch: &str) -> Result<(), Failure> {
        let load = |path: &Utf8Path| plan::load(path, &self.options).ok();
        let Some(ours) = self.plan.as_deref().and_then(load) else { return Ok(()) };
        let file = ours.path().strip_prefix(self.project.root()).unwrap_or(ours.path());
        let theirs = load(&server.folder.join(file));
        let text =
            |story: &Story| (story.title.clone(), story.details.clone(), story.depends.clone());
        let differs = |story: &&Story| {
            let other = theirs.as_ref().and_then(|plan| plan.story(&story.id));
            let is_same = |other: &Story| other.state != State::Open || text(other) == text(story);
            story.state == State::Open && !other.is_some_and(is_same)
        };
        let Some(story) = ours.stories().iter().find(differs) else { return Ok(()) };
        Err(Failure::because(format!(
            "{} in {file} is not what {branch} on the server has, and `--pr story` works on what is \
             there; commit and push the plan (or pull it), then run the command again",
            story.id
        )))
    }

    /// The project's own file of a plan on the server.
    fn plan(&self, server: &Server, theirs: &Plan) -> Option<Plan> {
        let file = theirs.path().strip_prefix(&server.folder).ok()?;
        plan::load(&self.project.root().join(file), &self.options).ok()
    }

    /// Whether a story waits for a person here.
    pub(super) fn is_blocked(&self, server: &Server, theirs: &Plan, story: &str) -> bool {
        let plan = self.plan(server, theirs);
        plan.is_some_and(|it| it.story(story).is_some_and(|one| one.state == State::Blocked))
    }

    /// Marks a story as blocked here: its pull request would have to be merged before the server's plan says so.
    pub(super) fn block(&self, server: &Server, theirs: &Plan, story: &str) -> Result<(), Failure> {
        let Some(plan) = self.plan(server, theirs) else { return Ok(()) };
        if plan.story(story).is_some_and(|story| story.state == State::Open) {
            state::replace_users(plan.path(), &plan.block(story)?)?;
        }
        let key = StoryKey::new(&plan_name(self.project.root(), plan.path()), story);
        Ok(saved::forget_wish(&self.git, &key)?)
    }

    /// Gives a task what `retry` asked for.
    pub(super) fn give(&self, server: &Server) -> Result<(), GitError> {
        copy(&self.git, &server.git, SavedAttempt::is_retry)
    }

    /// Takes what a task did. Where the server refused its push, returns the attempts that are on no branch there.
    pub(super) fn take(
        &self,
        server: &Server,
        refusal: Option<&str>,
    ) -> Result<Vec<String>, Failure> {
        let (root, state) = (self.project.root(), self.project.own_state());
        let history = RunHistory::open(root, state)?;
        let runs = history.runs().iter().map(|run| &run.name).chain([&self.run]);
        let runs: BTreeSet<&String> = runs.collect();
        copy(&server.git, &self.git, |one| one.run.as_ref().is_some_and(|it| runs.contains(it)))?;
        let refused = refusal.map_or(Ok(Vec::new()), |why| self.keep_refused(server, why))?;
        state.prepare()?;
        server.write_journal()?;
        let theirs =
            text_of(&server.state.journal())?.replace(server.folder.as_str(), root.as_str());
        let ours = text_of(&state.journal())?;
        let known: BTreeSet<&str> = ours.lines().collect();
        for line in theirs.lines().filter(|line| !known.contains(line)) {
            let record = serde_json::from_str::<Record>(line).ok();
            if let Some(run) = record.and_then(|it| it.run).filter(|run| runs.contains(run)) {
                state::append_line(&state.journal(), line.as_bytes())?;
                self.runs.borrow_mut().insert(run);
            }
        }
        fs_err::create_dir_all(state.logs())?;
        let logs = server.state.logs().read_dir_utf8().into_iter().flatten().flatten();
        for log in logs.filter(|log| log.file_name().starts_with(&self.run)) {
            fs_err::copy(log.path(), state.logs().join(log.file_name()))?;
        }
        Ok(refused)
    }

    /// Marks the attempts here that are on no branch of the server, and returns their stories.
    fn keep_refused(&self, server: &Server, why: &str) -> Result<Vec<String>, Failure> {
        let why = format!("its push was refused: {why}");
        let (mut refused, mut kept) = (Vec::new(), saved::all(&self.git)?);
        kept.retain(|one| one.run.as_ref() == Some(&self.run) && one.outcome.is_none());
        for SavedAttempt { key, number, commit, base, cost_usd, tokens, .. } in kept {
            let on = ["for-each-ref", "--contains", &commit, "refs/remotes/origin"];
            if !server.git.line(&on)?.is_empty() {
                continue;
            }
            refused.push(key.story.clone());
            let (outcome, why, run) = ("refused", &*why, &*self.run);
            let account =
                Account { key, number, outcome, why, cost_usd, tokens, run, ..Account::default() };
            let tree = self.git.line(&["rev-parse", &format!("{commit}^{{tree}}")])?;
            let parents: Vec<&str> = base.as_deref().into_iter().collect();
            saved::keep(&self.git, self.project.root(), &tree, &parents, &account)?;
        }
        Ok(refused)
    }

    /// Writes down how it all ended, and shows the report.
    pub(super) fn conclude(&self, code: u8, why: &str) -> Result<(), Failure> {
        let finish_type = match code {
            0 => "complete",
            BLOCKED | TRY_LATER => "blocked",
            6 => "budget",
            130 | 143 => "manual",
            _ => "error",
        };
        let reason = (code > 0).then(|| why.to_owned());
        let end = Event::LoopFinished { finish_type: finish_type.to_owned(), reason };
        for run in self.runs.borrow().iter() {
            let marks = Marks { run: Some(run.clone()), ..Marks::default() };
            Journal::new(self.project.own_state(), LOOP).marked(marks).append(&end)?;
        }
        if self.runs.borrow().contains(&self.run) {
            let choice = self.plan.as_deref().map(PlanChoice::of).unwrap_or_default();
            (self.show)(&self.env, &self.project, &choice, &self.run)?;
        }
        Ok(())
    }
}

/// Copies attempts that a repository lacks; one whose number is taken gets the next free one.
fn copy(from: &Git, to: &Git, is_meant: impl Fn(&SavedAttempt) -> bool) -> Result<(), GitError> {
    let known = saved::all(to)?;
    let mut new = saved::all(from)?;
    new.retain(|one| is_meant(one) && !known.iter().any(|known| known.commit == one.commit));
    if new.is_empty() {
        return Ok(());
    }
    let folder = from.dir().to_string_lossy();
    let fetch = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", &*folder];
    let names = new.iter().map(|one| one.name.as_str());
    to.run(&fetch.into_iter().chain(names).collect::<Vec<_>>())?;
    for one in new.iter().rev() {
        // Not in the place of another one of the same run.
        saved::put(to, &one.key, one.number, &one.commit, &one.commit)?;
    }
    Ok(())
}
