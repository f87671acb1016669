//! Several stories at once: the run's process starts a worker for each, shows what they do, and ends
//! with them.
//!
//! A worker is a loop with a name: a process with its copy, its records and its attempt, so that one that
//! dies harms nobody and is started again. What the run has done is the sum of what its workers have
//! (`decide/sum.rs`); what they share is the plan, the target, and two locks.

mod auto;
pub(in crate::run) mod part;
mod process;
mod worker;

use std::io;
use std::time::Duration;

use ralph_base::fault;
use ralph_base::state::{self, Cap, Id, RunDir};
use ralph_project::config::Workers;
use ralph_project::under_way::Attempt;

use super::decide::{Counters, Finish};
use super::{Run, RunRecord};
use crate::board::contains;
use crate::exit::Failure;
use crate::terminal::{Scene, Worker, counted};
pub(crate) use auto::{how_many, machine};
pub(crate) use part::Part;
use process::Process;
pub(in crate::run) use worker::lock_unless;
pub(crate) use worker::{Others, work};

/// How often the workers are looked at; and after so many looks, what they do is shown (they write it
/// down no more often), and the run's own record is written.
const PULSE: Duration = Duration::from_millis(100);
const SHOWN_EVERY: u64 = 5;
const SAVED_EVERY: u64 = 50;

/// How long the last lines of a worker that has ended are waited for.
const DRAIN: Duration = Duration::from_secs(2);

/// A worker that dies so often ends the run.
const MOST_DEATHS: u32 = 5;

impl Run {
    /// How many workers this run has.
    pub(super) fn number_of_workers(&self) -> u64 {
        let (wanted, story) = (self.context.config.run.workers, self.context.forecast.seconds);
        let workers = how_many(wanted, machine(), story, self.checks_s);
        if wanted == Workers::Auto {
            let many = counted(workers as usize, "worker", "workers");
            self.context.view.line(format!("{many} (--workers auto)"));
        }
        workers
    }

    /// Works through the plan with so many workers, and through those that follow.
    pub(super) fn work_with(&mut self, workers: u64) -> Result<Finish, Failure> {
        loop {
            let names: Vec<Id> =
                (1..=workers).filter_map(|number| Id::parse(&number.to_string()).ok()).collect();
            let finish = self.let_work(&names, workers, false)?;
            self.take_over_counts()?;
            let stuck = match finish {
                Finish::Complete => None,
                Finish::Blocked(why) => Some(why),
                finish => return Ok(finish),
            };
            if let Some(finish) = self.turn_to_next_plan(stuck)? {
                return Ok(finish);
            }
        }
    }

    /// What workers of a run that was killed have left is landed or kept by their namesakes, and what
    /// they had counted is counted on.
    pub(super) fn settle_left_workers(&mut self) -> Result<(), Failure> {
        let all = self.context.run_dir.workers();
        let left: Vec<Id> = all
            .into_iter()
            .filter(|(_, run_dir)| has_attempt(run_dir))
            .map(|(name, _)| name)
            .collect();
        let is_resumed = !left.is_empty();
        for name in left {
            let finish = self.let_work(&[name], 1, true)?;
            if finish.ends_run() {
                return Err(Failure::because(match finish.reason() {
                    Some(why) => why.to_owned(),
                    None => "interrupted".to_owned(),
                }));
            }
        }
        self.take_over_counts()?;
        if is_resumed {
            self.show_used();
        }
        Ok(())
    }

    /// Starts these workers and waits until the last of them has ended; says how the run ends with that.
    fn let_work(
        &mut self,
        names: &[Id],
        workers: u64,
        is_to_settle: bool,
    ) -> Result<Finish, Failure> {
        let mut working = Vec::new();
        for name in names {
            working.push(Process::start(&self.context, self.part_of(name, workers, is_to_settle))?);
        }
        fault::point("workers.started");
        let (mut ends, mut pulses, mut signals) = (Vec::new(), 0_u64, 0);
        while !working.is_empty() {
            std::thread::sleep(PULSE);
            pulses += 1;
            let count = self.context.interrupts.count();
            if count > signals {
                signals = count;
                working
                    .iter()
                    .for_each(|worker| worker.interrupt(self.context.interrupts.signal()));
            }
            if pulses.is_multiple_of(SHOWN_EVERY) {
                self.show_workers(names);
            }
            let mut left = Vec::new();
            for mut worker in working {
                while let Some(said) = worker.said(Duration::ZERO) {
                    self.context.view.relay(&said);
                }
                match self.look_after(&mut worker)? {
                    None => left.push(worker),
                    Some(finish) => {
                        if finish.ends_run() && !is_to_settle {
                            // The others end their stories first.
                            state::replace(
                                &self.context.run_dir.stop_request(),
                                self.context.run.as_bytes(),
                            )?;
                        }
                        ends.push(finish);
                    }
                }
            }
            working = left;
            if pulses.is_multiple_of(SAVED_EVERY) {
                self.save();
            }
        }
        state::remove_if_there(self.context.run_dir.stop_request())?;
        Ok(Finish::of_workers(ends))
    }

