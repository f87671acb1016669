//! The agent at work: what it could take from us or from the user is remembered while it runs, and
//! put back when it has ended. What its end is worth is judged elsewhere.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use ralph_core::fault;
use ralph_core::git::{self, HeadWatch, Looks, Stash};
use ralph_core::settle::{self, PlanWatch, named_files};

use super::client_files::Mended;
use super::crashed::Interruption;
use super::keepsake::Keepsake;
use super::refuge::{self, Refuge};
use super::stage::Stage;
use crate::agent::{AgentCommand, Run, Supervision, supervise};
use crate::exit::Failure;
use crate::terminal::Glimpse;

/// What is remembered while an agent is at work; the files of our folder are kept by the stage.
struct Safeguards {
    refuge: Option<Refuge>,
    stash: Stash,
    settings: git::Settings,
    index: Option<Looks>,
    /// Locks of git's that were there before.
    locks: Vec<PathBuf>,
}

impl Stage {
    /// Runs the agent with a prompt; what it prints goes to a log of its own. What it took from us
    /// is put back.
    pub(crate) fn watch_agent(
        &mut self,
        story: &str,
        iteration: u64,
        prompt: &str,
    ) -> Result<Run, Failure> {
        let budget = self.allowance.cost_usd.map(|(sum, _)| sum);
        let command = AgentCommand {
            line: self.options.applied_to(&self.config.agent.command, budget, self.state())?,
            root: self.project.root().to_owned(),
            vars: self.agent_variables(),
        };
        let log = self.open_log(story, iteration)?;
        let interrupts = self.interrupts.clone();
        let head = self.watch_head().map(RefCell::new);
        let plan =
            self.attempt.as_ref().map(|attempt| PlanWatch::begin(self.state(), &attempt.plan));
        let plan = plan.map(RefCell::new);
        let safeguards = self.take_safeguards();
        let begun = Instant::now();
        let interruption = Interruption {
            interrupts: &interrupts,
            saved: &self.saved,
            state: self.project.own_state(),
            elapsed: self.elapsed(),
            since: begun,
        };
        let watch = Supervision {
            deadline: self.allowance.time.map(|(time, _)| time),
            silence: self.config.agent.silence.limit(),
            grace: Duration::from_secs(self.config.agent.grace.0),
            interrupts: &interrupts,
            log,
            beat: &|| {
                interruption.came();
                head.iter().for_each(|head| head.borrow_mut().look());
                plan.iter().for_each(|plan| plan.borrow_mut().look());
            },
        };
        let run = supervise(&command, prompt, &watch, &mut |seen| {
            self.view.glimpse(Glimpse { story, iteration }, begun.elapsed(), seen);
        })?;
        (watch.beat)();
        fault::point("loop.agent-ended");
        self.tell_if_costless(&run);
        self.put_everything_back(safeguards)?;
        Ok(run)
    }

    /// Remembers what an agent could take from us or from the user.
    fn take_safeguards(&mut self) -> Safeguards {
        let progress = settle::progress_path(&self.config.run, self.project.root(), &self.plan);
        self.keepsake = Keepsake::take(self.state(), &self.plan, &progress);
        self.client_files = std::mem::take(&mut self.client_files).renewed(self.project.root());
        self.keep_left_out();
        let refuge = Refuge::open(&self.repo, self.project.root(), &self.keepsake);
        if let Err(error) = &refuge {
            self.view.warn(format!("no copy of the state could be made: {error}"));
        }
        let (stash, locks) = (Stash::remember(&self.repo), git::locks(&self.repo));
        let settings = git::Settings::remember(&self.repo);
        let index = self.repo.index_looks();
        Safeguards { refuge: refuge.ok(), stash, settings, index, locks }
    }

    /// The order counts: with other settings git would answer for another folder, locks would be in
    /// the way of everything else, nothing is done to a repository that was replaced, and the copy of
    /// our state goes only when all of it is back.
    fn put_everything_back(&mut self, safeguards: Safeguards) -> Result<(), Failure> {
        let Safeguards { refuge, stash, settings, index, locks } = safeguards;
        self.put_back_settings(&settings)?;
        for lock in git::remove_dead_locks(&self.repo, &locks) {
            let lock = lock.display();
            self.view.warn(format!("removed {lock}, which the agent left and nobody holds"));
        }
        self.put_back_state("the agent")?;
        self.tell_new_plans();
        settle::refuse_replaced(&self.repo, self.attempt.as_ref())?;
        self.locks.take_again(&self.project, &self.repo)?;
        drop(refuge);
        refuge::remove(&self.repo)?;
        self.put_back_refs("the agent removed it")?;
        self.put_back_left_out();
        self.put_back_stash(&stash);
        // Before anybody asks git what changed.
        if index != self.repo.index_looks() {
            self.put_back_overlooked()?;
        }
        Ok(())
    }

    fn put_back_overlooked(&self) -> Result<(), Failure> {
        let overlooked = self.repo.put_back_overlooked()?;
        if !overlooked.is_empty() {
            let files = named_files(&overlooked);
            self.view.warn(format!(
                "the agent changed what git overlooks (--assume-unchanged, --skip-worktree): \
                 {files}; undone"
            ));
        }
        Ok(())
    }

    /// What the agent, or a check that runs what it wrote, took from us.
    pub(super) fn put_back_state(&self, who: &str) -> std::io::Result<()> {
        for put_back in self.keepsake.put_back(self.state(), &self.plan, || self.has_learned())? {
            self.view.warn(put_back.told(who));
        }
        for (path, kept) in self.keepsake.take_away_new(self.state(), || self.has_learned())? {
            self.view.warn(taken_away(&path, &kept, who));
        }
        for mended in self.client_files.put_back(self.state()) {
            self.view.warn(match mended {
                Mended::PutBack(put_back) => put_back.told(who),
                Mended::TakenAway(path, kept) => taken_away(&path, &kept, who),
                Mended::Lost(path, why) => format!(
                    "{path} was changed while {who} worked, and could not be put back: {why}; \
                     `ralph-loop install` puts the hooks right"
                ),
            });
        }
        Ok(())
    }

    /// Like a story at the end of the plan, a plan to be chosen later is the agent's to write.
    fn tell_new_plans(&self) {
        for path in self.keepsake.new_plans(self.state()) {
            self.view.warn(format!(
                "{path} was made while the agent worked; a later run chooses it once the plans before \
                 it are done, so look at it, or remove it"
            ));
        }
    }

    /// What an agent does to HEAD is told from what somebody does after its loop was killed.
    fn watch_head(&self) -> Option<HeadWatch> {
        if let Some(draft) = &self.draft {
            return Some(HeadWatch::begin(&self.repo, &self.run, &draft.position()));
        }
        let attempt = self.attempt.as_ref()?;
        Some(HeadWatch::begin(&self.repo, &attempt.run, &attempt.position()))
    }
}

fn taken_away(path: &Utf8Path, kept: &Utf8Path, who: &str) -> String {
    format!(
        "{path} was made while {who} worked; it has no effect, and is kept as {kept}; to make it \
         yourself, stop the loop first"
    )
}
