//! The beginning of an attempt: the workspace at the target's tip, what the agent needs in it, and
//! all of it written down.

use ralph_base::fault;
use ralph_base::state::{self, StoryKey};
use ralph_core::git::Checkpoint;
use ralph_core::plan::Plan;
use ralph_project::attempt::{self, Memory};
use ralph_project::config::{RollbackOn, SessionRetry};
use ralph_project::failed_before::FailedBefore;
use ralph_project::under_way::Attempt;

use super::work::Report;
use crate::agent::ResumedSession;
use crate::exit::Failure;
use crate::git_output::base_of;
use crate::run::Run;
use crate::run::context::Context;
use crate::run::decide::Outcome;
use crate::run::start::Trial;
use crate::saved::{self, SavedAttempt};
use crate::workspace::in_place::ProtectedFiles;
use crate::workspace::{ONLY_WORKER, Start};

/// What an agent is told that goes on with the work of another one.
const WORK_IS_THERE: &str =
    "Work from an earlier attempt is already in your working tree; continue with it.";

impl Run {
    pub(in crate::run) fn begin(&mut self, story: &str) -> Result<Plan, Failure> {
        if self.record.counters.has_met_others(story) {
            // It met the work of others once. This time nobody lands before it.
            self.lock_landing("trying a story again", 1)?;
        }
        let (tip, is_followed) = self.target.look()?;
        let plan = self.books.load_at(tip.as_deref(), is_followed)?;
        let found = plan.story(story).cloned().ok_or_else(|| {
            Failure::because(format!("story {story} was just removed from {}", plan.path()))
        })?;
        let iteration = self.record.counters.all(|one| one.iteration);
        self.show_story(&found);
        let branch = self.target.current_branch();
        let start = Start { tip: tip.as_deref(), branch: &branch };
        self.prepare_workspace(start)?;
        let key = StoryKey::new(&self.context.plan_name.borrow(), story);
        let attempts = saved::at_story(&self.workspace.source.git(), &key)?;
        let number = saved::number_after(&attempts);
        let newest = saved::newest(attempts);
        self.resumed = self.session_to_resume(newest.as_ref());
        let kept = self.to_resume(newest);
        let (attempt, nth) = (self.new_attempt(story, &found.title, number, start), number);
        self.remember_books(tip.as_deref(), plan.bytes())?;
        // In place, what is in the tree from here on is the attempt's.
        self.put_under_way(&attempt)?;
        self.before = match &kept {
            Some(kept) => self.resume(kept, start)?,
            None => String::new(),
        };
        // After the work of an earlier attempt, which knows only the plan of its own time.
        self.give_books(tip.as_deref(), plan.bytes())?;
        self.report = Report::default();
        self.agents = None;
        if self.workspace.is_in_place {
            let (root, state) = (self.context.project.root(), self.context.state());
            self.protected = ProtectedFiles::remember(root, state, &self.books.plan);
        }
        self.take_checkpoint(story, start)?;
        state::remove_if_there(self.context.state().claim())?;
        fault::point("attempt.begun");
        let under_way = format!("{story}\n");
        state::replace_unsynced(&self.context.state().current_story(), under_way.as_bytes())?;
        self.attempt = Some(attempt);
        self.update_loop_progress("IN_PROGRESS")?;
        let number = u32::try_from(iteration).unwrap_or(u32::MAX);
        self.journal_note(&state::Event::IterationStarted {
            iteration: number,
            title: found.title,
            attempt: nth,
        });
        Ok(plan)
    }

    /// An attempt that begins now.
    pub(in crate::run) fn new_attempt(
        &self,
        story: &str,
        title: &str,
        number: u64,
        start: Start<'_>,
    ) -> Attempt {
        Attempt {
            run: self.context.run.clone(),
            story: story.to_owned(),
            title: title.to_owned(),
            iteration: self.record.counters.all(|one| one.iteration),
            number,
            plan: self.books.plan.clone(),
            progress: self.books.progress.clone(),
            work: self.workspace.root().to_owned(),
            target: start.branch.to_owned(),
            base: start.tip.map(str::to_owned),
            ..Attempt::now()
        }
    }

    /// Writes an attempt down, and holds what it begins from.
    pub(in crate::run) fn put_under_way(&self, attempt: &Attempt) -> Result<(), Failure> {
        if let Some(base) = &attempt.base {
            let worker = self.context.project.worker().map_or(ONLY_WORKER, state::Id::as_str);
            saved::hold(&self.workspace.source.git(), worker, base)?;
        }
        Ok(attempt.save(&self.context.run_dir)?)
    }

    /// The workspace at a commit, with what a fresh clone lacks and its setup done.
    pub(in crate::run) fn prepare_workspace(&mut self, start: Start<'_>) -> Result<(), Failure> {
        let stop = || self.context.is_interrupted();
        let Context { config, view, run, .. } = &self.context;
        Trial { workspace: &mut self.workspace, config, view, run, stop: &stop }.prepare(start)
    }

