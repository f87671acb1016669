//! Where the run stands, on disk: for the next start after a crash, and for `status`.

use std::collections::BTreeMap;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::{self, Id, Lock, RunDir};
use ralph_project::failed_before::FailedBefore;
use ralph_project::project::Project;
use ralph_project::under_way::Attempt;
use serde::{Deserialize, Serialize};

use super::decide::{Counters, Discarding, Finish};

/// The version of the file's format.
const VERSION: u32 = 3;

/// Where a run stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RunRecord {
    pub(crate) version: u32,
    /// The run's name.
    pub(crate) run: String,
    /// The folder that it was written into. In a copy of that folder it is not about this project,
    /// and its processes are those of another one.
    pub(crate) folder: Utf8PathBuf,
    /// The process.
    pub(crate) pid: u32,
    /// When it began, as RFC 3339 in UTC.
    pub(crate) started_at: String,
    /// How long it has taken.
    pub(crate) elapsed_s: f64,
    pub(crate) plan: Utf8PathBuf,
    /// The branch on which the work lands.
    pub(crate) target: String,
    pub(crate) counters: Counters,
    /// The story under way.
    pub(crate) story: Option<String>,
    /// What it waits for, if it does.
    pub(crate) pause: Option<Pause>,
    /// Why it ended; none while it runs, or if it never got to its end.
    pub(crate) finish: Option<String>,
    /// What there is to say about that.
    pub(crate) reason: Option<String>,
    /// Why work that waits for the target could not be rebased onto it.
    pub(crate) misfit: Option<String>,
    /// The attempt under way, while it is being kept: it is counted already.
    pub(crate) discarding: Option<Discarding>,
    /// What failed in each check before the first story, where that is ignored.
    pub(crate) failed_before: BTreeMap<String, FailedBefore>,
    /// Whether it was asked to end.
    pub(crate) interrupted: bool,
    /// Whether it writes the plan instead of working through it.
    pub(crate) planning: bool,
    /// How one of several workers ended; what the run ends with is decided by all of them.
    pub(crate) ended: Option<Finish>,
}

/// A wait of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pause {
    pub(crate) why: String,
    /// Whether the agent's service asked for it, which is that of all workers.
    #[serde(default)]
    pub(crate) is_services: bool,
    /// As RFC 3339 in UTC.
    pub(crate) until: String,
}

impl RunRecord {
    /// An empty one of this process.
    pub(crate) fn new() -> Self {
        Self { version: VERSION, pid: std::process::id(), ..Self::default() }
    }

    /// The last run's; none if there was none yet, or only in the project that this is a copy of.
    pub(crate) fn load(run_dir: &RunDir) -> io::Result<Option<Self>> {
        Ok(Self::read(run_dir)?.filter(|record| record.is_of(run_dir)))
    }

    /// Those of the workers of a run that has not ended, by name.
    pub(crate) fn of_workers(run_dir: &RunDir) -> io::Result<Vec<(Id, Self)>> {
        let mut found = Vec::new();
        for (name, folder) in run_dir.workers() {
            found.extend(Self::load(&folder)?.map(|record| (name, record)));
        }
        found.retain(|(_, record)| record.finish.is_none());
        Ok(found)
    }

    /// What the run has done with all its workers.
    pub(crate) fn whole(&self, run_dir: &RunDir) -> io::Result<Counters> {
        let workers = Self::of_workers(run_dir)?;
        Ok(workers.iter().fold(self.counters.clone(), |sum, (_, one)| sum.plus(&one.counters)))
    }

    fn read(run_dir: &RunDir) -> io::Result<Option<Self>> {
        state::read_record(&run_dir.record(), VERSION)
    }

    fn is_of(&self, run_dir: &RunDir) -> bool {
        // One that does not say is taken for ours.
        self.folder.as_str().is_empty() || self.folder == run_dir.root()
    }

    /// Writes it down. How long the run took is the only thing that a power cut may take.
    pub(crate) fn save(&self, run_dir: &RunDir) -> io::Result<()> {
        state::replace_unsynced(&run_dir.record(), &serde_json::to_vec_pretty(self)?)
    }
}

/// The plan of the run that is under way in a project, if one is.
pub(crate) fn plan_of_run(project: &Project) -> io::Result<Option<String>> {
    let Some(run_dir) = project.run_dir() else { return Ok(None) };
    if Lock::holder(&run_dir.lock()).is_none() {
        return Ok(None);
    }
    Ok(RunRecord::load(&run_dir)?.map(|record| record.plan.into_string()))
}

/// The attempt that a run left under way; none if that run was another project's.
pub(crate) fn attempt_left(run_dir: &RunDir) -> io::Result<Option<Attempt>> {
    match RunRecord::read(run_dir)? {
        Some(record) if !record.is_of(run_dir) => Ok(None),
        _ => Attempt::load(run_dir),
    }
}

/// Whether an attempt was left under way in this folder, by the loop itself or by a worker.
pub(crate) fn is_work_left_in(folder: &Utf8Path, run_dir: &RunDir) -> io::Result<bool> {
    let workers = run_dir.workers().into_iter().map(|(_, run_dir)| run_dir);
    for run_dir in [run_dir.clone()].into_iter().chain(workers) {
        if attempt_left(&run_dir)?.is_some_and(|left| left.work == *folder) {
            return Ok(true);
        }
    }
    Ok(false)
}
