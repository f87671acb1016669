//! An attempt: a function of its job. While it runs, it owns one copy and one agent, has a thread of its
//! own, and touches nothing else. The conductor acts on its results.
//!
//! | file | purpose |
//! | --- | --- |
//! | `prepare.rs` | brings the copy to the attempt's base, and writes the prompt |
//! | `work.rs`, `watch.rs` | runs the agent, judges how it ended, and stages what it left |
//! | `verify.rs` | has the verifiers look at the work |
//! | `commit.rs` | commits the work with the user's git hooks |
//! | `moved.rs` | rebases work onto a target that has moved, and checks it again |

mod commit;
mod moved;
mod prepare;
mod unhooked;
pub(crate) mod verify;
mod watch;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use ralph_base::state::{Event, RunDir, StateDir, StoryKey};
use ralph_core::plan::{AgentsPlan, Plan};
use ralph_project::failed_before::FailedBefore;
use ralph_project::project::Project;
use ralph_project::strikes::HookRollback;
use ralph_project::under_way::Attempt;
use ralph_project::verification::Finding;

use super::context::Context;
use super::decide::{Allowance, Trouble, WorkEnd, waits};
use crate::exit::Failure;
use crate::saved::SavedAttempt;
use crate::terminal::{Glimpse, Tone};
use board::{LoopFile, NewCommit, PlanFiles};
use client::{AgentRun, SessionSoFar};
pub(super) use commit::commit;
pub(super) use moved::lay_over;
pub(super) use prepare::{from_user, prepare, prepare_copy};
pub(crate) use prepare::{read_template, template};
use verify::{Stage, Work, verify};
pub(super) use watch::{LiveAgent, refused_in, release, rollbacks, set_phase};
pub(crate) use watch::{log_of, open_log, supervision};
pub(super) use work::{left_in, read_agents_plan, report_findings};
use work_copy::{Imported, Staged, Start, Workspace};

/// Where an attempt works: a copy, a folder for its records, and an agent if one is paused in its
/// stop hook.
pub(super) struct Desk {
    /// The slot's name: `1`, `2`, …
    pub(super) name: String,
    /// The run's name, with the slot's name if there are several slots.
    pub(super) run: String,
    /// The project as the slot's agent sees it.
    pub(super) project: Project,
    pub(super) dir: RunDir,
    pub(super) copy: Workspace,
    pub(super) session: Option<LiveAgent>,
}

impl Desk {
    /// The attempt's state: claim, checkpoint, sessions.
    pub(super) fn state(&self) -> &StateDir {
        self.project.own_state()
    }
}

/// Input of every step of an attempt, and the channel for its reports.
pub(crate) struct Job {
    pub(crate) context: Arc<Context>,
    pub(crate) reporter: Reporter,
    /// The run's name, with the slot's name if there are several slots.
    pub(crate) run: String,
    pub(crate) key: StoryKey,
    /// The plan and progress files.
    pub(crate) books: PlanFiles,
    pub(crate) failed_before: BTreeMap<String, FailedBefore>,
    /// How many tests each check ran when the last story landed, if its runner says so.
    pub(crate) tests_before: BTreeMap<String, u64>,
    /// The verifiers that have refused work on this story in this run.
    pub(crate) refused_by: BTreeSet<String>,
}

/// One task of an attempt.
pub(super) enum Task {
    /// Bring the copy to the base, and let an agent work on the story.
    Work(Box<Assignment>),
    /// Send the paused agent on with a message about what is missing.
    SendBack { text: String, budget: Budget },
    /// Verify what is staged, or saved work after rebasing it; with what was found out before.
    Check { work: Box<ToCheck>, known: Option<Vec<Finding>> },
    /// Commit the checked work with the loop's own files.
    Commit { passed: Box<Passed>, files: Vec<LoopFile> },
    /// Have the agent write the plan instead of working on a story.
    Plan { before: Option<Vec<u8>>, prompt: String, allowance: Allowance },
    /// Release the paused agent, and stage what is in the copy.
    Leave { goodbye: String },
    /// Release the paused agent.
    Release { goodbye: String },
}

