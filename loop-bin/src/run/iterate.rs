//! One iteration's effects on plan, tree and records; the agent itself is `work.rs`.

use std::time::Instant;

use jiff::Timestamp;
use ralph_core::config::RollbackOn;
use ralph_core::git;
use ralph_core::plan::progress::{Entry, Status};
use ralph_core::plan::{self, Format, LoopField, LoopProgress, Next, Plan};
use ralph_core::project_plan;
use ralph_core::settle::{self, Attempt, Onlooker, Report, named_files};
use ralph_core::state::{self, Id, StateDir};

use super::crashed::Interruption;
use super::prepare::NotReady;
use super::stage::Stage;
use crate::exit::Failure;
use crate::step::{Choice, Event, Outcome, Settlement, State};
use crate::terminal::{Position, counted};

/// What a rollback tells the next attempt at most.
const LONGEST_LESSON: usize = 160;

/// What the view shows of a failing output.
const SHOWN_LINES: usize = 5;

impl Stage {
    pub(super) fn load_plan(&self) -> Result<Plan, Failure> {
        Ok(plan::load(&self.plan, &project_plan::options(&self.config))?)
    }

    pub(super) fn choose(&mut self, state: &State) -> Result<Event, Failure> {
        let plan = self.load_plan()?;
        self.view.position(Position::of(&plan));
        let ids = |stories: &[&plan::Story]| {
            stories.iter().map(|story| story.id.clone()).collect::<Vec<_>>().join(", ")
        };
        let choice = match plan.next_story(&state.counters.set_aside) {
            Next::Story(story) => Choice::Story(story.id.clone()),
            Next::Complete => Choice::Complete,
            Next::Stuck { waiting, blocked } => {
                let mut why = format!("no story is left to work on; blocked: {}", ids(&blocked));
                if !waiting.is_empty() {
                    why.push_str(&format!("; waiting for others: {}", ids(&waiting)));
                }
                let how = match plan.format() {
                    Format::Markdown => "by making `[!]` in the plan `[ ]`",
                    _ => "by removing `\"blocked\": true` from the plan",
                };
                why.push_str("; see progress.md, mend what is in the way and reopen them ");
                why.push_str(how);
                Choice::Stuck(why)
            }
        };
        Ok(Event::Chosen { choice, seconds: self.elapsed().as_secs_f64() })
    }

    pub(super) fn begin(&mut self, state: &State, story: &str) -> Result<Event, Failure> {
        self.tell_of_other_branch();
        let plan = self.load_plan()?;
        let found = plan.story(story).ok_or_else(|| {
            std::io::Error::other(format!("{} lost the story {story} just now", self.plan))
        })?;
        let journal = self.journal();
        let iteration = state.counters.iteration;
        let mut attempt = match self.resume(story, iteration)? {
            Some(attempt) => attempt,
            None => {
                let known = self.just_committed.take();
                settle::begin_after(
                    &self.place(&journal),
                    &plan,
                    found,
                    iteration,
                    known.as_deref(),
                )?
            }
        };
        if attempt.failures != state.attempts() {
            attempt.failures = state.attempts();
            attempt.save(self.state())?;
        }
        // The checkpoint holds it from now on.
        self.scripted.set(None);
        self.view.line(format!("iteration {iteration}: {story} {}", found.title));
        self.attempt = Some(attempt);
        self.report = Report::default();
        self.update_loop_progress(&plan, iteration, "IN_PROGRESS")?;
        let number = u32::try_from(iteration).unwrap_or(u32::MAX);
        self.note(&state::Event::IterationStarted { iteration: number });
        Ok(Event::Begun)
    }

    /// Whoever switched branches between two iterations may not know that a loop is at work.
    fn tell_of_other_branch(&self) {
        if let (Some(left), Some(now)) = (&self.left_at, git::Position::of(&self.repo))
            && left.branch != now.branch
        {
            let (left, now) = (left.branch_name(), now.branch_name());
            self.view.warn(format!(
                "{left} was checked out when the last iteration ended, and now {now} is; the work \
                 goes on there"
            ));
        }
    }

    /// Keeps the `progress.txt` of a feature list up to date, where somebody uses one.
    pub(super) fn update_loop_progress(
        &self,
        plan: &Plan,
        iteration: u64,
        status: &str,
    ) -> Result<(), Failure> {
        let path = StateDir::loop_progress_beside(plan.path());
        if plan.format() != Format::FeatureList || !path.is_file() {
            return Ok(());
        }
        let old = fs_err::read(&path)?;
        let limit = self.config.run.max_iterations.to_string();
        let new = LoopProgress::set(&old, LoopField::Iteration, &iteration.to_string());
        let new = LoopProgress::set(&new, LoopField::MaxIterations, &limit);
        let new = LoopProgress::set(&new, LoopField::Status, status);
        Ok(state::replace(&path, &new)?)
    }

