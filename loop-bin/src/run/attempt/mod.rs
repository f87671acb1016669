//! An attempt: a function of its job. It owns one copy and one agent while it runs, on a thread of its
//! own, and touches nothing else; whatever follows from it is the conductor's to do.
//!
//! | file | what it does |
//! | --- | --- |
//! | `begin.rs` | brings the copy to the job's base, and lays out what the agent needs |
//! | `prompt.rs` | the prompt, and the variables around it |
//! | `work.rs`, `watch.rs` | runs the agent, and reads how it ended |
//! | `stage.rs` | what is in the copy afterwards, as a tree |
//! | `check.rs`, `prove.rs`, `review.rs` | the checks, the proof of new tests, the reviewer |
//! | `commit.rs` | the commit, with the user's git hooks |

mod begin;
mod check;
mod commit;
mod plan;
mod prompt;
mod prove;
mod report;
mod review;
mod stage;
mod watch;
mod work;

use std::collections::BTreeMap;
use std::time::Duration;

use ralph_base::state::{RunDir, StateDir, StoryKey};
use ralph_core::plan::{AgentsPlan, Plan};
use ralph_project::checks::Check;
use ralph_project::failed_before::FailedBefore;
use ralph_project::project::Project;
use ralph_project::strikes::HookRollback;
use ralph_project::under_way::Attempt;

use super::context::Context;
use super::decide::{Allowance, WorkEnd};
use super::plan_files::PlanFiles;
use crate::exit::Failure;
use crate::saved::SavedAttempt;
pub(super) use begin::prepare;
use board::{LoopFile, Made};
pub(super) use check::{check, lay_over};
use client::{AgentRun, SessionSoFar};
pub(super) use commit::{ToCommit, commit};
pub(super) use prompt::from_user;
pub(crate) use prompt::{review_template, template};
pub(super) use prove::Proof;
pub(super) use report::checked;
pub(super) use report::{Report, Reporter};
pub(super) use review::Reviewed;
pub(super) use stage::{Left, left_in};
pub(super) use watch::set_phase;
pub(super) use watch::{LiveAgent, log_of, release};
pub(super) use work::read_agents_plan;
use work_copy::in_place::ProtectedFiles;
use work_copy::{Staged, Workspace};

/// Where an attempt works: a copy, the folder of its records, and perhaps an agent that is paused in its
/// stop hook.
pub(super) struct Desk {
    /// The slot's name: `1`, `2`, …
    pub(super) name: String,
    /// The run's name, with that of the slot where there are several.
    pub(super) run: String,
    /// The project as the slot's agent sees it.
    pub(super) project: Project,
    pub(super) dir: RunDir,
    pub(super) copy: Workspace,
    pub(super) session: Option<LiveAgent>,
    /// Files that steer the run, while an agent works in place.
    pub(super) protected: ProtectedFiles,
}

impl Desk {
    /// The state of the attempt: claim, checkpoint, sessions.
    pub(super) fn state(&self) -> &StateDir {
        self.project.own_state()
    }
}

/// What an attempt is to do.
pub(super) struct Job {
    pub(super) key: StoryKey,
    /// The attempt, as it is on disk.
    pub(super) attempt: Attempt,
    /// What is known of it so far.
    pub(super) facts: Facts,
    /// The plan's files.
    pub(super) books: PlanFiles,
    pub(super) failed_before: BTreeMap<String, FailedBefore>,
    pub(super) task: Task,
}

/// One part of an attempt.
pub(super) enum Task {
    /// Bring the copy to the base, and let an agent work on the story.
    Work(Box<Assignment>),
    /// Tell the paused agent what is missing, and let it go on.
    SendBack { text: String, budget: Budget },
    /// Check what is staged, or the saved work laid over where the target is now.
    Check { work: Box<ToCheck>, is_first: bool },
    /// Commit what has passed, with the loop's own files.
    Commit { passed: Box<Passed>, files: Vec<LoopFile> },
    /// Write the plan instead of working on a story.
    Plan { before: Option<Vec<u8>>, prompt: String, allowance: Allowance },
    /// Release the paused agent, and read what is in the copy.
    Leave { goodbye: String },
    /// Release the paused agent.
    Release { goodbye: String },
}

