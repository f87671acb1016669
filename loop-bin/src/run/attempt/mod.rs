//! An attempt: a function of its job. It owns one copy and one agent while it runs, on a thread of its
//! own, and touches nothing else; whatever follows from it is the conductor's to do.
//!
//! | file | what it does |
//! | --- | --- |
//! | `prepare.rs` | brings the copy to the attempt's base, and writes the prompt |
//! | `work.rs`, `watch.rs` | runs the agent, judges how it ended, and stages what it left |
//! | `check.rs`, `prove.rs`, `review.rs` | the checks and the commit; the proof of new tests; the reviewer |
//! | `moved.rs` | lays work over a target that moved, and checks it again |

mod check;
mod moved;
mod prepare;
mod prove;
mod review;
mod unhooked;
mod watch;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use ralph_base::state::{Event, RunDir, StateDir, StoryKey};
use ralph_core::plan::{AgentsPlan, Plan};
use ralph_project::checks::Check;
use ralph_project::failed_before::FailedBefore;
use ralph_project::project::Project;
use ralph_project::strikes::HookRollback;
use ralph_project::under_way::Attempt;

use super::decide::{Allowance, WorkEnd};
use super::record::Context;
use crate::exit::Failure;
use crate::saved::SavedAttempt;
use crate::terminal::{Glimpse, Tone};
use board::{LoopFile, Made, PlanFiles};
pub(super) use check::{check, checked, commit};
use client::{AgentRun, SessionSoFar};
pub(super) use moved::lay_over;
pub(super) use prepare::{from_user, prepare, prepare_copy};
pub(crate) use prepare::{review_template, template};
pub(super) use prove::Proof;
pub(super) use review::Reviewed;
pub(super) use watch::{LiveAgent, log_of, refused_in, release, rollbacks, set_phase};
pub(super) use work::{left_in, read_agents_plan, report_findings};
use work_copy::{Imported, Staged, Workspace};

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
}

impl Desk {
    /// The state of the attempt: claim, checkpoint, sessions.
    pub(super) fn state(&self) -> &StateDir {
        self.project.own_state()
    }
}

/// What every step of an attempt may read, and where it reports to.
pub(super) struct Job {
    pub(super) context: Arc<Context>,
    pub(super) reporter: Reporter,
    /// The name under which the slot works.
    pub(super) run: String,
    pub(super) key: StoryKey,
    /// The plan's files.
    pub(super) books: PlanFiles,
    pub(super) failed_before: BTreeMap<String, FailedBefore>,
}