    pub(super) fn current(&self) -> Result<Attempt, Failure> {
        let none = || std::io::Error::other("no attempt is under way");
        Ok(self.attempt.clone().ok_or_else(none)?)
    }

    pub(super) fn settle(&mut self) -> Result<Event, Failure> {
        let attempt = self.current()?;
        let journal = self.journal();
        let checking = || {
            let verify = &self.config.verify.commands;
            let verify: Vec<String> = verify.iter().map(|check| settle::one_line(check)).collect();
            let verify = verify.join(", ");
            self.view.line(format!("{}: checking with {verify}", attempt.story));
            self.view.waiting(&format!("{}  checking", attempt.story));
        };
        let interruption = Interruption {
            interrupts: &self.interrupts,
            saved: &self.saved,
            state: self.state(),
            elapsed: self.elapsed(),
            since: Instant::now(),
        };
        let onlooker = Onlooker {
            stop: &|| interruption.came(),
            checking: &checking,
            checked: &|| self.put_back_state("a check"),
        };
        let report = Report { time_left: self.time_left(), ..self.report.clone() };
        let outcome = settle::settle(&self.place(&journal), &attempt, &report, onlooker)?;
        self.locks.take_again(&self.project, &self.repo)?;
        if let settle::Outcome::CheckFailed(checks) = &outcome
            && let Some(why) = self.lacks_program(checks)
        {
            return Ok(Event::Settled(Settlement::Impossible(why)));
        }
        let settlement = match outcome {
            settle::Outcome::Done(done) => {
                self.tell_done(&attempt.story, &done);
                self.tell_of_added_hooks();
                self.just_committed.set(done.known);
                Settlement::Done
            }
            settle::Outcome::NothingChanged => Settlement::NothingChanged,
            settle::Outcome::CommitImpossible(_) => Settlement::Impossible(why_not(&outcome)),
            other => match (&other, self.interrupts.signal()) {
                (settle::Outcome::Stopped, Some(signal)) => Settlement::Signalled(signal),
                _ => Settlement::Failed(why_not(&other)),
            },
        };
        Ok(Event::Settled(settlement))
    }

    fn tell_done(&self, story: &str, done: &settle::Done) {
        let commit: String = done.commit.as_deref().unwrap_or_default().chars().take(8).collect();
        let files = counted(done.files.len(), "file", "files");
        self.view.line(format!("{story} done: commit {commit}, {files}"));
        self.tell_findings("a check or a git hook", &done.findings);
        self.tell_taken_out(story, done.taken_out.as_deref());
        if let Some(what) = &done.weakened {
            self.view.line(format!("{story}: look at the tests: {what}"));
        }
        if !done.kept_out.is_empty() {
            self.view.warn(format!(
                "{story} changed ignore rules; {} were ignored before and stay out of git, by \
                 .git/info/exclude",
                named_files(&done.kept_out)
            ));
        }
        if !done.hidden.is_empty() {
            self.view.line(format!(
                "{story}: its own new ignore rules keep new files out of the commit, and out of \
                 later ones: {}; see .gitignore and .git/info/exclude",
                named_files(&done.hidden)
            ));
        }
    }

    /// Uncommitted work from before a story that its agent took out of the tree.
    pub(super) fn tell_taken_out(&self, story: &str, kept: Option<&git::Unreturned>) {
        if let Some(git::Unreturned { id, files, .. }) = kept {
            self.view.warn(format!(
                "{story} took out of the tree what was uncommitted before it: {}; `ralph-loop undo \
                 {id}` brings it back",
                named_files(files)
            ));
        }
    }

    /// What a check needs that no attempt can bring.
    fn lacks_program(&self, checks: &[settle::Check]) -> Option<String> {
        let check = checks.last()?;
        let program = check.needs().map(str::to_owned)?;
        let is_hopeless = !settle::finds_in_project(&self.path, self.project.root());
        is_hopeless.then(|| NotReady::NoCheck { check: check.name(), program }.to_string())
    }