    fn part_of(&self, name: &Id, workers: u64, is_to_settle: bool) -> Part {
        let context = &self.context;
        let flags = context.flags.iter();
        Part {
            worker: name.as_str().to_owned(),
            run: context.run.clone(),
            workers,
            is_to_settle,
            plan: self.books.plan.clone(),
            target: self.target.branch.clone(),
            flags: flags.map(|flag| (flag.key.clone(), flag.value.clone())).collect(),
        }
    }

    /// How a worker has ended, if it has. One that died is started again, and goes on where it was.
    fn look_after(&mut self, worker: &mut Process) -> Result<Option<Finish>, Failure> {
        let Some(told) = worker.has_ended()? else { return Ok(None) };
        while let Some(said) = worker.said(DRAIN) {
            self.context.view.relay(&said);
        }
        let name = worker.part.id()?;
        let record = RunRecord::load(&self.context.run_dir.of_worker(&name))?;
        let of_this_run = record.filter(|record| record.run == worker.run());
        if let Some(finish) = of_this_run.and_then(|record| record.ended) {
            return Ok(Some(finish));
        }
        let what = format!("worker {} {told}", name.as_str());
        if let Some(signal) = self.context.interrupts.signal() {
            return Ok(Some(Finish::Manual(signal)));
        }
        if !worker.was_killed || worker.deaths >= MOST_DEATHS {
            return Ok(Some(Finish::Error(what)));
        }
        self.context.view.warn(format!("{what}; starting it again"));
        let deaths = worker.deaths + 1;
        *worker = Process::start(&self.context, worker.part.clone())?;
        worker.deaths = deaths;
        Ok(None)
    }

    /// What the workers do now, and where the run stands.
    fn show_workers(&self, names: &[Id]) {
        let mut scenes = names.iter().map(|name| {
            let scene = Scene::load(&self.context.run_dir.of_worker(name)).unwrap_or_default();
            (name, scene)
        });
        let mut all = Scene::default();
        for (name, scene) in scenes.by_ref() {
            let worker = Worker { worker: Some(name.as_str().to_owned()), ..scene.worker };
            if name.as_str() == names.first().map_or("", Id::as_str) {
                (all.worker, all.totals) = (worker, scene.totals);
                continue;
            }
            // The one that has looked last knows best.
            if scene.totals.done >= all.totals.done {
                all.totals = scene.totals;
            }
            all.others.push(worker);
        }
        self.context.view.workers(all);
    }

    /// What the workers have counted is the run's own from now on. What they have not committed goes with
    /// the run's own next commit.
    fn take_over_counts(&mut self) -> Result<(), Failure> {
        let run_dir = self.context.run_dir.clone();
        let workers = RunRecord::of_workers(&run_dir)?;
        for (_, record) in &workers {
            let counters = std::mem::take(&mut self.record.counters);
            self.record.counters = counters.plus(&record.counters);
            self.record.failed_before.retain(|check, _| record.failed_before.contains_key(check));
        }
        self.save();
        for (name, record) in workers {
            let folder = run_dir.of_worker(&name);
            let counters = Counters { priced: record.counters.priced, ..Counters::default() };
            let mut left = RunRecord { counters, pause: None, ..record };
            // Whoever settles what is under way needs the rest.
            if !has_attempt(&folder) {
                take_pending(&run_dir, &folder)?;
                (left.finish, left.story) = (Some("folded".to_owned()), None);
            }
            left.save(&folder)?;
        }
        Ok(())
    }
}

/// Whether a worker has left an attempt that is not settled.
fn has_attempt(worker: &RunDir) -> bool {
    matches!(Attempt::load(worker), Ok(Some(_)))
}

/// What a worker has written and not committed waits with what the run itself has written. A crash may
/// come between, so what is there already is not added.
fn take_pending(run: &RunDir, worker: &RunDir) -> io::Result<()> {
    let never = Cap { above: u64::MAX, keep_lines: 0 };
    for (own, theirs) in
        [(run.progress_pending(), worker.progress_pending()), (run.lessons(), worker.lessons())]
    {
        if let Ok(text) = fs_err::read(&theirs) {
            if !contains(&fs_err::read(&own).unwrap_or_default(), &text) {
                state::append_capped(&own, &text, never)?;
            }
            state::remove_if_there(&theirs)?;
        }
    }
    Ok(())
}
