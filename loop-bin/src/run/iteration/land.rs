//! Work that the agent ended well becomes one commit on the target, if it passes.
//!
//! The attempt is saved first, so that nothing after that can lose it. Each commit on the target was
//! checked as it is: where the target moved meanwhile, the work is laid over its new tip and checked
//! again.

use camino::Utf8PathBuf;
use jiff::Timestamp;
use ralph_base::fault;
use ralph_base::state;
use ralph_core::plan::State;
use ralph_project::attempt::clear_failure;
use ralph_project::checks::{Check, one_line};
use ralph_project::progress::{ProgressEntry, ProgressStatus, agents_lines};
use ralph_project::under_way::{Attempt, Phase};

use super::passed::Passed;
use super::prove::Proof;
use super::review::Reviewed;
use super::work::Report;
use crate::exit::Failure;
use crate::landing::{self, Advance, LoopFile, Made, Mark, PlanChanges};
use crate::run::Run;
use crate::run::decide::{NotLanded, Outcome, WorkEnd};
use crate::saved;
use crate::terminal::{Tone, counted};
use crate::workspace::{Staged, Start};

/// How often the work is laid over a target that moves on.
const MOST_MOVES: usize = 20;

impl Run {
    pub(in crate::run) fn land(&mut self) -> Result<WorkEnd, Failure> {
        match self.try_to_land() {
            Ok(()) => Ok(WorkEnd::Landed),
            Err(NotLanded::Work(end)) => Ok(end),
            Err(NotLanded::Failure(failure)) => Err(failure),
        }
    }

    fn try_to_land(&mut self) -> Result<(), NotLanded> {
        let attempt = self.current()?;
        let agents = match self.agents.take() {
            Some(agents) => agents,
            None => self.read_agents_plan(&attempt)?,
        };
        self.keep_agents_progress()?;
        let staged = self.stage_work(&attempt)?;
        if let Some(why) = self.left_history(&attempt) {
            return Err(WorkEnd::failed(why).into());
        }
        if staged.files.is_empty() && staged.embedded.is_empty() {
            let is_checked = !self.context.config.verify.commands.is_empty();
            if !self.report.claimed || !is_checked {
                let why = "the agent changed nothing".to_owned();
                return Err(WorkEnd::Failed(Outcome::NoChanges, why).into());
            }
        }
        self.keep(&attempt, &staged, "interrupted", "the checks were interrupted")?;
        self.set_phase(Phase::Checking)?;
        let changes = PlanChanges { marks: self.marks(&attempt.story), added: vec![agents] };
        self.land_staged(staged, &changes)
    }

    /// What the agent wrote into its file of the progress: its new lines, patterns with their heading.
    /// Before anything is laid over another commit, whose progress has the lines of others.
    fn keep_agents_progress(&self) -> Result<(), Failure> {
        let run_dir = &self.context.run_dir;
        let Some(left) = self.workspace.left(&self.books.progress) else { return Ok(()) };
        let read = |path: Utf8PathBuf| fs_err::read(path).unwrap_or_default();
        let new = agents_lines(&read(run_dir.progress_given()), &left);
        let added = [read(run_dir.progress_added()), new].concat();
        state::replace_unsynced(&run_dir.progress_added(), &added)?;
        Ok(state::replace_unsynced(&run_dir.progress_given(), &left)?)
    }

    /// What the agent did, as a tree. Commits of its own are part of it.
    fn stage_work(&mut self, attempt: &Attempt) -> Result<Staged, Failure> {
        let start = Start::of(attempt);
        self.imported = self.workspace.import(start);
        let staged = self.workspace.stage(start, &self.books.ours())?;
        if !staged.refused.is_empty() {
            let files = ralph_base::listing::named_files(&staged.refused);
            self.context.view.warn(format!("{}: left out of the commit: {files}", attempt.story));
        }
        Ok(staged)
    }

    /// An agent that went back in history, or made its checkout sparse, would land a commit that
    /// removes the work of others.
    fn left_history(&self, attempt: &Attempt) -> Option<String> {
        if self.imported.is_sparse {
            return Some(
                "the agent made its checkout sparse, so files are missing that it did not delete; \
                 keep the full checkout"
                    .to_owned(),
            );
        }
        let (base, head) = (attempt.base.as_deref()?, self.imported.head.as_deref()?);
        let git = self.workspace.source.git();
        if !landing::is_ancestor(&git, head, base).unwrap_or(false) {
            return None;
        }
        Some(format!(
            "the agent moved back to {head:.8}, which does not contain its starting commit \
             {base:.8}; stay on the branch, and only add commits"
        ))
    }

    /// The boxes that change with this commit: its own story, and those given up before.
    fn marks(&self, story: &str) -> Vec<Mark> {
        let mut marks = self.blocked_marks();
        marks.push((story.to_owned(), State::Done));
        marks
    }

    /// The boxes of stories that this run gave up.
    pub(in crate::run) fn blocked_marks(&self) -> Vec<Mark> {
        let set_aside = self.record.counters.all_set_aside();
        set_aside.into_iter().map(|story| (story, State::Blocked)).collect()
    }

