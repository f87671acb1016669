//! Work that the agent ended well becomes one commit on the target, if it passes.
//!
//! The attempt is saved first, so that nothing after that can lose it. Each commit on the target was
//! checked as it is: where the target moved meanwhile, the work is laid over its new tip and checked
//! again.

use jiff::Timestamp;
use ralph_base::fault;
use ralph_base::state;
use ralph_core::plan::AgentsPlan;
use ralph_project::attempt::clear_failure;
use ralph_project::progress::{ProgressEntry, ProgressStatus};
use ralph_project::under_way::{Attempt, Phase};

use super::begin::start_of;
use super::check::Passed;
use crate::exit::Failure;
use crate::landing::{self, Advance, LoopFile, Made, Mark};
use crate::run::Run;
use crate::run::decide::{Landing, WorkEnd};
use crate::saved;
use crate::terminal::counted;
use crate::workspace::{Overlay, Staged, Start};

/// How often the work is laid over a target that moves on.
const MOST_MOVES: usize = 20;

/// What a landing changes in the plan: boxes, and stories that the agent added.
#[derive(Debug, Clone)]
pub(in crate::run) struct PlanChanges {
    pub(in crate::run) marks: Vec<Mark>,
    pub(in crate::run) agents: Option<AgentsPlan>,
}

impl Run {
    pub(in crate::run) fn land(&mut self) -> Result<WorkEnd, Failure> {
        let landing = self.try_to_land()?;
        if matches!(landing, Landing::Conflict(_)) {
            // Its workspace is at another commit by now, so the agent that waits cannot fix it.
            self.end_session("the attempt begins anew")?;
        }
        Ok(landing.into())
    }

    fn try_to_land(&mut self) -> Result<Landing, Failure> {
        let mut attempt = self.current()?;
        let agents = match self.agents.take() {
            Some(agents) => agents,
            None => self.read_agents_plan(&attempt)?,
        };
        let staged = self.stage_work(&attempt)?;
        if let Some(why) = self.left_history(&attempt) {
            return Ok(Landing::Failed(why));
        }
        if staged.files.is_empty() && staged.embedded.is_empty() {
            let is_checked = !self.context.config.verify.commands.is_empty();
            if !self.report.claimed || !is_checked {
                return Ok(Landing::NothingChanged);
            }
        }
        self.keep(&attempt, &staged, "interrupted", "the checks were interrupted")?;
        self.enter(&mut attempt, Phase::Checking)?;
        let marks = self.marks(&attempt.story);
        let changes = PlanChanges { marks, agents: Some(agents) };
        self.land_staged(&mut attempt, staged, &changes)
    }

