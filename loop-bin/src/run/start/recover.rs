//! What an earlier run left, and what is done about it. What is to be done is decided in
//! `decide/recovery.rs`.

use ralph_core::git::Repo;
use ralph_core::plan::progress::Status;
use ralph_core::project::Project;
use ralph_core::state::{Lock, RunDir};
use ralph_core::under_way::{Attempt, Phase};

use super::preflight::run_dir;
use crate::agent;
use crate::exit::Failure;
use crate::landing::{self, Mark};
use crate::run::decide::{Counters, Found, Recovery, recovery};
use crate::run::iteration::{PlanChanges, Report};
use crate::run::record::RunRecord;
use crate::run::{Run, decide::Outcome};
use crate::terminal::counted;
use crate::workspace::{Source, Start};

/// What the progress says of an attempt whose loop was killed.
const KILLED: &str = "the loop was killed while the agent was at work";

/// What the next start would do, for those who only look; nothing while a loop runs.
pub(crate) fn look(project: &Project) -> Result<Vec<String>, Failure> {
    // Where there is no repository, nothing was ever left.
    let Ok(repo) = Repo::open(project.root()) else { return Ok(Vec::new()) };
    let run_dir = run_dir(&repo)?;
    if Lock::holder(&run_dir.lock()).is_some() {
        return Ok(Vec::new());
    }
    let source = Source::of(project, &repo)?;
    let found = find(&run_dir, &source)?;
    Ok(recovery(&found).iter().filter_map(Recovery::told).collect())
}

/// What an earlier run left.
pub(super) fn find(run_dir: &RunDir, source: &Source) -> Result<Found, Failure> {
    let record = RunRecord::load(run_dir)?;
    let attempt = Attempt::load(run_dir)?;
    let is_landed = match &attempt {
        // It may wait on a branch of ours, or have come from there.
        Some(Attempt { phase: Phase::Landing { commit }, .. }) => {
            landing::is_on_a_branch(&source.git(), commit)
        }
        _ => false,
    };
    let unfinished = record.as_ref().filter(|record| record.finish.is_none());
    let processes = unfinished.map_or(0, |record| agent::left_by(&record.run).len());
    let is_behind = landing::is_interrupted(source);
    Ok(Found { record, attempt, is_landed, is_behind, processes })
}

impl Run {
    /// Does what has to be done, and returns where the run counts on from.
    pub(super) fn recover(&mut self, found: &Found) -> Result<Counters, Failure> {
        let mut counters = Counters::default();
        let steps = recovery(found);
        if steps.iter().any(|step| matches!(step, Recovery::CountOn { .. }))
            && let Some(record) = &found.record
        {
            counters = record.counters.clone();
        }
        for step in steps {
            log::info!("recovery: {step:?}");
            match step {
                Recovery::EndProcesses { run, .. } => {
                    let count = agent::end_left_by(&run);
                    let ended = counted(count, "process", "processes");
                    self.context.view.line(format!("ended {ended} of the last run"));
                }
                Recovery::BringFiles => {
                    landing::finish_interrupted(self.workspace.source())?;
                    self.context.view.line("brought your files to where their branch is");
                }
                Recovery::FinishLanding { commit, .. } => {
                    self.finish_interrupted_landing(found, &commit, &mut counters)?;
                }
                Recovery::LandAgain { story } => {
                    self.attempt.clone_from(&found.attempt);
                    self.save_unlanded(&story)?;
                    self.land_again = Some(story);
                }
                Recovery::FinishDiscard { story } => {
                    self.finish_discard(found, &story, &mut counters)?
                }
                Recovery::KeepAttempt { story, counts } => {
                    self.keep_interrupted(found, &story, counts, &mut counters)?;
                }
                Recovery::CountOn { iterations } => {
                    counters.iteration = iterations;
                    self.tell_count(iterations);
                }
            }
        }
        Ok(counters)
    }

    fn tell_count(&self, iterations: u64) {
        let most = self.context.config.run.max_iterations;
        if most > 0 && iterations > 0 {
            self.context
                .view
                .line(format!("resuming: {iterations} of {most} iterations already used"));
        }
    }

    fn finish_interrupted_landing(
        &mut self,
        found: &Found,
        commit: &str,
        counters: &mut Counters,
    ) -> Result<(), Failure> {
        let Some(attempt) = found.attempt.clone() else { return Ok(()) };
        self.attempt = Some(attempt.clone());
        let short: String = commit.chars().take(8).collect();
        let entry = ralph_core::plan::progress::Entry {
            commit: Some(short.clone()),
            ..self.entry(&attempt, Status::Success)
        };
        let marks = vec![Mark::Done(attempt.story.clone())];
        if self.target.is_followed() || !self.books.is_tracked(attempt.base.as_deref()) {
            self.books.mark_users_text(marks.clone(), None)?;
        }
        let changes = PlanChanges { marks, agents: None };
        self.finish_landing(&attempt, commit, &entry, &changes)?;
        self.context
            .view
            .line(format!("{} was landed as {short} before the run ended", attempt.story));
        counters.commits += 1;
        counters.attempts.remove(&attempt.story);
        self.end_attempt()
    }