    fn land_staged(&mut self, staged: Staged, changes: &PlanChanges) -> Result<(), NotLanded> {
        let (mut staged, mut passed, mut is_looked_at) = (staged, None, false);
        for _ in 0..MOST_MOVES {
            let (tip, is_followed) = self.target.look_again()?;
            let branch = self.target.current_branch();
            let mut attempt = self.current()?;
            if tip != attempt.base || branch != attempt.target {
                (staged, passed) = (self.move_onto(attempt, tip, branch)?, None);
                attempt = self.current()?;
            }
            let now = match passed.take() {
                Some(passed) => passed,
                None => self.check_work(&attempt, std::mem::take(&mut staged))?,
            };
            if !std::mem::replace(&mut is_looked_at, true) {
                self.prove(&attempt, &now)?;
                self.review(&attempt, &now)?;
            }
            if self.lock_landing("landing a story", 1)? {
                // Nobody else lands from here on; what landed before is looked at once more.
                passed = Some(now);
                continue;
            }
            let base = attempt.base.as_deref();
            let files = self.books.files_for(is_followed, base, changes)?;
            let (made, now) = self.commit(&attempt, None, now, &files)?;
            let files = self.as_committed(&made, files);
            self.set_phase(Phase::Landing { commit: made.commit.clone() })?;
            fault::point("land.committed");
            self.books.remember(base, &made, &files);
            let advance = self.advance(base, &made.commit, &files)?;
            fault::point("land.advanced");
            if advance == Advance::Moved {
                log::info!("{}: the target moved; landing again", attempt.story);
                staged = now.staged;
                continue;
            }
            self.tell_advance(&attempt.story, &advance);
            return Ok(self.conclude(&attempt, &made, &now, changes)?);
        }
        Err(WorkEnd::failed("the target moved every time the work was about to land").into())
    }

    /// The loop's files as a commit has them.
    pub(in crate::run) fn as_committed(&self, made: &Made, files: Vec<LoopFile>) -> Vec<LoopFile> {
        if !made.is_altered {
            return files;
        }
        let git = self.workspace.git();
        files.into_iter().map(|file| file.in_commit(&git, &made.commit)).collect()
    }

    /// Moves the target to a commit that was made in the workspace.
    pub(in crate::run) fn advance(
        &mut self,
        base: Option<&str>,
        commit: &str,
        files: &[LoopFile],
    ) -> Result<Advance, Failure> {
        if !self.workspace.is_in_place {
            return self.target.advance(base, commit, files);
        }
        // The commit itself moved the branch.
        self.books.bring_users_texts(files)?;
        self.workspace.settle_index()?;
        Ok(Advance::Landed)
    }

    /// Lays the saved attempt over where the target is now.
    fn move_onto(
        &mut self,
        attempt: Attempt,
        tip: Option<String>,
        branch: String,
    ) -> Result<Staged, NotLanded> {
        let story = &attempt.story;
        self.context.view.line(format!("{story}: the target moved; checking the work again"));
        let root = self.context.project.root();
        let Some(saved) = saved::commit_of(&self.workspace.source.git(), root, &attempt)? else {
            let why = "its saved work no longer exists, so it cannot land";
            return Err(WorkEnd::failed(why).into());
        };
        let laid = self.lay_over(&saved, Start { tip: tip.as_deref(), branch: &branch });
        if let Err(NotLanded::Work(_)) = laid {
            // The attempt as it was, for whoever keeps it. An agent that waits cannot fix it: its
            // workspace was at another commit.
            self.workspace.reset(Start::of(&attempt))?;
            self.workspace.overlay(&saved, Start::of(&attempt))?;
            self.end_session("the attempt starts over")?;
        }
        let staged = laid?;
        let progress = self.workspace.left(&self.books.progress).unwrap_or_default();
        state::replace_unsynced(&self.context.run_dir.progress_given(), &progress)?;
        let moved = Attempt { base: tip, target: branch, ..attempt };
        self.put_under_way(&moved)?;
        self.attempt = Some(moved);
        Ok(staged)
    }

    /// The changes of a commit, laid over another one and staged there.
    pub(in crate::run) fn lay_over(
        &mut self,
        commit: &str,
        start: Start<'_>,
    ) -> Result<Staged, NotLanded> {
        self.prepare_workspace(start)?;
        if let Some(said) = self.workspace.overlay(commit, start)? {
            let theirs = self.landed_since(commit, start.tip).unwrap_or_default();
            let why =
                format!("the work conflicts with what landed in the meantime{theirs}: {said}");
            return Err(WorkEnd::Conflict(why).into());
        }
        Ok(self.workspace.stage(start, &self.books.ours())?)
    }

    fn tell_advance(&mut self, story: &str, advance: &Advance) {
        let Advance::Waits(cause) = advance else { return };
        let (branch, waiting) = (&self.target.branch, self.target.current_branch());
        let why = cause.why(branch);
        if cause.ends_run() {
            self.target_trouble = Some(why);
            return;
        }
        let way_on = cause.way_on(branch, &waiting);
        self.context.view.warn(format!(
            "{story}: the work waits on {waiting} and your checkout is unchanged: {why}; {way_on}"
        ));
    }