    /// Takes an attempt back, and writes down why, for the next one and for the user.
    pub(super) fn roll_back(&mut self, outcome: Outcome, why: &str) -> Result<Event, Failure> {
        let attempt = self.current()?;
        let journal = self.journal();
        let place = self.place(&journal);
        let repaired = settle::repair_plan(&place, &attempt)?;
        // The agent's own changes are undone by now.
        self.tell_findings("somebody", &repaired.findings);
        let changed = !settle::changed_files(&place, &attempt)?.is_empty();
        let headline: String = why.lines().next().unwrap_or_default().to_owned();
        self.view.line(format!("{}: {headline}", attempt.story));
        let details: Vec<&str> =
            why.lines().skip(1).filter(|line| !line.trim().is_empty()).collect();
        for line in details.iter().skip(details.len().saturating_sub(SHOWN_LINES)) {
            self.view.line(format!("{}:   {line}", attempt.story));
        }
        // Commits that change no file of the user's are no less the attempt's.
        let committed = self.repo.head()? != attempt.head;
        let commits = committed.then(|| self.commits_since(&attempt)).flatten();
        let tried = changed || committed || self.was_rolled_back(&attempt.story);
        if self.config.rollback.on != RollbackOn::Never
            && let Some(restored) = self.take_back(&attempt, changed || committed, &headline)?
        {
            let (saved_as, id) = (restored.saved.name.clone(), restored.saved.id());
            self.view.line(format!(
                "{}: rolled back {}; `ralph-loop undo {id}` brings the attempt back",
                attempt.story,
                counted(restored.touched.len(), "file", "files")
            ));
            if let Some(commits) = commits {
                self.view.warn(format!(
                    "{}: these commits went with it, and are kept with it: {commits}",
                    attempt.story
                ));
            }
            self.tell_left_alone(&restored.left_alone);
            let to = attempt.head.clone().unwrap_or_default();
            self.note(&state::Event::RolledBack { to, saved_as, why: headline.clone() });
            // The plan may be a file of the tree that went back as well.
            settle::repair_plan(&place, &attempt)?;
        }
        match self.config.rollback.on {
            RollbackOn::Never => self.keep_taken_out(&attempt)?,
            _ => self.take_out_added_hooks()?,
        }
        self.learn(&attempt, outcome, why)?;
        self.unlogged = logged_as(outcome).map(|status| (status, headline));
        self.outcome = Some(outcome);
        Ok(Event::RolledBack { changed: tried })
    }

    /// Without a rollback nothing brings it back, as after a commit.
    fn keep_taken_out(&self, attempt: &Attempt) -> Result<(), Failure> {
        let journal = self.journal();
        let kept = settle::keep_taken_out(&self.place(&journal), attempt)?;
        if let Some(git::Unreturned { name, files, .. }) = kept.as_deref() {
            let files = files.iter().map(|file| file.display().to_string()).collect();
            self.note(&state::Event::WorkNotReturned { kept_as: name.clone(), files });
        }
        self.tell_taken_out(&attempt.story, kept.as_deref());
        Ok(())
    }

    /// What git was told to overlook may have changed though nothing else has, and so may rules.
    pub(super) fn take_back(
        &self,
        attempt: &Attempt,
        is_changed: bool,
        why: &str,
    ) -> Result<Option<git::Restored>, Failure> {
        let story = Id::parse(&attempt.story).ok();
        if is_changed {
            return Ok(Some(git::rollback(&self.repo, self.state(), story.as_ref(), why)?));
        }
        // An attempt that only took out what was uncommitted before it has no work to show.
        let had_uncommitted = git::Checkpoint::load(self.state())
            .is_ok_and(|found| found.is_some_and(|checkpoint| checkpoint.has_uncommitted()));
        if !had_uncommitted
            && self.repo.overlooked().is_empty()
            && !git::may_have_new_rules(&self.repo, self.state())
        {
            return Ok(None);
        }
        Ok(git::rollback_changes(&self.repo, self.state(), story.as_ref(), why)?)
    }

    fn learn(&self, attempt: &Attempt, outcome: Outcome, why: &str) -> Result<(), Failure> {
        if matches!(outcome, Outcome::Failed | Outcome::Timeout) {
            ralph_core::attempt::record_failure(self.state(), why)?;
            ralph_core::attempt::add_lesson(self.state(), &lesson(&attempt.story, why))?;
        }
        Ok(())
    }

    pub(super) fn log(
        &self,
        attempt: &Attempt,
        status: Status,
        reason: &str,
    ) -> Result<(), Failure> {
        let entry = Entry {
            reason: Some(reason.to_owned()),
            time: Timestamp::now(),
            ..settle::progress_entry(attempt, &self.report, status)
        };
        Ok(settle::log_progress(attempt, &entry)?)
    }

