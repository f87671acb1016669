//! Slots: where attempts run, each on a thread of its own. One worker is one slot.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Instant;

use ralph_base::env::Env;
use ralph_base::state::{Id, RunDir, StoryKey, name_of_worker};
use ralph_core::git::Repo;
use ralph_project::config::Config;
use ralph_project::project::Project;
use ralph_project::under_way::Attempt;

use super::attempt::{Desk, Facts, Job, Passed, Report, Reporter, attempt};
use super::context::Context;
use super::decide::{Discarding, Then};
use crate::exit::Failure;
use board::LoopFile;
use work_copy::in_place::ProtectedFiles;
use work_copy::{ONLY_WORKER, Workspace};

/// A place for one attempt at a time.
pub(super) struct Slot {
    pub(super) name: String,
    /// The name under which it works: the run's, and its own where there are several.
    pub(super) run: String,
    /// Put before each line, where there are several.
    pub(super) prefix: String,
    pub(super) reporter: Reporter,
    /// The copy and its agent; none while an attempt has them.
    pub(super) desk: Option<Desk>,
    /// The story under way.
    pub(super) work: Option<UnderWay>,
    /// Whether its thread died, and its copy with it.
    pub(super) is_dead: bool,
    /// When it looks for a story again, if there was none.
    pub(super) idle_until: Option<Instant>,
    /// The cost that its agent has reported so far, and the tokens of its session.
    pub(super) running: (Option<f64>, u64),
}

/// A story under way, as the conductor knows it.
pub(super) struct UnderWay {
    pub(super) key: StoryKey,
    pub(super) attempt: Attempt,
    pub(super) facts: Facts,
    /// The commit that keeps its work.
    pub(super) saved: Option<String>,
    /// Work that has passed its checks and waits for its turn to land.
    pub(super) passed: Option<Box<Passed>>,
    /// What its commit changes in the loop's own files.
    pub(super) files: Vec<LoopFile>,
    /// How often the target moved before it could land.
    pub(super) moves: usize,
    /// What becomes of it, once what is in the copy is known.
    pub(super) discarding: Option<(Discarding, Then)>,
}

impl UnderWay {
    pub(super) fn new(key: StoryKey, attempt: Attempt) -> Self {
        Self {
            key,
            attempt,
            facts: Facts::default(),
            saved: None,
            passed: None,
            files: Vec::new(),
            moves: 0,
            discarding: None,
        }
    }
}

impl Slot {
    pub(super) fn new(
        index: usize,
        desk: Desk,
        prefix: String,
        reports: Sender<(usize, Report)>,
    ) -> Self {
        Self {
            name: desk.name.clone(),
            run: desk.run.clone(),
            prefix: prefix.clone(),
            reporter: Reporter::new(index, prefix, reports),
            desk: Some(desk),
            work: None,
            is_dead: false,
            idle_until: None,
            running: (None, 0),
        }
    }

    /// Whether an attempt runs in it.
    pub(super) fn is_busy(&self) -> bool {
        self.desk.is_none() && !self.is_dead
    }

    /// Starts a job on a thread of its own.
    pub(super) fn start(&mut self, context: &Arc<Context>, job: Job) -> Result<(), Failure> {
        let Some(mut desk) = self.desk.take() else {
            return Err(Failure::because("the slot is busy"));
        };
        let (context, reporter) = (Arc::clone(context), self.reporter.clone());
        let thread = std::thread::Builder::new().name(format!("attempt-{}", self.name));
        let started = thread.spawn(move || {
            let done =
                catch_unwind(AssertUnwindSafe(|| attempt(&context, job, &mut desk, &reporter)));
            reporter.send(match done {
                Ok(done) => Report::Done(Box::new((desk, done))),
                Err(_) => Report::Died,
            });
        });
        self.is_dead = started.is_err();
        started?;
        Ok(())
    }
}

/// The desk of a slot: with a name of its own where there are several.
pub(super) fn desk(
    env: &Env,
    project: &Project,
    config: &Config,
    (run_dir, run): (&RunDir, &str),
    worker: Option<&Id>,
) -> Result<Desk, Failure> {
    let (mut project, mut dir, mut run) = (project.clone(), run_dir.of_run(), run.to_owned());
    if let Some(worker) = worker {
        project = project.for_worker(worker.clone());
        dir = run_dir.of_worker(worker);
        run = name_of_worker(&run, worker);
    }
    let repo = Repo::open(project.root())?;
    let copy = Workspace::of(env, &project, &repo, &dir, config)?;
    let name = worker.map_or(ONLY_WORKER, Id::as_str).to_owned();
    let protected = ProtectedFiles::default();
    Ok(Desk { name, run, project, dir, copy, session: None, protected })
}