    /// What follows from a commit that is on the target.
    fn conclude(
        &mut self,
        attempt: &Attempt,
        made: &Made,
        passed: &Passed,
        changes: &PlanChanges,
    ) -> Result<(), Failure> {
        let story = &attempt.story;
        let short: String = made.commit.chars().take(8).collect();
        let files = counted(passed.staged.files.len(), "file", "files");
        let told = told_of_checks(&passed.checks);
        self.forget_told()?;
        // What has been fixed by now may not fail again.
        let failing = |check: &Check| Some((check.command.clone(), check.excused.clone()?));
        self.record.failed_before = passed.checks.iter().filter_map(failing).collect();
        let mut place = String::new();
        if self.target.is_waiting {
            place = format!(" on {}", self.target.current_branch());
        }
        let done = format!("{story} done: commit {short}{place}, {files}{told}");
        self.context.view.toned(Tone::Good, done);
        if let Some(what) = &passed.weakened {
            let review = format!("{story}: review the tests: {what}");
            self.context.view.toned(Tone::Warning, review);
        }
        for (about, what) in self.remarks(passed) {
            self.journal_note(&state::Event::Remarked { about: about.to_owned(), what });
        }
        if made.is_by_nobody && !std::mem::replace(&mut self.is_author_known, true) {
            self.context.view.warn(
                "git does not know who you are, so stories are committed as Ralph \
                 <ralph@localhost>; set `git config user.name` and `git config user.email`",
            );
        }
        let entry = ProgressEntry {
            commit: Some(short),
            verify: passed.checks.iter().map(|check| (check.name(), check.passed())).collect(),
            files_changed: passed
                .staged
                .files
                .iter()
                .map(|file| file.display().to_string())
                .collect(),
            is_unchecked: passed.checks.is_empty(),
            weakened: passed.weakened.clone(),
            ..self.entry(attempt, ProgressStatus::Success)
        };
        self.finish_landing(attempt, &made.commit, &entry, changes)
    }

    /// The same after a crash: what is done already is not done twice.
    pub(in crate::run) fn finish_landing(
        &mut self,
        attempt: &Attempt,
        commit: &str,
        entry: &ProgressEntry,
        changes: &PlanChanges,
    ) -> Result<(), Failure> {
        let key = saved::key_of(self.context.project.root(), attempt);
        let git = self.workspace.source.git();
        saved::put(&git, &key, attempt.number, &attempt.run, commit)?;
        self.books.clear_pending(Some(commit))?;
        self.books.mark_on_disk(Some(commit), changes)?;
        self.books.take_progress(&self.context.run_dir)?;
        self.workspace.settle_index()?;
        if !self.books.has_entry(Some(commit), entry, &attempt.began) {
            self.record.counters.unchecked += u64::from(entry.is_unchecked);
            self.journal_note(&state::Event::Committed { commit: commit.to_owned() });
            fault::point("land.journaled");
            self.books.log(entry)?;
            self.journal_note(&state::Event::StoryDone);
        }
        clear_failure(self.context.state(), &attempt.story)?;
        fault::point("land.logged");
        Ok(())
    }

    /// What the progress says about an attempt, before anything is known but how it ended.
    pub(in crate::run) fn entry(&self, attempt: &Attempt, status: ProgressStatus) -> ProgressEntry {
        ProgressEntry {
            iteration: attempt.iteration,
            story: attempt.story.clone(),
            status,
            commit: None,
            time: Timestamp::now(),
            reason: None,
            duration: self.report.duration,
            tokens: self.report.tokens,
            cost_usd: self.report.cost_usd,
            verify: Vec::new(),
            is_unchecked: false,
            files_changed: Vec::new(),
            weakened: None,
            proof: self.report.proof.as_ref().map(Proof::told),
            review: self.report.review.as_ref().map(Reviewed::told),
            remarks: self.report.review.iter().flat_map(Reviewed::remarks).collect(),
            summary: self.report.summary.clone(),
        }
    }

    /// What a second look at the work gave that the user should look at as well.
    fn remarks(&self, passed: &Passed) -> Vec<(&'static str, String)> {
        let Report { proof, review, .. } = &self.report;
        let weakened = passed.weakened.iter().map(|what| ("a test was weakened", what.clone()));
        let hollow = proof.iter().filter(|proof| !proof.is_good());
        let hollow = hollow.map(|proof| ("not proven", proof.told()));
        let mut remarks: Vec<_> = weakened.chain(hollow).collect();
        let found = review.iter().flat_map(Reviewed::remarks);
        remarks.extend(found.map(|what| ("review", what)));
        remarks
    }
}

/// What the line about a story that is done says of its checks, where that is not that they passed.
fn told_of_checks(checks: &[Check]) -> String {
    let red = checks.iter().filter(|check| check.excused.is_some());
    let red: Vec<String> = red.map(|check| format!("`{}`", one_line(&check.command))).collect();
    match (checks, red.as_slice()) {
        ([], _) => ", unchecked".to_owned(),
        (_, []) => String::new(),
        (_, red) => format!(", still red (ignored): {}", red.join(", ")),
    }
}