/// Work that is to be checked.
pub(super) enum ToCheck {
    /// It is in the copy, and staged there.
    Staged(Staged),
    /// It is in the user's tree, whatever that holds by now.
    InTree,
    /// The target moved: this commit is laid over its new tip.
    Moved { saved: String, tip: Option<String>, branch: String },
}

/// What an agent is given to begin with.
pub(super) struct Assignment {
    pub(super) plan: Plan,
    pub(super) progress: Vec<u8>,
    /// The attempt whose work this one continues.
    pub(super) resumed: Option<SavedAttempt>,
    /// The client's session in which it begins, if not in a new one.
    pub(super) session: Option<SessionSoFar>,
    /// Messages from the user, for the prompt.
    pub(super) messages: String,
    pub(super) budget: Budget,
}

/// What an agent may spend, and what the run has left.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Budget {
    pub(super) allowance: Allowance,
    pub(super) quota_streak: u32,
    /// Whether another session may take over when its context is full.
    pub(super) may_hand_over: bool,
}

/// What is known of an attempt besides its files.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub(super) duration: Option<Duration>,
    pub(super) tokens: Option<u64>,
    pub(super) cost_usd: Option<f64>,
    /// The agent's own account of its work.
    pub(super) summary: Option<String>,
    /// Messages from the user that were in its prompt.
    pub(super) messages: String,
    /// Whether the agent reported explicitly that the story is done. Then checks that pass are enough
    /// even if no file changed.
    pub(super) claimed: bool,
    pub(super) session: Option<SessionSoFar>,
    /// Whether its session ended because its context was nearly full.
    pub(super) is_handed_over: bool,
    /// The exit code of its agent; 0 if that is paused.
    pub(super) exit_code: Option<i32>,
    /// What hooks rolled back so far.
    pub(super) rollbacks: Vec<HookRollback>,
    /// What the agent did to its file of the plan.
    pub(super) agents: Option<AgentsPlan>,
    pub(super) second_look: SecondLook,
}

/// What a second look at work that passed gave.
#[derive(Debug, Clone, Default)]
pub(super) struct SecondLook {
    pub(super) proof: Option<Proof>,
    pub(super) review: Option<Reviewed>,
}

/// Work that has passed its checks.
#[derive(Debug, Clone, Default)]
pub(super) struct Passed {
    pub(super) staged: Staged,
    pub(super) checks: Vec<Check>,
    /// In what respect it weakened the tests.
    pub(super) weakened: Option<String>,
    /// What all attempts at the story cost, where known.
    pub(super) cost_usd: Option<f64>,
}

/// What an agent used: a turn of it, or the whole session.
#[derive(Debug, Clone, Default)]
pub(super) struct Used {
    /// Time and tokens of this turn.
    pub(super) seconds: f64,
    pub(super) tokens: u64,
    /// Tokens of the session so far.
    pub(super) session_tokens: u64,
    /// Whether it was the reviewer, who works on no files.
    pub(super) is_reviewer: bool,
    /// The session, if it has ended.
    pub(super) ended: Option<EndedSession>,
}

/// A session that has ended.
#[derive(Debug, Clone)]
pub(super) struct EndedSession {
    /// The tokens that each of its stories took.
    pub(super) stories: Vec<(StoryKey, u64)>,
    pub(super) run: Box<AgentRun>,
}

/// What a planning agent left.
pub(super) struct Planned {
    /// What its run is worth.
    pub(super) end: WorkEnd,
    /// Its file of the plan.
    pub(super) left: Option<Vec<u8>>,
}

/// What a part of an attempt led to.
pub(super) enum Ended {
    /// The agent ended well, or asks whether it may stop; its work is staged.
    Worked(Left),
    Checked(Box<Passed>),
    Committed(Made, Box<Passed>),
    Planned(Planned),
    Left(Left),
    Released,
    /// The attempt does not land.
    Failed(WorkEnd),
}