    pub(super) fn set_aside(&mut self, why: &str) -> Result<Event, Failure> {
        let attempt = self.current()?;
        let headline = why.lines().next().unwrap_or_default();
        let journal = self.journal();
        settle::mark_blocked(&self.place(&journal), &attempt, headline)?;
        // One entry an iteration: this one tells of the last attempt as well.
        self.unlogged = None;
        self.log(&attempt, Status::Blocked, headline)?;
        ralph_core::attempt::close_failure(self.state())?;
        self.view.warn(format!("{} is set aside: {headline}", attempt.story));
        self.tell_of_leftovers(&attempt)?;
        Ok(Event::SetAside)
    }

    /// Without rollbacks the next story's commit holds whatever is there, checked or not.
    fn tell_of_leftovers(&self, attempt: &Attempt) -> Result<(), Failure> {
        if self.config.rollback.on != RollbackOn::Never {
            return Ok(());
        }
        let journal = self.journal();
        let left = settle::changed_files(&self.place(&journal), attempt)?;
        if !left.is_empty() {
            self.view.warn(format!(
                "what {} left stays in the tree, because no attempt is taken back; the next \
                 story's commit will hold it: {}",
                attempt.story,
                named_files(&left)
            ));
        }
        Ok(())
    }

    /// The iteration is over: nothing is under way any more.
    pub(super) fn end_iteration(&mut self, state: &State, outcome: Outcome) -> Result<(), Failure> {
        self.note_end(state, outcome)?;
        self.left_at = git::Position::of(&self.repo);
        if self.is_handed_over {
            return Ok(());
        }
        self.attempt = None;
        // With no rollback the next attempt goes on with this tree, so nothing is to go back to.
        Ok(settle::end(self.state())?)
    }

    /// What the progress and the journal say of how an iteration ended.
    pub(super) fn note_end(&mut self, state: &State, outcome: Outcome) -> Result<(), Failure> {
        if let (Some((status, why)), Some(attempt)) = (self.unlogged.take(), &self.attempt) {
            let headline: String = why.chars().take(LONGEST_LESSON).collect();
            self.log(attempt, status, &headline)?;
        }
        let counters = &state.counters;
        self.outcome = None;
        // The others of a session were told before anybody knew what it used.
        let used = self.whole_session.take().unwrap_or_else(|| self.report.clone());
        self.note(&state::Event::IterationFinished {
            outcome: outcome.word().to_owned(),
            exit_code: counters.last_exit_code,
            duration_s: counters.last_duration_s,
            tokens: used.tokens,
            cost_usd: used.cost_usd,
        });
        Ok(())
    }
}

/// How the progress calls an attempt that was taken back; none if it tells of it in another way.
fn logged_as(outcome: Outcome) -> Option<Status> {
    match outcome {
        Outcome::Success | Outcome::Blocked | Outcome::Handoff => None,
        Outcome::Failed | Outcome::NoChanges => Some(Status::Failed),
        Outcome::Timeout => Some(Status::Timeout),
        Outcome::Quota | Outcome::Budget | Outcome::Interrupted => Some(Status::Interrupted),
    }
}

/// What went wrong and the last thing that was said about it, in one line.
fn lesson(story: &str, why: &str) -> String {
    let mut lines = why.lines().filter(|line| !line.trim().is_empty());
    let (what, said) = (lines.next().unwrap_or_default(), lines.next_back().unwrap_or_default());
    let short = |text: &str| text.trim().chars().take(LONGEST_LESSON).collect::<String>();
    match said {
        "" => format!("{story}: {}", short(what)),
        said => format!("{story}: {}; it said: {}", short(what), short(said)),
    }
}

/// Why a story is not done: a check and what it printed, for instance.
pub(super) fn why_not(outcome: &settle::Outcome) -> String {
    match outcome {
        settle::Outcome::Done(_) => String::new(),
        settle::Outcome::NothingChanged => "the agent changed nothing".to_owned(),
        settle::Outcome::CheckFailed(checks) => match checks.last() {
            Some(check) => format!("`{}` {}\n{}", check.name(), check.verdict(), check.excerpt()),
            None => "a check failed".to_owned(),
        },
        settle::Outcome::TestsWeakened(what) => format!("the tests were weakened: {what}"),
        settle::Outcome::CommitRefused(said) if said.trim().is_empty() => {
            "the commit was refused, by a git hook that printed nothing".to_owned()
        }
        settle::Outcome::CommitRefused(said) => format!("the commit was refused: {said}"),
        settle::Outcome::CommitImpossible(said) => format!(
            "git cannot write the commit; if it is to be signed, see to user.signingkey and the \
             key, or set commit.gpgsign to false here; then start again\n{said}"
        ),
        settle::Outcome::Displaced(why) => why.clone(),
        settle::Outcome::Stopped => "the checks or the commit were stopped".to_owned(),
    }
}
