//! An attempt that does not land is kept as a ref of the project, and the workspace is free again.

use ralph_core::attempt::close_failure;
use ralph_core::fault;
use ralph_core::plan::progress::{Entry, Status};
use ralph_core::state;
use ralph_core::under_way::Attempt;

use super::begin::start_of;
use crate::exit::Failure;
use crate::landing::{self, Mark};
use crate::run::Run;
use crate::run::decide::{Event, Outcome, State};
use crate::saved::{self, Account};
use crate::workspace::Staged;

/// What the view shows of a failing output.
const SHOWN_LINES: usize = 5;

/// What the progress holds of a reason.
const LONGEST_REASON: usize = 160;

impl Run {
    pub(in crate::run) fn discard(
        &mut self,
        outcome: Outcome,
        why: &str,
    ) -> Result<Event, Failure> {
        self.end_session("the attempt has ended")?;
        let attempt = self.current()?;
        self.show_failure(&attempt.story, why);
        let changed = self.keep_attempt(&attempt, outcome.word(), why)?;
        if matches!(outcome, Outcome::Failed | Outcome::Timeout | Outcome::NoChanges) {
            self.learn(&attempt.story, why)?;
        }
        if self.workspace.is_in_place() {
            self.workspace.reset(start_of(&attempt))?;
        }
        let headline: String =
            why.lines().next().unwrap_or_default().chars().take(LONGEST_REASON).collect();
        self.outcome = Some((outcome, headline));
        Ok(Event::Discarded { changed })
    }

    pub(in crate::run) fn show_failure(&self, story: &str, why: &str) {
        let headline = why.lines().next().unwrap_or_default();
        self.context.view.line(format!("{story}: {headline}"));
        let details: Vec<&str> =
            why.lines().skip(1).filter(|line| !line.trim().is_empty()).collect();
        for line in details.iter().skip(details.len().saturating_sub(SHOWN_LINES)) {
            self.context.view.line(format!("{story}:   {line}"));
        }
    }

    /// Keeps what the attempt did; tells whether it did anything. A copy that is damaged beyond
    /// reading costs this attempt and no more.
    pub(in crate::run) fn keep_attempt(
        &mut self,
        attempt: &Attempt,
        outcome: &str,
        why: &str,
    ) -> Result<bool, Failure> {
        let start = start_of(attempt);
        let imported = self.workspace.import(start);
        let was_rolled_back = !imported.discarded.is_empty();
        self.imported = imported;
        let staged = match self.workspace.stage(start, &self.books.ours()) {
            Ok(staged) => staged,
            Err(error) => {
                let story = &attempt.story;
                self.context.view.warn(format!("{story}: the copy cannot be read: {error}"));
                return Ok(was_rolled_back);
            }
        };
        let has_work = !staged.files.is_empty() || self.imported.head.is_some();
        if has_work {
            let name = self.keep(attempt, &staged, outcome, why)?;
            let id = name.trim_start_matches("refs/ralph/attempts/");
            self.context.view.line(format!(
                "{}: the attempt is kept; `ralph-loop attempts {id}` shows it",
                attempt.story
            ));
            let to = attempt.base.clone().unwrap_or_default();
            let why = why.lines().next().unwrap_or_default().to_owned();
            self.journal_note(&state::Event::RolledBack { to, saved_as: name, why });
        }
        fault::point("discard.kept");
        Ok(has_work || was_rolled_back)
    }

    /// Saves what is staged as the attempt's ref, and reads it back.
    pub(in crate::run) fn keep(
        &mut self,
        attempt: &Attempt,
        staged: &Staged,
        outcome: &str,
        why: &str,
    ) -> Result<String, Failure> {
        let account = Account {
            story: &attempt.story,
            number: attempt.number,
            outcome,
            why,
            cost_usd: self.report.cost_usd,
            seconds: self.report.duration.map(|duration| duration.as_secs_f64()),
            run: &attempt.run,
            session: self.report.session.as_deref(),
        };
        let base = attempt.base.as_deref();
        let mut parents: Vec<&str> = base.into_iter().collect();
        parents.extend(self.imported.head.as_deref().filter(|head| Some(*head) != base));
        let git = self.workspace.git();
        let commit = landing::commit_tree(&git, &staged.tree, &parents, &account.message())?;
        let top = &self.workspace.source().top;
        landing::verify(top, &commit, base)?;
        fault::point("discard.saved");
        let name = saved::name_of(&attempt.story, attempt.number);
        self.workspace.source().git().run(&["update-ref", &name, &commit])?;
        Ok(name)
    }

    pub(in crate::run) fn set_aside(&mut self, why: &str) -> Result<Event, Failure> {
        let attempt = self.current()?;
        let headline = why.lines().next().unwrap_or_default();
        let base = attempt.base.as_deref();
        self.books.mark_on_disk(base, vec![Mark::Blocked(attempt.story.clone())], None)?;
        self.journal_note(&state::Event::StorySetAside { why: headline.to_owned() });
        // One entry an iteration: this one tells of the last attempt as well.
        self.outcome = None;
        self.log_entry(&attempt, Status::Blocked, headline)?;
        close_failure(self.context.state())?;
        let story = &attempt.story;
        self.context.view.warn(format!("{story} is blocked: {headline}"));
        Ok(Event::SetAside)
    }

    pub(in crate::run) fn log_entry(
        &self,
        attempt: &Attempt,
        status: Status,
        reason: &str,
    ) -> Result<(), Failure> {
        let reason = Some(reason.to_owned());
        let entry = Entry { reason, ..self.entry(attempt, status) };
        self.books.log(attempt.base.as_deref(), &entry)
    }

    /// The iteration is over: what progress and journal say of it.
    pub(in crate::run) fn end_iteration(
        &mut self,
        state: &State,
        outcome: Outcome,
    ) -> Result<(), Failure> {
        let Some(attempt) = self.attempt.clone() else { return Ok(()) };
        if let Some((outcome, headline)) = self.outcome.take()
            && let Some(status) = logged_as(outcome)
        {
            self.log_entry(&attempt, status, &headline)?;
        }
        self.journal_note(&state::Event::IterationFinished {
            outcome: outcome.word().to_owned(),
            exit_code: state.counters.last_exit_code,
            duration_s: state.counters.last_duration_s,
            tokens: self.report.tokens,
            cost_usd: self.report.cost_usd,
        });
        self.end_attempt()
    }
}

/// How the progress calls an attempt that was kept; none if it tells of it in another way.
fn logged_as(outcome: Outcome) -> Option<Status> {
    match outcome {
        Outcome::Success | Outcome::Blocked => None,
        Outcome::Failed | Outcome::NoChanges | Outcome::Partial => Some(Status::Failed),
        Outcome::Timeout => Some(Status::Timeout),
        Outcome::Quota | Outcome::Budget | Outcome::Interrupted | Outcome::Handoff => {
            Some(Status::Interrupted)
        }
    }
}