/// How far an attempt has come.
pub(super) struct Course {
    pub(super) attempt: Attempt,
    pub(super) facts: Facts,
    /// What agents used on the way.
    pub(super) used: Vec<Used>,
}

/// A job that was done.
pub(super) struct Done {
    pub(super) course: Course,
    pub(super) ended: Result<Ended, Failure>,
}

/// Why an attempt goes no further: what that makes of it, or a failure of our own.
#[derive(Debug)]
pub(super) enum Stopped {
    Work(WorkEnd),
    Failure(Failure),
}

impl From<WorkEnd> for Stopped {
    fn from(end: WorkEnd) -> Self {
        Self::Work(end)
    }
}

impl<E: Into<Failure>> From<E> for Stopped {
    fn from(error: E) -> Self {
        Self::Failure(error.into())
    }
}

/// What every step of a job may read.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub(super) context: &'a Context,
    pub(super) reporter: &'a Reporter,
    /// The name under which the slot works.
    pub(super) run: &'a str,
    pub(super) key: &'a StoryKey,
    /// The plan's files.
    pub(super) books: &'a PlanFiles,
    pub(super) failed_before: &'a BTreeMap<String, FailedBefore>,
}

/// Does one part of an attempt.
pub(super) fn attempt(context: &Context, job: Job, desk: &mut Desk, reporter: &Reporter) -> Done {
    let Job { key, attempt, facts, books, failed_before, task } = job;
    let run = desk.run.clone();
    let around = Around {
        context,
        reporter,
        run: &run,
        key: &key,
        books: &books,
        failed_before: &failed_before,
    };
    let mut course = Course { attempt, facts, used: Vec::new() };
    let ended = match perform(around, desk, &mut course, task) {
        Ok(ended) => Ok(ended),
        Err(Stopped::Work(end)) => Ok(Ended::Failed(end)),
        Err(Stopped::Failure(failure)) => Err(failure),
    };
    Done { course, ended }
}

fn perform(
    around: Around<'_>,
    desk: &mut Desk,
    course: &mut Course,
    task: Task,
) -> Result<Ended, Stopped> {
    match task {
        Task::Work(mut assignment) => {
            let before = begin::begin(around, desk, &course.attempt, &mut assignment)?;
            work::work(around, desk, course, *assignment, &before)?;
            Ok(Ended::Worked(stage::staged_work(around, desk, course)?))
        }
        Task::SendBack { text, budget } => {
            work::send_back(around, desk, course, text, budget)?;
            Ok(Ended::Worked(stage::staged_work(around, desk, course)?))
        }
        Task::Check { work, is_first } => {
            let passed = check::check_work(around, desk, &mut course.attempt, *work)?;
            if is_first {
                let copy = &mut desk.copy;
                let proof = prove::prove(around, copy, &course.attempt, &passed)?;
                course.facts.second_look.proof = proof;
                let review = review::review(around, desk, course, &passed)?;
                course.facts.second_look.review = review;
            }
            Ok(Ended::Checked(Box::new(passed)))
        }
        Task::Commit { passed, files } => {
            let copy = &mut desk.copy;
            let (made, passed) = commit::commit_story(around, copy, course, *passed, &files)?;
            Ok(Ended::Committed(made, Box::new(passed)))
        }
        Task::Plan { before, prompt, allowance } => {
            let asked = (before.as_deref(), prompt.as_str(), allowance);
            Ok(Ended::Planned(plan::plan(around, desk, course, asked)?))
        }
        Task::Leave { goodbye } => {
            course.used.extend(watch::release(around.context, desk, &goodbye)?);
            Ok(Ended::Left(stage::left_in(around, desk, &course.attempt)?))
        }
        Task::Release { goodbye } => {
            course.used.extend(watch::release(around.context, desk, &goodbye)?);
            Ok(Ended::Released)
        }
    }
}