impl Task {
    /// The limits of the agent that it starts or sends on.
    fn budget(&self) -> Option<Budget> {
        match self {
            Self::Work(assignment) => Some(assignment.budget),
            Self::SendBack { budget, .. } => Some(*budget),
            _ => None,
        }
    }
}

/// Where the work to check is.
pub(super) enum ToCheck {
    /// Staged in the copy.
    Staged(Staged),
    /// In the user's tree, in its current state.
    InTree,
    /// In this commit, to be rebased onto the target's new tip.
    Moved { saved: String, tip: Option<String>, branch: String },
}

/// Input of an agent that begins.
pub(super) struct Assignment {
    pub(super) plan: Plan,
    pub(super) progress: Vec<u8>,
    /// The attempt whose work this one continues.
    pub(super) resumed: Option<SavedAttempt>,
    /// The client session to resume, if any.
    pub(super) session: Option<SessionSoFar>,
    /// The user's messages, for the prompt.
    pub(super) messages: String,
    /// What the user wants the agent to know, until the story lands.
    pub(super) hint: String,
    pub(super) budget: Budget,
}

/// The limits of an agent's turn.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Budget {
    pub(super) allowance: Allowance,
    pub(super) quota_streak: u32,
    /// Whether another agent can take over at a usage limit.
    pub(super) may_switch: bool,
    /// Whether another session can take over when the context is full.
    pub(super) may_hand_over: bool,
}

/// Facts about an attempt that are not in its files.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub(super) duration: Option<Duration>,
    pub(super) tokens: Option<u64>,
    pub(super) cost_usd: Option<f64>,
    /// Whether the cost includes that of interrupted attempts at the story, which was not known.
    pub(super) includes_earlier: bool,
    /// The agent's summary of its work.
    pub(super) summary: Option<String>,
    /// The user's messages that were in its prompt.
    pub(super) messages: String,
    /// Whether the agent reported explicitly that the story is done. If so, passing checks suffice
    /// even if no file changed.
    pub(super) claimed: bool,
    pub(super) session: Option<SessionSoFar>,
    /// Whether the session ended because its context was almost full.
    pub(super) is_handed_over: bool,
    /// The agent's exit code; 0 if the agent is paused.
    pub(super) exit_code: Option<i32>,
    /// The rollbacks that hooks have made so far.
    pub(super) rollbacks: Vec<HookRollback>,
    /// The agent's changes to the plan.
    pub(super) agents: Option<AgentsPlan>,
    /// The model that answered last, and the checksum of the prompt; empty if unknown.
    pub(super) model: String,
    pub(super) prompt_sha256: String,
    /// How many of the agent's calls no hook judged, in words.
    pub(super) unguarded: Option<String>,
    /// The verifier that refused the work last.
    pub(super) refused_by: Option<&'static str>,
}

impl Facts {
    /// Notes the model that answers, if it is known.
    fn saw_model(&mut self, model: &str) {
        if !model.is_empty() {
            model.clone_into(&mut self.model);
        }
    }

    /// What was found out about the work before it was finished.
    pub(super) fn finding(&self) -> Option<Finding> {
        Some(Finding::remark("unguarded", "guard", self.unguarded.clone()?))
    }
}

/// The work in an attempt's copy.
#[derive(Debug, Clone, Default)]
pub(super) struct Left {
    /// The staged work; `None` if the copy cannot be read.
    pub(super) staged: Option<Staged>,
    /// Commits, branches and stashes of the copy's repository.
    pub(super) imported: Imported,
}

impl Left {
    /// Whether anything is worth saving; branches and stashes are saved once only.
    pub(super) fn has_work(&self, is_saved: bool) -> bool {
        let has_files =
            |staged: &Staged| !staged.files.is_empty() || (!is_saved && !staged.aside.is_empty());
        let has_files = self.staged.as_ref().is_some_and(has_files);
        has_files || self.imported.head.is_some() || !self.imported.others.is_empty()
    }
}

