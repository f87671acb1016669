//! What an earlier run left, and what is done about it. What is to be done is decided in
//! `decide/recovery.rs`.

use ralph_base::state::{Lock, RunDir};
use ralph_core::git::{Git, Repo};
use ralph_core::plan::State;
use ralph_project::progress::{ProgressEntry, ProgressStatus};
use ralph_project::project::Project;
use ralph_project::under_way::{Attempt, Phase};

use super::preflight::run_dir;
use crate::agent;
use crate::exit::Failure;
use crate::landing::{self, PlanChanges};
use crate::run::decide::{
    Counters, Discarding, Found, Outcome, Recovery, SessionEnd, WorkEnd, recovery,
};
use crate::run::iteration::Report;
use crate::run::record::attempt_left;
use crate::run::{Run, RunRecord};
use crate::saved::{self, SavedAttempt};
use crate::terminal::counted;
use crate::workspace::{Source, Start, in_place};

/// What the progress says of an attempt whose loop was killed.
const KILLED: &str = "the loop was killed while the agent was working";

/// What the next start would do, for those who only look; nothing while a loop runs.
pub(crate) fn look(project: &Project) -> Result<Vec<String>, Failure> {
    // Where there is no repository, nothing was ever left.
    let Ok(repo) = Repo::open(project.root()) else { return Ok(Vec::new()) };
    let run_dir = run_dir(&repo)?;
    if Lock::holder(&run_dir.lock()).is_some() {
        return Ok(Vec::new());
    }
    let source = Source::of(project, &repo)?;
    let mut told = Vec::new();
    for folder in
        [run_dir.clone()].into_iter().chain(run_dir.workers().into_iter().map(|(_, folder)| folder))
    {
        let found = find(&folder, &source)?;
        told.extend(recovery(&found).iter().filter_map(Recovery::told));
    }
    told.dedup();
    Ok(told)
}

/// Whether a commit has come to any branch.
fn is_on_a_branch(git: &Git, commit: &str) -> bool {
    let list = ["for-each-ref", "--count=1", "--contains", commit, "refs/heads"];
    git.line(&list).is_ok_and(|found| !found.is_empty())
}

/// What an earlier run left.
pub(super) fn find(run_dir: &RunDir, source: &Source) -> Result<Found, Failure> {
    let record = RunRecord::load(run_dir)?;
    let attempt = attempt_left(run_dir)?;
    let is_landed = match &attempt {
        // It may wait on a branch of ours, or have come from there.
        Some(Attempt { phase: Phase::Landing { commit }, .. }) => {
            is_on_a_branch(&source.git(), commit)
        }
        _ => false,
    };
    let unfinished = record.as_ref().filter(|record| record.finish.is_none());
    let processes = unfinished.map_or(0, |record| agent::left_by(&record.run).len());
    let is_behind = landing::is_interrupted(source);
    Ok(Found { record, attempt, is_landed, is_behind, processes })
}

impl Run {
    /// How much is left of what a run may do that was killed.
    pub(in crate::run) fn show_used(&self) {
        let (used, most) = (self.record.counters.iteration, self.context.config.run.max_iterations);
        if most > 0 && used > 0 {
            let most = counted(most as usize, "iteration", "iterations");
            self.context.view.line(format!("resuming: {used} of {most} already used"));
        }
    }

    /// Does what has to be done, and counts on from where the run was.
    pub(super) fn recover(&mut self, found: &Found) -> Result<(), Failure> {
        let steps = recovery(found);
        if let (Some(Recovery::CountOn { iterations }), Some(record)) =
            (steps.last(), &found.record)
        {
            self.record.counters = Counters { iteration: *iterations, ..record.counters.clone() };
            if self.context.part.is_none() {
                self.show_used();
            }
        }
        self.attempt.clone_from(&found.attempt);
        // Until it is settled, no other worker takes it.
        self.record.story = found.attempt.as_ref().map(|attempt| attempt.story.clone());
        for step in steps {
            log::info!("recovery: {step:?}");
            match step {
                Recovery::EndProcesses { run, .. } => {
                    let ended = counted(agent::end_left_by(&run), "process", "processes");
                    self.context.view.line(format!("ended {ended} left over from the last run"));
                }
                Recovery::BringFiles => {
                    landing::finish_interrupted(&self.workspace.source)?;
                    self.context.view.line("updated your files to match their branch");
                }
                Recovery::FinishLanding { commit, .. } => {
                    self.finish_interrupted_landing(&commit)?;
                }
                Recovery::LandAgain { .. } => {
                    let iteration = &mut self.record.counters.iteration;
                    *iteration = (*iteration).max(1);
                    self.save_unlanded()?;
                    self.is_unlanded = true;
                }
                Recovery::FinishDiscard { kept, .. } => {
                    self.discard(kept)?;
                }
                Recovery::KeepAttempt { story, counts } => {
                    let mut kept = Discarding::interrupted();
                    let is_working = |attempt: &&Attempt| attempt.phase == Phase::Working;
                    if let Some(attempt) = found.attempt.as_ref().filter(is_working) {
                        self.book_killed(attempt);
                    }
                    if counts {
                        let limits = &self.context.config.limits;
                        let counters = &mut self.record.counters;
                        kept =
                            counters.fail(Outcome::Interrupted, KILLED.to_owned(), &story, limits);
                    }
                    self.discard(kept)?;
                }
                Recovery::CountOn { .. } => {}
            }
        }
        Ok(())
    }