    /// What the agent did, as a tree. Commits of its own are part of it.
    fn stage_work(&mut self, attempt: &Attempt) -> Result<Staged, Failure> {
        let start = start_of(attempt);
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
                "the agent made its checkout sparse, so files are missing that it did not remove; \
                 leave the checkout whole"
                    .to_owned(),
            );
        }
        let (base, head) = (attempt.base.as_deref()?, self.imported.head.as_deref()?);
        let git = self.workspace.source().git();
        if !landing::is_ancestor(&git, head, base).unwrap_or(false) {
            return None;
        }
        Some(format!(
            "the agent went back to {head:.8}, before the commit {base:.8} that it was given; stay \
             on the branch, and add to it"
        ))
    }

    /// The boxes that change with this commit: its own story, and those given up before.
    fn marks(&self, story: &str) -> Vec<Mark> {
        let set_aside = self.record.counters.set_aside.iter();
        let mut marks: Vec<Mark> = set_aside.cloned().map(Mark::Blocked).collect();
        marks.push(Mark::Done(story.to_owned()));
        marks
    }

    fn enter(&mut self, attempt: &mut Attempt, phase: Phase) -> Result<(), Failure> {
        attempt.phase = phase;
        attempt.save(&self.context.run_dir)?;
        self.attempt = Some(attempt.clone());
        Ok(())
    }

    fn land_staged(
        &mut self,
        attempt: &mut Attempt,
        staged: Staged,
        changes: &PlanChanges,
    ) -> Result<Landing, Failure> {
        let mut staged = staged;
        for _ in 0..MOST_MOVES {
            self.target.look_again()?;
            let (tip, is_followed) = self.target.look()?;
            let branch = self.target.current_branch();
            if tip != attempt.base || branch != attempt.target {
                staged = match self.move_onto(attempt, tip, branch)? {
                    Ok(staged) => staged,
                    Err(landing) => return Ok(landing),
                };
            }
            let passed = match self.check_work(attempt, staged.clone())? {
                Ok(passed) => passed,
                Err(landing) => return Ok(landing),
            };
            let files = self.books.files_for(
                is_followed,
                attempt.base.as_deref(),
                changes.marks.clone(),
                changes.agents.clone(),
            )?;
            let (made, passed) = match self.commit(attempt, None, passed, &files)? {
                Ok(made) => made,
                Err(landing) => return Ok(landing),
            };
            let files = self.as_committed(&made, files);
            self.enter(attempt, Phase::Landing { commit: made.commit.clone() })?;
            fault::point("land.committed");
            let base = attempt.base.clone();
            self.books.remember(base.as_deref(), &made.commit, &files);
            let advance = self.advance(base.as_deref(), &made.commit, &files)?;
            fault::point("land.advanced");
            if advance == Advance::Moved {
                log::info!("{}: the target moved; landing again", attempt.story);
                staged = passed.staged;
                continue;
            }
            self.tell_advance(&attempt.story, &advance);
            self.conclude(attempt, &made, &passed, changes)?;
            return Ok(Landing::Done);
        }
        Ok(Landing::Failed("the target moved each time the work was about to land".to_owned()))
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
        if !self.workspace.is_in_place() {
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
        attempt: &mut Attempt,
        tip: Option<String>,
        branch: String,
    ) -> Result<Result<Staged, Landing>, Failure> {
        let story = attempt.story.clone();
        self.context.view.line(format!("{story}: the target moved; checking on its new state"));
        let git = self.workspace.source().git();
        let saved = saved::name_of(&story, attempt.number);
        let Some(saved) = landing::resolve(&git, &saved)? else {
            return Ok(Err(Landing::Failed(format!("{saved} is gone, so the work cannot land"))));
        };
        let start = Start { tip: tip.as_deref(), branch: &branch };
        self.prepare_workspace(start)?;
        match self.workspace.overlay(&saved, start)? {
            Overlay::Conflict(said) => {
                // The attempt as it was, for whoever keeps it.
                let begun_from = start_of(attempt);
                self.workspace.reset(begun_from)?;
                self.workspace.overlay(&saved, begun_from)?;
                Ok(Err(Landing::Conflict(format!(
                    "the work does not fit on what landed meanwhile: {said}"
                ))))
            }
            Overlay::Done => {
                let staged = self.workspace.stage(start, &self.books.ours())?;
                (attempt.base, attempt.target) = (tip, branch);
                self.put_under_way(attempt)?;
                Ok(Ok(staged))
            }
        }
    }

    fn tell_advance(&mut self, story: &str, advance: &Advance) {
        let Advance::Waits(cause) = advance else { return };
        let (branch, waiting) = (self.target.branch(), self.target.current_branch());
        let why = cause.why(branch);
        if cause.ends_run() {
            self.target_trouble = Some(why);
            return;
        }
        let way_on = cause.way_on(branch, &waiting);
        self.context.view.warn(format!(
            "{story}: the work waits on {waiting}, your checkout stays as it is: {why}; {way_on}"
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
        let unchecked = if passed.checks.is_empty() { ", unchecked" } else { "" };
        let place = match self.target.is_waiting() {
            true => format!(" on {}", self.target.current_branch()),
            false => String::new(),
        };
        self.context.view.line(format!("{story} done: commit {short}{place}, {files}{unchecked}"));
        if let Some(what) = &passed.weakened {
            self.context.view.line(format!("{story}: look at the tests: {what}"));
            self.journal_note(&state::Event::TestsWeakened { what: what.clone() });
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
        let git = self.workspace.source().git();
        let name = saved::name_of(&attempt.story, attempt.number);
        git.run(&["update-ref", &name, commit])?;
        self.books.clear_pending(Some(commit))?;
        self.books.mark_on_disk(Some(commit), changes.marks.clone(), changes.agents.clone())?;
        let given = fs_err::read(self.context.run_dir.progress_given()).unwrap_or_default();
        if let Some(left) = self.workspace.left(&self.books.progress) {
            self.books.take_progress(Some(commit), &given, &left)?;
        }
        self.workspace.settle_index()?;
        if !self.books.has_entry(Some(commit), entry, &attempt.began) {
            self.journal_note(&state::Event::Committed { commit: commit.to_owned() });
            fault::point("land.journaled");
            self.books.log(Some(commit), entry)?;
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
            files_changed: Vec::new(),
            weakened: None,
            summary: self.report.summary.clone(),
        }
    }
}
