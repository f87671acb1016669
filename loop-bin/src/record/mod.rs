//! What a run leaves on disk for others to read: its record, which the next start reads after a crash, and
//! `status` at any time; its locks; what a start would do about an interrupted run.
//!
//! | file | what |
//! | --- | --- |
//! | `mod.rs` | `run.json`, the run's folder, its unfinished attempts |
//! | `lock.rs` | who works in the project |
//! | `outcome.rs` | how an attempt ended, if it did not land |
//! | `left.rs`, `recovery.rs` | what an interrupted run left, and what the next one does about it |

mod left;
mod lock;
mod outcome;
mod recovery;

use std::collections::BTreeMap;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::{self, Lock, RunDir, StoryKey};
use ralph_core::git::Repo;
use ralph_project::failed_before::FailedBefore;
use ralph_project::project::Project;
use ralph_project::under_way::Attempt;
use run_history::Tally;
use serde::{Deserialize, Serialize};
use work_copy::text_path;

use crate::exit::Failure;
pub(crate) use left::{copies_of, left_behind, look_for_recovery};
pub(crate) use lock::{held_by, holder, run_name, take, take_lock};
pub(crate) use outcome::{Discarding, Outcome};
pub(crate) use recovery::{Recovery, recovery, recovery_of};

/// The version of the file format.
const VERSION: u32 = 4;

/// The state of a run on disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RunRecord {
    pub(crate) version: u32,
    #[serde(flatten)]
    pub(crate) process: RunProcess,
    pub(crate) plan: Utf8PathBuf,
    /// The branch on which the work lands.
    pub(crate) target: String,
    /// Whether the run writes the plan instead of working through it.
    pub(crate) planning: bool,
    pub(crate) tally: Tally,
    /// The state of each slot, by name.
    pub(crate) slots: BTreeMap<String, SlotRecord>,
    /// What the run is waiting for, if anything.
    pub(crate) pause: Option<Pause>,
    /// Why it ended; `None` while it runs, or if it was killed.
    pub(crate) finish: Option<String>,
    /// Details of the reason.
    pub(crate) reason: Option<String>,
    /// Why waiting work could not be rebased onto its branch.
    pub(crate) rebase_problem: Option<String>,
    /// The failures in each check before the first story, if they are ignored.
    pub(crate) failed_before: BTreeMap<String, FailedBefore>,
    /// How many tests each check ran when the last story landed, if its runner says so.
    #[serde(default)]
    pub(crate) tests_before: BTreeMap<String, u64>,
}

/// The process of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RunProcess {
    /// The run's name.
    pub(crate) run: String,
    /// The folder in which the record was written. In a copy of that folder the record belongs to another
    /// project, and so do its processes.
    pub(crate) folder: Utf8PathBuf,
    pub(crate) pid: u32,
    /// When it started (RFC 3339, UTC).
    pub(crate) started_at: String,
    pub(crate) elapsed_s: f64,
    /// Whether it was asked to stop.
    pub(crate) interrupted: bool,
    /// The remote-tracking ref on which the work is merged, if it is merged on a server.
    pub(crate) server: String,
    /// The name of the run that this one continues.
    pub(crate) continues: Option<String>,
}

/// The state of a slot.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SlotRecord {
    /// The story in progress.
    pub(crate) story: Option<StoryKey>,
    /// Set while its attempt is being discarded, which has been counted already.
    pub(crate) discarding: Option<Discarding>,
    /// The session's tokens that have been counted, and where its part of the log starts.
    pub(crate) session_tokens: u64,
    pub(crate) session_log: u64,
}

/// A pause of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pause {
    pub(crate) why: String,
    /// RFC 3339, UTC.
    pub(crate) until: String,
}

impl RunRecord {
    /// An empty record of this process.
    pub(crate) fn new() -> Self {
        let process = RunProcess { pid: std::process::id(), ..RunProcess::default() };
        Self { version: VERSION, process, ..Self::default() }
    }

    /// The last run's record; `None` if there is none, or if it belongs to another project.
    pub(crate) fn load(run_dir: &RunDir) -> io::Result<Option<Self>> {
        Ok(Self::read(run_dir)?.filter(|record| record.is_of(run_dir)))
    }