    /// A crash right after the agent's end leaves its work in the copy alone; it is saved before
    /// anything touches the copy.
    fn save_unlanded(&mut self, story: &str) -> Result<(), Failure> {
        let Some(attempt) = self.attempt.clone() else { return Ok(()) };
        let name = crate::saved::name_of(story, attempt.number);
        let is_saved = landing::resolve(&self.workspace.source().git(), &name)?.is_some();
        if !is_saved && !self.workspace.is_in_place() && self.workspace.exists() {
            let word = Outcome::Interrupted.word();
            self.keep_attempt(&attempt, word, "the checks were interrupted")?;
        }
        Ok(())
    }

    /// The saved work of an attempt, back in the workspace: the copy may be gone by now.
    pub(in crate::run) fn bring_back_work(&mut self, story: &str) -> Result<(), Failure> {
        let Some(attempt) = self.attempt.clone() else { return Ok(()) };
        let git = self.workspace.source().git();
        let name = crate::saved::name_of(story, attempt.number);
        let start = Start { tip: attempt.base.as_deref(), branch: &attempt.target };
        let saved = landing::resolve(&git, &name)?;
        let is_in_place = self.workspace.is_in_place();
        if let (Some(saved), false) = (&saved, is_in_place) {
            self.prepare_workspace(start)?;
            self.workspace.overlay(saved, start)?;
        }
        // What the agent did to its plan is lost with the copy, but for its claim that it is done.
        if let Ok(given) = fs_err::read(self.context.run_dir.plan_given())
            && self.workspace.left(&self.books.plan).is_none()
        {
            self.workspace.give(&self.books.plan, &given)?;
        }
        // Without its work a story is not done, whatever was claimed.
        let claimed = saved.is_some() || is_in_place;
        self.report = Report { claimed, ..Report::default() };
        Ok(())
    }

    /// The attempt failed, and a crash came before it was kept. Whether the story is given up was
    /// about to be decided.
    fn finish_discard(
        &mut self,
        found: &Found,
        story: &str,
        counters: &mut Counters,
    ) -> Result<(), Failure> {
        self.attempt.clone_from(&found.attempt);
        let discarding = found.record.as_ref().and_then(|record| record.discarding.clone());
        let (Some(attempt), Some((outcome, why))) = (self.attempt.clone(), discarding) else {
            return Ok(());
        };
        self.discard(outcome, &why)?;
        let failed = counters.attempts.get(story).copied().unwrap_or(0);
        let headline = why.lines().next().unwrap_or_default();
        if failed >= self.context.config.limits.attempts_per_story.max(1) {
            self.give_up(story, failed, headline, counters)?;
        } else {
            self.log_entry(&attempt, Status::Failed, headline)?;
        }
        self.outcome = None;
        self.end_attempt()
    }

    fn give_up(
        &mut self,
        story: &str,
        failed: u64,
        why: &str,
        counters: &mut Counters,
    ) -> Result<(), Failure> {
        let failed = usize::try_from(failed).unwrap_or(usize::MAX);
        let tries = counted(failed, "failed attempt", "failed attempts");
        counters.set_aside.insert(story.to_owned());
        self.set_aside(&format!("gave up after {tries}; last failure: {why}")).map(drop)
    }

    fn keep_interrupted(
        &mut self,
        found: &Found,
        story: &str,
        counts: bool,
        counters: &mut Counters,
    ) -> Result<(), Failure> {
        let Some(attempt) = found.attempt.clone() else { return Ok(()) };
        self.attempt = Some(attempt.clone());
        let why = if counts { KILLED } else { "interrupted" };
        if self.workspace.exists() {
            if self.workspace.is_in_place() && self.context.run_dir.plan_given().is_file() {
                self.read_agents_plan(&attempt)?;
            }
            self.keep_attempt(&attempt, Outcome::Interrupted.word(), why)?;
            if self.workspace.is_in_place() {
                let start = Start { tip: attempt.base.as_deref(), branch: &attempt.target };
                self.workspace.reset(start)?;
            }
        }
        if counts {
            let failed = counters.attempts.entry(story.to_owned()).or_default();
            *failed += 1;
            let most = self.context.config.limits.attempts_per_story.max(1);
            self.context.view.line(format!("{story}: attempt {failed} of {most} failed: {KILLED}"));
            if *failed >= most {
                let failed = *failed;
                self.give_up(story, failed, KILLED, counters)?;
            } else {
                self.log_entry(&attempt, Status::Interrupted, KILLED)?;
            }
        }
        self.end_attempt()
    }
}
