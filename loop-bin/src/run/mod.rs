//! A run of the loop: before the first story, one iteration after the other, and the end.
//!
//! | what | where |
//! | --- | --- |
//! | what follows from what happened, and what a start does after a crash | `decide/` |
//! | what never changes; what is on disk | `context.rs`, `record.rs`, `books.rs` |
//! | before the first story | `start/` |
//! | one iteration, in the order of its files | `iteration/` |
//! | lifecycle scripts; the end | `scripts.rs`, `finish.rs` |
//! | several plans in one run; what others do meanwhile | `prds.rs`, `meanwhile.rs` |
//! | several workers | `workers/` |
//! | writing the plan instead of working through it | `planning.rs` |

mod allowance;
mod appended;
mod awake;
pub(crate) mod books;
pub(crate) mod context;
mod decide;
mod finish;
mod iteration;
mod meanwhile;
mod notify;
mod planning;
mod prds;
pub(crate) mod record;
mod scripts;
mod show;
pub(crate) mod start;
pub(crate) mod workers;

use std::process::ExitCode;

use ralph_base::env::Env;
use ralph_base::fault;
use ralph_base::state::Lock;
use ralph_core::plan::AgentsPlan;
use ralph_project::config::Mode;
use ralph_project::under_way::Attempt;

use crate::agent::ResumedSession;
use crate::board::Board;
use crate::exit::Failure;
use crate::workspace::in_place::ProtectedFiles;
use crate::workspace::{Imported, Start, Workspace};
use books::Books;
use context::Context;
use decide::{Finish, Next, Outcome, Then, Wish, WorkEnd};
use iteration::{Choice, LiveAgent, Report};
pub(crate) use record::RunRecord;
use scripts::NEXT_ITERATION;
use start::Preflight;
use workers::Others;

/// Runs the loop in a project that was looked at.
pub(crate) fn run(env: &Env, preflight: Preflight) -> Result<ExitCode, Failure> {
    let mut run = start::start(env, preflight)?;
    fault::point("loop.taken-over");
    // The run's name is on disk before anything is started that could outlive us.
    run.save();
    let awake = if run.context.config.run.inhibit { awake::Awake::hold() } else { None };
    if let Some(awake) = &awake {
        run.context.view.line(format!("the machine stays awake during the run ({})", awake.by));
    }
    let ended = match run.context.config.run.mode {
        Mode::Planning => run.write_plan(),
        Mode::Building => run.settle_left_workers().and_then(|()| run.work_through_plan()),
    };
    let finish = ended.unwrap_or_else(|failure| run.ended_by(&failure));
    Ok(run.finish(finish))
}

/// A run under way.
pub(crate) struct Run {
    context: Context,
    /// Where it stands.
    record: RunRecord,
    books: Books,
    workspace: Workspace,
    target: Board,
    /// The attempt under way.
    attempt: Option<Attempt>,
    /// An agent that waits for our word.
    waiting: Option<LiveAgent>,
    /// What is known of the attempt besides its files.
    report: Report,
    /// What the agent did to its file of the plan.
    agents: Option<AgentsPlan>,
    /// What the agent left in its own repository.
    imported: Imported,
    /// Files that steer the run, while an agent works in place.
    protected: ProtectedFiles,
    /// What the agent is told of the attempt that this one goes on with.
    before: String,
    /// The client's session that goes on with the attempt.
    resumed: Option<ResumedSession>,
    /// Why the run cannot go on with its target.
    target_trouble: Option<String>,
    /// Whether the work of the attempt is to be landed before anything else: a crash came before.
    is_unlanded: bool,
    /// Stories in a row that met the usage limit.
    quota_streak: u32,
    is_author_known: bool,
    is_costless: bool,
    /// How long the checks took before the first story, in seconds.
    checks_s: f64,
    /// What the other workers are about.
    others: Others,
    /// Held while our work lands.
    landing: Option<Lock>,
    /// Held for as long as we live.
    _lock: Lock,
}

impl Run {
    fn work_through_plan(&mut self) -> Result<Finish, Failure> {
        if let Some(finish) = self.run_started()? {
            return Ok(finish);
        }
        let workers = self.number_of_workers();
        if workers == 1 {
            return self.work_on_stories();
        }
        if std::mem::take(&mut self.is_unlanded) {
            self.bring_back_work()?;
            if let Some(finish) = self.settle(WorkEnd::Well)? {
                return Ok(finish);
            }
        }
        self.work_with(workers)
    }

