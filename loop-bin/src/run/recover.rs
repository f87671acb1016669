//! What a crash left: finished or undone before anything new begins.

use std::time::Duration;

use camino::Utf8Path;
use jiff::Timestamp;
use ralph_core::config::{Mode, RollbackOn};
use ralph_core::git;
use ralph_core::settle::{self, Attempt, Onlooker, Outcome, Recovered, Report};
use ralph_core::state;

use super::record::Record;
use super::refuge;
use super::scripted::Scripted;
use super::stage::{Abandoned, Stage};
use super::uncounted;
use crate::agent;
use crate::exit::Failure;
use crate::terminal::counted;

impl Stage {
    /// Takes over from a run that never got to its end, if there was one, and cleans up after it.
    pub(super) fn take_over(&mut self, before: Option<Record>) -> Result<(), Failure> {
        self.remove_stale_files()?;
        let (ended, before) = match before {
            Some(before) if before.finish.is_some() => (Some(before), None),
            other => (None, other),
        };
        if let Some(before) = &before {
            let left = agent::end_leftovers(&before.run);
            if left > 0 {
                let processes = counted(left, "process", "processes");
                self.view.line(format!("ended {processes} of a run that was killed"));
            }
            let when = &before.started_at;
            self.view.line(match self.is_of_this_mode(before) {
                true => format!("going on with the run that began at {when}"),
                false => format!("the run that began at {when} was killed; this one is another"),
            });
        }
        let under_way = Attempt::load(self.state())?;
        if before.is_some() || under_way.is_some() {
            self.end_orphaned_commit();
            git::remove_dead_locks(&self.repo, &[]);
        }
        let moved = under_way.as_ref().map(|attempt| self.is_moved_since(attempt)).transpose()?;
        let moved = moved.unwrap_or(false);
        let was_working = under_way.is_some() || self.state().planning().exists();
        let under_way = under_way.is_some();
        match (under_way, moved) {
            (true, false) => drop(self.repo.quit_operation()?),
            // A rebase that the user began, for instance.
            (true, true) => self.repo.refuse_if_busy()?,
            (false, _) => {}
        }
        refuge::remove(&self.repo)?;
        self.tell_of_stash();
        let is_aside = ended.as_ref().is_some_and(|ended| ended.aside.is_some());
        if before.is_some() || under_way || is_aside {
            self.put_back_refs("it was removed")?;
            self.tell_of_left_out();
        }
        git::forget_removed(&self.repo)?;
        if git::finish_interrupted(&self.repo, self.state())? {
            self.view.line("finished a rollback that was interrupted");
        }
        let killed = before.as_ref().map(|before| before.run.clone());
        let mut crashed = None;
        let goes_on = before.as_ref().is_some_and(|before| self.is_of_this_mode(before));
        let scripted = before.as_ref().and_then(|before| before.scripted).filter(|_| !was_working);
        let was_about_to = scripted.is_some_and(|scripted| scripted.is_before_iteration);
        if let Some(before) = before {
            self.aside.clone_from(&before.aside);
            if goes_on {
                self.scripted.set(scripted);
                let mut before = before.caught_up(self.state());
                // Whoever moved the branch since has looked at it.
                crashed = if moved { None } else { self.count_crash(&mut before)? };
                self.go_on_from(before);
            }
        }
        self.take_back_left_draft()?;
        if let Some(aside) = ended.and_then(|ended| ended.aside) {
            // The run got to its end, but could not put the user's work back; this one will.
            self.aside = Some(aside);
        }
        let is_done = match moved {
            true => self.abandon_attempt().map(|()| false),
            false => self.finish_or_undo(killed.as_deref()),
        }?;
        if goes_on {
            self.count_on(was_about_to || was_working && !is_done);
            // The iteration is made again, and may be killed again.
            self.counters.ended = self.counters.ended.min(self.counters.iteration);
        }
        crashed.map_or(Ok(()), |attempt| self.tell_of_crash(attempt))
    }