    /// Plan and progress as the agent is given them, so that what it does to them is known.
    fn remember_books(&self, tip: Option<&str>, plan: &[u8]) -> Result<(), Failure> {
        let run_dir = &self.context.run_dir;
        state::replace_unsynced(&run_dir.plan_given(), plan)?;
        let progress = self.books.progress_text(tip);
        Ok(state::replace_unsynced(&run_dir.progress_given(), &progress)?)
    }

    /// Plan and progress as the agent finds them.
    fn give_books(&mut self, tip: Option<&str>, plan: &[u8]) -> Result<(), Failure> {
        let progress = self.books.progress_text(tip);
        self.workspace.give(&self.books.plan, plan)?;
        if !progress.is_empty() {
            self.workspace.give(&self.books.progress, &progress)?;
        }
        let beside = state::StateDir::loop_progress_beside(&self.books.plan);
        if let Ok(text) = fs_err::read(&beside) {
            self.workspace.give(&beside, &text)?;
        }
        Ok(())
    }

    /// The attempt whose work this one goes on with, if the last one ended halfway.
    fn to_resume(&self, newest: Option<SavedAttempt>) -> Option<SavedAttempt> {
        let always = self.context.config.rollback.on == RollbackOn::Never;
        newest.filter(|newest| {
            newest.outcome.as_deref().is_some_and(|word| always || Outcome::is_resumed(word))
        })
    }

    /// The client's session in which this attempt begins, if not in a new one.
    fn session_to_resume(&self, newest: Option<&SavedAttempt>) -> Option<ResumedSession> {
        let SavedAttempt { session, outcome, .. } = newest?;
        let id = session.clone()?;
        let retry = self.context.config.session.retry;
        match Outcome::session_after(outcome.as_deref()?, retry) {
            SessionRetry::Fresh => None,
            SessionRetry::Resume => Some(ResumedSession { id, is_fork: false }),
            SessionRetry::Fork => Some(ResumedSession { id, is_fork: true }),
        }
    }

    /// Lays the work of an attempt into the workspace; returns what the agent is told of it.
    fn resume(&mut self, kept: &SavedAttempt, start: Start<'_>) -> Result<String, Failure> {
        let SavedAttempt { id, key, why, details, .. } = kept;
        let story = &key.story;
        let mut told = match kept.outcome.as_deref() {
            Some(saved::RETRY) if details.trim().is_empty() => String::new(),
            Some(saved::RETRY) => format!("Hint from the user: {details}"),
            _ => format!("The last attempt, {id}, ended: {why}"),
        };
        let git = self.workspace.source.git();
        let base = base_of(&git, kept.base.as_deref())?;
        if git.run(&["diff-tree", "--quiet", &base, &kept.commit]).is_ok() {
            // A person may have asked for another try with nothing but a hint.
            return Ok(told);
        }
        match self.workspace.overlay(&kept.commit, start)? {
            None => {
                self.context.view.line(format!("{story}: continuing from attempt {id}"));
                told = format!("{WORK_IS_THERE}\n{told}");
            }
            Some(_) => {
                // The session would take it for there.
                self.resumed = None;
                self.context.view.warn(format!(
                    "{story}: attempt {id} conflicts with work that landed since, so the story \
                     starts over; view it with `ralph-loop attempts {id}`"
                ));
            }
        }
        Ok(told)
    }

    /// What hooks roll back to while the agent works.
    fn take_checkpoint(&self, story: &str, start: Start<'_>) -> Result<(), Failure> {
        let repo = &self.workspace.repo()?;
        let message = format!("before {story}");
        let (state, run) = (self.context.state(), self.context.run.as_str());
        let status = self.workspace.status(repo, start)?;
        let checkpoint = Checkpoint::create_for(repo, state, &message, Some(run), status)?;
        if !self.record.failed_before.is_empty() {
            let mut known = FailedBefore::default();
            self.record.failed_before.values().for_each(|before| known.extend(before));
            Memory::begin(state, &checkpoint, known)?;
        }
        Ok(())
    }

    /// Nothing is under way any more.
    pub(in crate::run) fn end_attempt(&mut self) -> Result<(), Failure> {
        let state = self.context.state();
        if let Some(attempt) = &self.attempt {
            self.books.publish(attempt.base.as_deref())?;
        }
        Checkpoint::clear(state)?;
        state::remove_if_there(state.current_story())?;
        state::remove_if_there(state.claim())?;
        Attempt::clear(&self.context.run_dir)?;
        state::remove_if_there(self.context.run_dir.plan_given())?;
        state::remove_if_there(self.context.run_dir.progress_added())?;
        fault::point("attempt.forgotten");
        self.attempt = None;
        Ok(())
    }

    /// What failed, for the next attempt and for people.
    pub(in crate::run) fn learn(&self, story: &str, why: &str) -> Result<(), Failure> {
        // The next attempt should know the failing tests, whatever this one ended with.
        let rollbacks = self.report.rollbacks.iter().map(|rollback| format!("{rollback}\n"));
        let told = format!("{}{why}", rollbacks.collect::<String>());
        attempt::record_failure(self.context.state(), Some(story), &told)?;
        let run_dir = Some(&self.context.run_dir);
        let lesson = format!("{story}: {}", why.lines().next().unwrap_or_default());
        attempt::add_lesson(self.context.state(), run_dir, &lesson)?;
        Ok(())
    }
}