    /// Whether the record belongs to another project, of which this one's folder is a copy.
    pub(crate) fn is_of_another(run_dir: &RunDir) -> io::Result<bool> {
        Ok(Self::read(&run_dir.of_run())?.is_some_and(|record| !record.is_of(run_dir)))
    }

    fn read(run_dir: &RunDir) -> io::Result<Option<Self>> {
        state::read_record(&run_dir.record(), VERSION)
    }

    fn is_of(&self, run_dir: &RunDir) -> bool {
        // A record without a folder counts as ours. If its folder is gone, the project has been moved.
        let folder = &self.process.folder;
        folder == run_dir.in_git() || !folder.exists()
    }

    /// The project's folder when the record was written, and now.
    pub(crate) fn folders(run_dir: &RunDir) -> io::Result<Option<(Utf8PathBuf, Utf8PathBuf)>> {
        let project = |folder: &Utf8Path| folder.ancestors().nth(2).map(Utf8Path::to_owned);
        let then = Self::read(&run_dir.of_run())?.and_then(|it| project(&it.process.folder));
        Ok(then.zip(project(run_dir.in_git())))
    }

    /// Saves the record. A power cut can only lose the run's elapsed time.
    pub(crate) fn save(&self, run_dir: &RunDir) -> io::Result<()> {
        state::replace_unsynced(&run_dir.record(), &serde_json::to_vec_pretty(self)?)
    }

    /// The stories in progress.
    pub(crate) fn stories(&self) -> impl Iterator<Item = (&String, &StoryKey)> {
        self.slots.iter().filter_map(|(name, slot)| Some((name, slot.story.as_ref()?)))
    }
}

/// The plan of the run in progress, if any.
pub(crate) fn plan_of_run(project: &Project) -> io::Result<Option<String>> {
    let Some(run_dir) = project.run_dir().map(|dir| dir.of_run()) else { return Ok(None) };
    if Lock::holder(&run_dir.lock()).is_none() {
        return Ok(None);
    }
    Ok(RunRecord::load(&run_dir)?.map(|record| record.plan.into_string()))
}

/// The folders of all slots, past and present, of runs with one or several workers.
pub(crate) fn slot_dirs(run_dir: &RunDir) -> Vec<RunDir> {
    let several = run_dir.workers().into_iter().map(|(_, folder)| folder);
    [run_dir.of_run()].into_iter().chain(several).collect()
}

/// The unfinished attempts of a run; none if that run belongs to another project.
pub(crate) fn attempts_left(run_dir: &RunDir) -> io::Result<Vec<(RunDir, Attempt)>> {
    if RunRecord::is_of_another(run_dir)? {
        return Ok(Vec::new());
    }
    let folders = RunRecord::folders(run_dir)?;
    let mut left = Vec::new();
    for folder in slot_dirs(run_dir) {
        let Some(mut attempt) = Attempt::load(&folder)? else { continue };
        for path in [&mut attempt.plan, &mut attempt.progress, &mut attempt.work] {
            if let Some((from, to)) = &folders
                && let Ok(rest) = path.strip_prefix(from)
            {
                *path = to.join(rest);
            }
        }
        left.push((folder, attempt));
    }
    Ok(left)
}

/// Whether an unfinished attempt worked in this folder.
pub(crate) fn is_work_left_in(folder: &Utf8Path, run_dir: &RunDir) -> io::Result<bool> {
    Ok(attempts_left(run_dir)?.iter().any(|(_, left)| left.work == *folder))
}

/// The run's folder in the git folder.
pub(crate) fn run_dir(repo: &Repo) -> Result<RunDir, Failure> {
    Ok(RunDir::in_git_folder(text_path(repo.git_dir())?))
}

/// Leaves a message for the next prompts; returns the answer for the user.
pub(crate) fn leave_message(run_dir: &RunDir, text: &str) -> io::Result<&'static str> {
    fs_err::create_dir_all(run_dir.root())?;
    state::append_line(&run_dir.messages(), format!("- {}", text.trim()).as_bytes())?;
    Ok("the agent gets the message in its next prompt")
}