    /// What was being committed is, and any other attempt is taken back. Tells whether its story is
    /// done.
    fn finish_or_undo(&mut self, killed: Option<&str>) -> Result<bool, Failure> {
        self.find_checkpoint_again()?;
        let journal = self.journal();
        let recovered = settle::recover(&self.place(&journal))?;
        match &recovered {
            Recovered::Nothing => {}
            Recovered::Finished { story, taken_out, .. } => {
                // Whoever was killed may have told of it already, and so it is counted.
                let is_told = |run: &str| uncounted::is_told(self.state(), run, story);
                self.counters.commits += u64::from(!killed.is_some_and(is_told));
                self.view.line(format!("{story} was committed already; finished its bookkeeping"));
                self.tell_taken_out(story, taken_out.as_deref());
            }
            Recovered::Undone { story, findings, is_changed } => {
                let then = match is_changed {
                    false => "its work is as it was, so it is checked and committed once more",
                    true => "files were changed since, so it is not committed as it is",
                };
                self.view.line(format!("{story} was being committed when a run was ended; {then}"));
                self.tell_findings("somebody", findings);
            }
        }
        let attempt = Attempt::load(self.state())?;
        self.attempt = attempt;
        match recovered {
            Recovered::Undone { is_changed: false, .. } => self.settle_again(),
            other => {
                self.undo_attempt("left by a run that was ended")?;
                Ok(matches!(other, Recovered::Finished { .. }))
            }
        }
    }

    /// Without its checkpoint an attempt could be neither judged nor taken back.
    pub(super) fn find_checkpoint_again(&self) -> Result<(), Failure> {
        if let Some(story) = settle::find_checkpoint_again(&self.repo, self.state())? {
            let path = self.state().checkpoint();
            self.view.warn(format!(
                "{path} was removed or damaged; found again by what is known of the attempt at {story}"
            ));
        }
        Ok(())
    }

    fn go_on_from(&mut self, before: Record) {
        self.counters = before.counters;
        self.earlier = Duration::try_from_secs_f64(before.elapsed_s).unwrap_or_default();
        self.started_at = before.started_at;
    }

    /// An iteration that was interrupted is made again, and is counted once.
    fn count_on(&mut self, was_interrupted: bool) {
        let iteration = &mut self.counters.iteration;
        *iteration = iteration.saturating_sub(u64::from(was_interrupted));
        let most = self.config.run.max_iterations;
        if most > 0 {
            let made = counted(*iteration as usize, "iteration", "iterations");
            self.view.line(format!("it had made {made}, which count towards the limit of {most}"));
        }
    }

    /// What a planning run may take and has taken is not the limit of a building one.
    fn is_of_this_mode(&self, before: &Record) -> bool {
        before.planning == (self.config.run.mode == Mode::Planning)
    }

    fn is_moved_since(&self, attempt: &Attempt) -> Result<bool, Failure> {
        let journal = self.journal();
        Ok(settle::is_moved_since(&self.place(&journal), attempt)?)
    }

    /// Somebody committed, reset or checked out something since the run was last alive: that stays,
    /// and what is in the tree is taken for theirs.
    fn abandon_attempt(&mut self) -> Result<(), Failure> {
        let Some(attempt) = Attempt::load(self.state())? else { return Ok(()) };
        let journal = self.journal();
        let findings = settle::abandon(&self.place(&journal), &attempt)?;
        self.tell_findings("somebody", &findings);
        let story = attempt.story;
        self.view.line(format!(
            "the branch moved since the run was interrupted; kept as it is; {story} begins anew"
        ));
        self.abandoned = Some(Abandoned { story, why: "the branch moved since" });
        Ok(())
    }