/// One part of an attempt.
pub(super) enum Task {
    /// Bring the copy to the base, and let an agent work on the story.
    Work(Box<Assignment>),
    /// Report to the paused agent what is missing, and let it go on.
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
    /// Whether another agent takes over at a usage limit.
    pub(super) may_switch: bool,
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

/// What an attempt left in its copy.
#[derive(Debug, Clone, Default)]
pub(super) struct Left {
    /// The tree; none if the copy cannot be read.
    pub(super) staged: Option<Staged>,
    /// What it left in its own repository.
    pub(super) imported: Imported,
}

impl Left {
    /// Whether there is anything worth keeping; work beside the files is kept once.
    pub(super) fn has_work(&self, is_saved: bool) -> bool {
        let has_files =
            |staged: &Staged| !staged.files.is_empty() || (!is_saved && !staged.aside.is_empty());
        let has_files = self.staged.as_ref().is_some_and(has_files);
        has_files || self.imported.head.is_some() || !self.imported.others.is_empty()
    }
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

/// The tokens that each story of a session took.
pub(super) type StoryTokens = Vec<(StoryKey, u64)>;

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
    pub(super) ended: Option<(Box<AgentRun>, StoryTokens)>,
}

/// What a part of an attempt led to.
pub(super) enum Ended {
    /// The agent ended well, or asks whether it may stop; its work is staged.
    Worked(Left),
    Checked(Box<Passed>),
    Committed(Made, Box<Passed>),
    /// The plan before the agent wrote one, and its file of the plan; or why that is not used.
    Planned {
        before: Option<Vec<u8>>,
        left: Option<Vec<u8>>,
        end: Option<WorkEnd>,
    },
    Left(Left),
    Released,
    /// The attempt does not land.
    Failed(WorkEnd),
}

/// How far an attempt has come.
#[derive(Default)]
pub(super) struct Course {
    pub(super) attempt: Attempt,
    pub(super) facts: Facts,
    /// What agents used on the way.
    pub(super) used: Vec<Used>,
}

/// A task that was done.
pub(super) struct Done {
    pub(super) desk: Desk,
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

/// Something that an attempt reports while it runs.
pub(super) enum Report {
    /// A line for people.
    Line(Tone, String),
    Warning(String),
    /// What the loop does now for the story.
    Doing(String),
    /// What the agent does now.
    Glimpse(Glimpse),
    /// An event for the journal.
    Note(StoryKey, Event),
    /// An event only for whoever follows the run.
    Event(StoryKey, Event),
    /// The attempt was asked to end, and its agent has so long for it.
    Stopping,
    /// The task is done, and the desk is free again.
    Done(Box<Done>),
    /// The thread died of a bug.
    Died,
}

/// Sends reports from a slot to the conductor.
#[derive(Debug, Clone)]
pub(super) struct Reporter {
    pub(super) slot: usize,
    /// Put before each line, where there are several slots.
    pub(super) prefix: String,
    pub(super) reports: Sender<(usize, Report)>,
}

impl Reporter {
    /// Sends a report. Nobody listens any more once the run has ended.
    pub(super) fn send(&self, report: Report) {
        let _ = self.reports.send((self.slot, report));
    }

    pub(super) fn line(&self, text: impl AsRef<str>) {
        self.toned(Tone::Plain, text);
    }

    pub(super) fn toned(&self, tone: Tone, text: impl AsRef<str>) {
        self.send(Report::Line(tone, format!("{}{}", self.prefix, text.as_ref())));
    }

    pub(super) fn warn(&self, text: impl AsRef<str>) {
        self.send(Report::Warning(format!("{}{}", self.prefix, text.as_ref())));
    }

    pub(super) fn doing(&self, text: &str) {
        self.send(Report::Doing(text.to_owned()));
    }

    pub(super) fn note(&self, key: &StoryKey, event: Event) {
        self.send(Report::Note(key.clone(), event));
    }
}

/// Does one part of an attempt.
pub(super) fn attempt(job: &Job, mut desk: Desk, mut course: Course, task: Task) -> Done {
    let ended = match perform(job, &mut desk, &mut course, task) {
        Ok(ended) => Ok(ended),
        Err(Stopped::Work(end)) => Ok(Ended::Failed(end)),
        Err(Stopped::Failure(failure)) => Err(failure),
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
        Task::Check { work, is_first } => {
            let attempt = &mut course.attempt;
            let passed = match *work {
                ToCheck::Staged(staged) => check(job, &mut desk.copy, attempt, staged)?,
                ToCheck::InTree => check::check_tree(job, &mut desk.copy, attempt)?,
                ToCheck::Moved { saved, tip, branch } => {
                    moved::check_moved(job, desk, attempt, &saved, (tip, branch))?
                }
            };
            if is_first {
                let proof = prove::prove(job, &mut desk.copy, attempt, &passed)?;
                course.facts.second_look.proof = proof;
                if job.context.config.review.enabled {
                    let review = review::review(job, desk, course, &passed)?;
                    course.facts.second_look.review = Some(review);
                }
            }
            Ok(Ended::Checked(Box::new(passed)))
        }
        Task::Commit { passed, files } => {
            let (made, passed) = check::commit_story(job, &mut desk.copy, course, *passed, &files)?;
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