    fn finish_interrupted_landing(&mut self, commit: &str) -> Result<(), Failure> {
        let attempt = self.current()?;
        let short: String = commit.chars().take(8).collect();
        let checks = "--format=%(trailers:key=Ralph-Checks,valueonly=true,separator=)";
        let checks = self.workspace.source.git().line(&["log", "-1", checks, commit])?;
        let entry = ProgressEntry {
            commit: Some(short.clone()),
            is_unchecked: checks == landing::UNCHECKED,
            ..self.entry(&attempt, ProgressStatus::Success)
        };
        let marks = vec![(attempt.story.clone(), State::Done)];
        let changes = PlanChanges { marks, ..PlanChanges::default() };
        if self.target.look()?.1 || !self.books.is_tracked(attempt.base.as_deref()) {
            self.books.mark_users_text(&changes)?;
        }
        self.finish_landing(&attempt, commit, &entry, &changes)?;
        let story = &attempt.story;
        self.context.view.line(format!("{story} had landed as {short} before the run ended"));
        let limits = &self.context.config.limits;
        self.record.counters.after(WorkEnd::Landed, story, SessionEnd::Ended, limits);
        self.end_iteration(Outcome::Success)
    }

    /// A crash right after the agent's end leaves its work in the copy alone; it is saved before
    /// anything touches the copy.
    fn save_unlanded(&mut self) -> Result<(), Failure> {
        let attempt = self.current()?;
        let root = self.context.project.root();
        let git = self.workspace.source.git();
        let is_saved = saved::commit_of(&git, root, &attempt)?.is_some();
        if !is_saved && !self.workspace.is_in_place && self.workspace.exists() {
            let word = Outcome::Interrupted.word();
            self.keep_attempt(&attempt, word, "the checks were interrupted")?;
        }
        Ok(())
    }

    /// The saved work of an attempt, back in the workspace: the copy may be gone by now.
    pub(in crate::run) fn bring_back_work(&mut self) -> Result<(), Failure> {
        let attempt = self.current()?;
        let start = Start { tip: attempt.base.as_deref(), branch: &attempt.target };
        let key = saved::key_of(self.context.project.root(), &attempt);
        let all = saved::at_story(&self.workspace.source.git(), &key)?;
        let is_own = |one: &SavedAttempt| {
            one.number >= attempt.number && one.run.as_ref() == Some(&attempt.run)
        };
        let saved = all.into_iter().find(is_own);
        // In place the tree may still hold it, with whatever the user did to it since.
        let mut is_there = self.workspace.is_in_place
            && !in_place::uncommitted(&self.workspace.repo()?, &self.books.ours())?.is_empty();
        if let (Some(saved), false) = (&saved, is_there) {
            self.prepare_workspace(start)?;
            is_there = self.workspace.overlay(&saved.commit, start)?.is_none();
        }
        // What the agent did to its plan is lost with the copy, but for its claim that it is done.
        if let Ok(given) = fs_err::read(self.context.run_dir.plan_given())
            && self.workspace.left(&self.books.plan).is_none()
        {
            self.workspace.give(&self.books.plan, &given)?;
        }
        // Without its work a story is not done, whatever was claimed.
        let cost_usd = saved.and_then(|saved| saved.cost_usd);
        self.report = Report { claimed: is_there, cost_usd, ..Report::default() };
        Ok(())
    }
}