    /// Saved states whose refs somebody removed while a run was under way.
    pub(super) fn put_back_refs(&self, how: &str) -> Result<(), Failure> {
        let put = git::put_back_removed(&self.repo)?;
        for name in put.back {
            self.view.warn(format!("{name} is there again; {how}"));
        }
        for name in put.gone {
            self.view.warn(format!(
                "{name} is lost; {how}, and the commit that it held cannot be found"
            ));
        }
        Ok(())
    }

    /// A commit goes on when its loop is killed, and so does a hook of the user's that hangs.
    fn end_orphaned_commit(&self) {
        if git::is_commit_orphaned(self.repo.top()) {
            self.view.line("a commit or its git hooks outlived a run that was killed; waiting, then ending them");
            git::end_orphaned_commit(self.repo.top(), &|| self.interrupts.signal().is_some());
        }
    }

    /// What processes left that were killed in the middle of a write.
    pub(super) fn remove_stale_files(&self) -> Result<(), Failure> {
        let sessions = self.state().sessions();
        let folders = [self.state().root(), &sessions].into_iter().chain(self.plan.parent());
        for folder in folders.chain(Utf8Path::from_path(self.repo.git_dir())) {
            state::remove_stale_temporaries(folder)?;
        }
        for session in sessions.read_dir_utf8().into_iter().flatten().flatten() {
            state::remove_stale_temporaries(session.path())?;
        }
        Ok(())
    }

    /// The agent had ended well when the crash came, so its work is not thrown away.
    fn settle_again(&mut self) -> Result<bool, Failure> {
        let Some(attempt) = self.attempt.clone() else { return Ok(false) };
        let journal = self.journal();
        let stop = || self.interrupts.signal().is_some();
        let report = Report { time_left: self.time_left(), ..Report::default() };
        let onlooker = Onlooker { stop: &stop, ..Onlooker::default() };
        let outcome = settle::settle(&self.place(&journal), &attempt, &report, onlooker)?;
        if let Outcome::Done(_) = outcome {
            self.counters.commits += 1;
            self.attempt = None;
            return Ok(true);
        }
        self.undo_attempt("its checks did not pass again after a crash").map(|()| false)
    }

    /// An attempt that was under way goes back to its checkpoint, unless the user wants no
    /// rollback: then the tree stays as it is, and what is in it may be the user's by now.
    pub(super) fn undo_attempt(&mut self, why: &str) -> Result<(), Failure> {
        let Some(attempt) = self.attempt.clone() else { return Ok(()) };
        let journal = self.journal();
        let repaired = settle::repair_interrupted(&self.place(&journal), &attempt)?;
        self.tell_findings("somebody", &repaired.findings);
        self.attempt = None;
        if self.config.rollback.on == RollbackOn::Never {
            let why = "the settings say that no attempt is taken back";
            self.abandoned = Some(Abandoned { story: attempt.story, why });
            return Ok(settle::end(self.state())?);
        }
        if git::Checkpoint::load(self.state())?.is_some_and(|found| found.has_uncommitted()) {
            // What a script left before the attempt comes back with its checkpoint.
            self.scripted.set(Some(Scripted::until_now(Timestamp::now().as_second())));
        }
        let changed = settle::changed_files(&self.place(&journal), &attempt)?;
        // Commits that change no file of the user's are no less the attempt's.
        let is_changed = !changed.is_empty() || self.repo.head()? != attempt.head;
        if let Some(restored) = self.take_back(&attempt, is_changed, why)? {
            let id = restored.saved.id();
            self.view.line(format!(
                "took back an attempt at {} that was under way; what you changed since is in it as \
                 well; `ralph-loop undo {id}` brings it back",
                attempt.story
            ));
            self.tell_left_alone(&restored.left_alone);
            // The plan may be a file that went back as well.
            if fs_err::read(&attempt.plan).ok().as_ref() != Some(&repaired.bytes) {
                state::replace_users(&attempt.plan, &repaired.bytes)?;
            }
        }
        Ok(settle::end(self.state())?)
    }
}