    /// One story after the other, until none is left.
    fn work_on_stories(&mut self) -> Result<Finish, Failure> {
        loop {
            let interrupts = self.context.interrupts.clone();
            if let Some(signal) = interrupts.signal() {
                return Ok(Finish::Manual(signal));
            }
            let end = match self.choose()? {
                Choice::Finish(finish) => return Ok(finish),
                Choice::Unlanded => WorkEnd::Well,
                Choice::Wait => match self.wait_for_others()? {
                    Some(finish) => return Ok(finish),
                    None => continue,
                },
                Choice::Story(story) => {
                    let wish = self.run_next_iteration();
                    if let Some(signal) = interrupts.signal() {
                        return Ok(Finish::Manual(signal));
                    }
                    match wish {
                        Wish::Stop => return Ok(Finish::stopped_by(NEXT_ITERATION)),
                        Wish::Skip => match self.wait_after_skip()? {
                            Some(finish) => return Ok(finish),
                            None => continue,
                        },
                        Wish::GoOn => self.record.counters.skipped = 0,
                    }
                    let plan = self.begin(&story)?;
                    self.run_agent(&plan)?
                }
            };
            if let Some(finish) = self.settle(end)? {
                return Ok(finish);
            }
        }
    }

    /// What becomes of an attempt whose agent has ended, or wants to; and why the run ends with it,
    /// if it does.
    fn settle(&mut self, end: WorkEnd) -> Result<Option<Finish>, Failure> {
        let mut end = end;
        loop {
            let story = self.current()?.story;
            self.look_at_others()?;
            let (session, limits) = (self.session_end(), &self.context.config.limits);
            let next = self.record.counters.after(end, &story, session, limits);
            log::debug!("next: {next:?}");
            match next {
                Next::Land => end = self.land()?,
                Next::SendBack(why) => end = self.send_back(&why)?,
                Next::Report => {
                    self.end_iteration(Outcome::Success)?;
                    return Ok(self.run_post_iteration(&story, Outcome::Success, Then::GoOn));
                }
                Next::Discard(kept, then) => {
                    let outcome = self.discard(kept)?;
                    return Ok(self.run_post_iteration(&story, outcome, then));
                }
                Next::Leave(signal) => {
                    if self.workspace.is_in_place {
                        // The work is kept by now, and the tree is the user's.
                        let attempt = self.current()?;
                        self.workspace.reset(Start::of(&attempt))?;
                    }
                    let line = format!("{story}: interrupted; the next start checks and lands it");
                    self.context.view.line(line);
                    return Ok(Some(Finish::Manual(signal)));
                }
            }
        }
    }

    /// What a failure ends the run as. One that follows an interrupt is part of it: whatever was under
    /// way was stopped, and the next start goes on.
    fn ended_by(&self, failure: &Failure) -> Finish {
        match self.context.interrupts.signal() {
            Some(signal) => {
                self.context.view.warn(failure.to_string());
                Finish::Manual(signal)
            }
            None => Finish::Error(failure.to_string()),
        }
    }

    /// Writes down where the run stands. A disk that is full does not end it.
    fn save(&mut self) {
        self.record.elapsed_s = self.context.elapsed().as_secs_f64();
        self.record.interrupted = self.context.is_interrupted();
        if let Err(error) = self.record.save(&self.context.run_dir) {
            self.context.view.warn(format!("the run record could not be written: {error}"));
        }
        fault::point("loop.step-saved");
    }

    /// Whether a worker has left an attempt in the copy that is ours as well.
    fn is_copy_taken(&self) -> Result<bool, Failure> {
        Ok(record::is_work_left_in(self.workspace.root(), &self.context.run_dir)?)
    }

    fn journal_note(&self, event: &ralph_base::state::Event) {
        let story = self.attempt.as_ref().map(|attempt| attempt.story.as_str());
        self.context.note(story, event);
    }

    fn current(&self) -> Result<Attempt, Failure> {
        self.attempt.clone().ok_or_else(|| Failure::because("no attempt is in progress"))
    }
}