/// Work that no verifier refused.
#[derive(Debug, Clone, Default)]
pub(super) struct Passed {
    pub(super) staged: Staged,
    pub(super) findings: Vec<Finding>,
    /// The cost of all attempts at the story, if known.
    pub(super) cost_usd: Option<f64>,
}

/// The tokens used by each story of a session.
pub(crate) type StoryTokens = Vec<(StoryKey, u64)>;

/// What an agent used in one turn or in a whole session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Used {
    /// Time and tokens of this turn.
    pub(crate) seconds: f64,
    pub(crate) tokens: u64,
    /// Tokens of the session so far.
    pub(crate) session_tokens: u64,
    /// Whether this was a verifier's agent, which does not work on the story.
    pub(crate) is_verifier: bool,
    /// The session's result, if it has ended.
    pub(crate) ended: Option<(Box<AgentRun>, StoryTokens)>,
}

/// The result of a task.
pub(super) enum Ended {
    /// The agent ended well, or is asking to stop; its work is staged.
    Worked(Left),
    Checked(Box<Passed>),
    Committed(NewCommit, Box<Passed>),
    /// The plan before and after the agent wrote it, or why its plan is not used.
    Planned {
        before: Option<Vec<u8>>,
        left: Option<Vec<u8>>,
        end: Option<WorkEnd>,
    },
    Left(Left),
    Released,
    /// The attempt has failed.
    Failed(WorkEnd),
}

/// The progress of an attempt.
#[derive(Default)]
pub(super) struct Course {
    pub(super) attempt: Attempt,
    pub(super) facts: Facts,
    /// What agents have used so far.
    pub(super) used: Vec<Used>,
}

/// A completed task.
pub(super) struct Done {
    pub(super) desk: Desk,
    pub(super) course: Course,
    pub(super) ended: Result<Ended, Failure>,
}

/// Why an attempt cannot continue: the way in which its work ended, or an error of our own.
#[derive(Debug)]
pub(crate) enum Stopped {
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

/// A report of a running attempt.
pub(super) enum Report {
    /// A line for the terminal.
    Line(Tone, String),
    Warning(String),
    /// The loop's current activity for the story.
    Doing(String),
    /// The agent's current activity.
    Glimpse(Glimpse),
    /// An event for the journal.
    Note(StoryKey, Event),
    /// An event only for the view and for `--json`.
    Event(StoryKey, Event),
    /// The attempt was asked to stop; the agent's grace period has begun.
    Stopping,
    /// The task is complete; the desk comes back.
    Done(Box<Done>),
    /// The thread panicked.
    Died,
}

/// Sends reports from a slot to the conductor.
#[derive(Debug, Clone)]
pub(crate) struct Reporter {
    pub(crate) slot: usize,
    /// The slot's prefix for each line, if there are several slots.
    pub(crate) prefix: String,
    pub(super) reports: Sender<(usize, Report)>,
}

impl Reporter {
    /// Sends a report. After the end of the run nobody receives it, which is fine.
    pub(super) fn send(&self, report: Report) {
        let _ = self.reports.send((self.slot, report));
    }

    pub(crate) fn line(&self, text: impl AsRef<str>) {
        self.toned(Tone::Plain, text);
    }

    pub(crate) fn toned(&self, tone: Tone, text: impl AsRef<str>) {
        self.send(Report::Line(tone, format!("{}{}", self.prefix, text.as_ref())));
    }

    pub(crate) fn warn(&self, text: impl AsRef<str>) {
        self.send(Report::Warning(format!("{}{}", self.prefix, text.as_ref())));
    }

    pub(crate) fn doing(&self, text: &str) {
        self.send(Report::Doing(text.to_owned()));
    }

