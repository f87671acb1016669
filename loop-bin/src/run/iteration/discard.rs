//! An attempt that does not land is kept as a ref of the project, and the workspace is free again.

use ralph_base::fault;
use ralph_base::state::{self, StoryKey};
use ralph_core::plan::State;
use ralph_project::progress::{ProgressEntry, ProgressStatus};
use ralph_project::under_way::Attempt;

use crate::exit::Failure;
use crate::landing::PlanChanges;
use crate::run::Run;
use crate::run::decide::{Discarding, Outcome};
use crate::run::notify::Notice;
use crate::saved::{self, Account};
use crate::terminal::Tone;
use crate::workspace::{Staged, Start};

/// What the view shows of a failing output.
const SHOWN_LINES: usize = 5;

impl Run {
    /// Keeps an attempt that does not land, says so in plan, progress and journal, and frees the
    /// workspace. Returns what the iteration is called.
    pub(in crate::run) fn discard(&mut self, kept: Discarding) -> Result<Outcome, Failure> {
        let attempt = self.current()?;
        let story = &attempt.story;
        if kept.set_aside.is_some() {
            self.record.counters.set_aside.insert(story.clone());
        }
        self.record.discarding = Some(kept.clone());
        self.save();
        self.free_landing();
        self.end_session("the attempt has ended")?;
        // It is kept now rather than by the next start, but for those who are asked twice to end.
        self.lock_landing("saving an attempt", 2)?;
        let Discarding { outcome, why, set_aside } = kept;
        self.show_failure(story, &why);
        if self.workspace.is_in_place && self.context.run_dir.plan_given().is_file() {
            self.read_agents_plan(&attempt)?;
        }
        if self.workspace.exists() && self.keep_attempt(&attempt, outcome.word(), &why)? {
            self.record.counters.moved.insert(story.clone());
        }
        if matches!(outcome, Outcome::Failed | Outcome::Timeout | Outcome::NoChanges) {
            self.learn(story, &why)?;
        }
        if self.workspace.is_in_place {
            self.workspace.reset(Start::of(&attempt))?;
        }
        if self.books.untick(&self.target, story)? {
            let what = format!("ticked {story} in the project's own plan before it landed");
            self.report_findings(vec![format!("{what}; undone")]);
        }
        let outcome = if set_aside.is_some() { Outcome::Blocked } else { outcome };
        if let Some(why) = &set_aside {
            self.set_aside(story, attempt.base.as_deref(), why)?;
        }
        let reason = set_aside.unwrap_or(why).lines().next().unwrap_or_default().to_owned();
        let entry =
            ProgressEntry { reason: Some(reason), ..self.entry(&attempt, logged_as(outcome)) };
        if !self.books.has_entry(attempt.base.as_deref(), &entry, &attempt.began) {
            self.books.log(&entry)?;
        }
        fault::point("discard.logged");
        self.end_iteration(outcome)?;
        Ok(outcome)
    }

    pub(in crate::run) fn show_failure(&self, story: &str, why: &str) {
        let headline = why.lines().next().unwrap_or_default();
        self.context.view.toned(Tone::Warning, format!("{story}: {headline}"));
        let is_new = |line: &&str| !line.trim().is_empty() && !headline.ends_with(line.trim());
        let details: Vec<&str> = why.lines().skip(1).filter(is_new).collect();
        for line in details.iter().skip(details.len().saturating_sub(SHOWN_LINES)) {
            self.context.view.toned(Tone::Faint, format!("{story}:   {line}"));
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
        let start = Start::of(attempt);
        let imported = self.workspace.import(start);
        let was_rolled_back = !imported.discarded.is_empty();
        self.imported = imported;
        let staged = match self.workspace.stage(start, &self.books.ours()) {
            Ok(staged) => staged,
            // The work is there, and the next start keeps it.
            Err(error) if error.will_pass() => return Err(error),
            Err(error) => {
                let story = &attempt.story;
                self.context.view.warn(format!("{story}: the copy cannot be read: {error}"));
                return Ok(was_rolled_back);
            }
        };
        let has_work = !staged.files.is_empty() || self.imported.head.is_some();
        if has_work {
            self.keep_staged(attempt, &staged, outcome, why)?;
        }
        fault::point("discard.kept");
        Ok(has_work || was_rolled_back)
    }

    /// Keeps what is staged, and says so.
    pub(in crate::run) fn keep_staged(
        &mut self,
        attempt: &Attempt,
        staged: &Staged,
        outcome: &str,
        why: &str,
    ) -> Result<(), Failure> {
        let saved_as = self.keep(attempt, staged, outcome, why)?;
        let (Attempt { story, base, .. }, id) = (attempt, saved::shown(&saved_as));
        let shows = format!("view it with `ralph-loop attempts {id}`");
        self.context.view.line(format!("{story}: attempt saved; {shows}"));
        let to = base.clone().unwrap_or_default();
        let why = why.lines().next().unwrap_or_default().to_owned();
        self.journal_note(&state::Event::RolledBack { to, saved_as, why });
        Ok(())
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
            key: saved::key_of(self.context.project.root(), attempt),
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
        let top = &self.workspace.source.top;
        Ok(saved::keep(&self.workspace.git(), top, &staged.tree, &parents, &account)?)
    }

    /// Gives a story up for this run.
    pub(in crate::run) fn set_aside(
        &mut self,
        story: &str,
        base: Option<&str>,
        why: &str,
    ) -> Result<(), Failure> {
        let why = why.lines().next().unwrap_or_default();
        self.record.counters.set_aside(story);
        let key = StoryKey::new(&self.context.plan_name.borrow(), story);
        saved::forget_wish(&self.workspace.source.git(), &key)?;
        self.books.asked_for.retain(|one| one != story);
        let marks = vec![(story.to_owned(), State::Blocked)];
        self.books.mark_on_disk(base, &PlanChanges { marks, ..PlanChanges::default() })?;
        self.context.note(Some(story), &state::Event::StorySetAside { why: why.to_owned() });
        self.context.view.toned(Tone::Bad, format!("{story} is blocked: {why}"));
        self.notify(&Notice { event: "blocked", story, reason: why, ..Notice::default() });
        Ok(())
    }

    /// The iteration is over, and nothing is under way any more.
    pub(in crate::run) fn end_iteration(&mut self, outcome: Outcome) -> Result<(), Failure> {
        let counters = &self.record.counters;
        self.journal_note(&state::Event::IterationFinished {
            outcome: outcome.word().to_owned(),
            exit_code: counters.last_exit_code,
            duration_s: counters.last_duration_s,
            tokens: self.report.tokens,
            cost_usd: self.report.cost_usd,
        });
        self.end_attempt()?;
        (self.record.story, self.record.discarding) = (None, None);
        self.save();
        self.free_landing();
        Ok(())
    }
}

/// How the progress calls an iteration.
fn logged_as(outcome: Outcome) -> ProgressStatus {
    match outcome {
        Outcome::Success => ProgressStatus::Success,
        Outcome::Blocked => ProgressStatus::Blocked,
        Outcome::Failed | Outcome::NoChanges | Outcome::Partial => ProgressStatus::Failed,
        Outcome::Timeout => ProgressStatus::Timeout,
        Outcome::Quota | Outcome::Budget | Outcome::Interrupted | Outcome::Handoff => {
            ProgressStatus::Interrupted
        }
    }
}