    pub(crate) fn note(&self, key: &StoryKey, event: Event) {
        self.send(Report::Note(key.clone(), event));
    }
}

/// Performs one task of an attempt.
pub(super) fn attempt(job: &Job, mut desk: Desk, mut course: Course, task: Task) -> Done {
    let budget = task.budget();
    let ended = match (perform(job, &mut desk, &mut course, task), budget) {
        (Ok(ended), _) => Ok(ended),
        (Err(Stopped::Work(end)), _) => Ok(Ended::Failed(end)),
        // Nothing is wrong with the story, and no other agent has more room.
        (Err(Stopped::Failure(failure)), Some(budget)) if failure.is_for_want_of_room() => {
            let patience = work::patience(job, Budget { may_switch: false, ..budget });
            Ok(Ended::Failed(waits(patience, Trouble::NoRoom(failure.to_string()))))
        }
        (Err(Stopped::Failure(failure)), _) => Err(failure),
    };
    Done { desk, course, ended }
}

fn perform(job: &Job, desk: &mut Desk, course: &mut Course, task: Task) -> Result<Ended, Stopped> {
    match task {
        Task::Work(mut assignment) => {
            let before = prepare::begin(job, desk, &course.attempt, &mut assignment)?;
            work::work(job, desk, course, *assignment, &before)?;
            Ok(Ended::Worked(work::staged_work(job, desk, course)?))
        }
        Task::SendBack { text, budget } => {
            work::send_back(job, desk, course, text, budget)?;
            Ok(Ended::Worked(work::staged_work(job, desk, course)?))
        }
        Task::Check { work, known } => {
            let passed = check(job, desk, course, *work, known)?;
            Ok(Ended::Checked(Box::new(passed)))
        }
        Task::Commit { passed, files } => {
            let (made, passed) = commit::commit_story(job, desk, course, *passed, &files)?;
            Ok(Ended::Committed(made, Box::new(passed)))
        }
        Task::Plan { before, prompt, allowance } => {
            work::plan(job, desk, course, before, (&prompt, allowance))
        }
        Task::Leave { goodbye } => {
            course.used.extend(release(&job.context, desk, &goodbye)?);
            Ok(Ended::Left(left_in(job, desk, &course.attempt)?))
        }
        Task::Release { goodbye } => {
            course.used.extend(release(&job.context, desk, &goodbye)?);
            Ok(Ended::Released)
        }
    }
}

/// Has the verifiers look at the work.
fn check(
    job: &Job,
    desk: &mut Desk,
    course: &mut Course,
    work: ToCheck,
    known: Option<Vec<Finding>>,
) -> Result<Passed, Stopped> {
    let (attempt, ours) = (&mut course.attempt, &job.books.ours);
    let mut saved = None;
    let staged = match work {
        ToCheck::Staged(staged) => staged,
        ToCheck::InTree => desk.copy.stage(Start::of(attempt), ours, &Imported::default())?,
        ToCheck::Moved { saved: work, tip, branch } => {
            let staged = moved::move_onto(job, desk, attempt, &work, (tip, branch))?;
            saved = Some(work);
            staged
        }
    };
    let stage = if known.is_some() { Stage::Changed } else { Stage::New };
    let findings = known.unwrap_or_else(|| course.facts.finding().into_iter().collect());
    let work = Work::changed(job, &mut desk.copy, &course.attempt, staged);
    let mut work = Work { stage, findings, ..work };
    let verified = verify(&mut work);
    course.used.append(&mut work.used);
    course.facts.refused_by = work.refused_by;
    let Work { staged, findings, checks, copy, .. } = work;
    let saved = saved.filter(|_| checks.last().is_some_and(|last| !last.passed()));
    match (verified, saved) {
        (Ok(()), _) => Ok(Passed { staged, findings, cost_usd: None }),
        (Err(stopped), None) => Err(stopped),
        (Err(stopped), Some(saved)) => {
            let base = course.attempt.base.as_deref();
            Err(moved::because_of_others(stopped, copy, &saved, base))
        }
    }
}
