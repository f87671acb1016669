//! The files of a run that only our own programs need: in the project's git folder, out of the
//! agent's reach.

use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};

use super::below;
use super::id::Id;
use super::read;

/// The folder that contains the workers' folders.
const WORKERS: &str = "workers";

/// The note in the git folder of a work tree that a restore has begun and must be finished.
pub const RESTORE_NOTE: &str = "ralph-restoring";

/// The folder `ralph/` in the git folder of a work tree, or the folder of one of several workers
/// inside of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct RunDir {
    root: Utf8PathBuf,
    /// The folder that all workers of the run share.
    shared: Utf8PathBuf,
    /// Its place in the git folder.
    in_git: Utf8PathBuf,
}

impl RunDir {
    /// Returns the run folder in this git folder.
    pub fn in_git_folder(git_dir: &Utf8Path) -> Self {
        let root = below(git_dir, "ralph");
        Self { shared: root.clone(), in_git: root.clone(), root }
    }

    /// Returns this folder moved to `root`, out of the reach of an agent that works in place.
    pub fn outside(&self, root: Utf8PathBuf) -> Self {
        Self { shared: root.clone(), root, in_git: self.in_git.clone() }
    }

    /// Returns its place in the git folder, which is a link if the folder itself is elsewhere.
    pub fn in_git(&self) -> &Utf8Path {
        &self.in_git
    }

    /// Returns the folder of one of several workers.
    pub fn of_worker(&self, worker: &Id) -> Self {
        let root = self.shared.join(WORKERS).join(worker.as_str());
        Self { root, ..self.clone() }
    }

    /// Returns the folders of all workers, past ones included, sorted by number.
    pub fn workers(&self) -> Vec<(Id, Self)> {
        let folders = self.shared.join(WORKERS).read_dir_utf8().into_iter().flatten().flatten();
        let mut names: Vec<Id> =
            folders.filter_map(|folder| Id::parse(folder.file_name()).ok()).collect();
        names.sort_unstable_by_key(|name| (name.as_str().len(), name.as_str().to_owned()));
        names.into_iter().map(|name| (name.clone(), self.of_worker(&name))).collect()
    }

    /// Returns the folder that all workers of the run share.
    pub fn of_run(&self) -> Self {
        Self { root: self.shared.clone(), ..self.clone() }
    }

    /// Returns the run folder of the project at `root`, found without starting git; `None` outside
    /// of a repository.
    pub fn of_project(root: &Utf8Path) -> Option<Self> {
        let git_dir = root.ancestors().find_map(|folder| git_folder_of(folder.as_std_path()))?;
        Some(Self::in_git_folder(&Utf8PathBuf::from_path_buf(git_dir).ok()?))
    }

    /// Returns the folder itself.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    paths! {
        /// The state of the run: its counters, and whether it has finished.
        record: shared / "run.json";
        /// The user's own verifiers, as they were when the run started.
        verifiers: shared / "verifiers";
        /// The current activity of the run, for observers.
        live: shared / "live.json";
        /// The commits that landed, one a line.
        landed: shared / "landed";
        /// The current attempt.
        attempt: root / "attempt.json";
        /// Files that are restored after an agent has worked in place.
        protected: root / "protected.json";
        /// The contents that such files had when they were restored.
        replaced: root / "replaced";
        /// The plan as it was given to the attempt's agent.
        plan_given: root / "plan-given";
        /// The progress as it was given to the attempt's agent.
        progress_given: root / "progress-given";
        /// What the attempt's agent added to the progress.
        progress_added: root / "progress-added";
    }

    /// Returns the file of a plan's progress entries that are not committed yet.
    pub fn progress_pending(&self, plan_name: &str) -> Utf8PathBuf {
        self.shared.join(format!("progress-pending-{plan_name}"))
    }

    paths! {
        /// Lessons of the run that are not committed yet.
        lessons: shared / "lessons-pending";
        /// Messages to the agent that no landed story has taken up yet.
        messages: shared / "messages.md";
        /// Stories that the user asked to retry during the run.
        retries: shared / "retries";
        /// The name of the run that should stop after its current story.
        stop_request: shared / "stop";
        /// The lock that the loop holds as long as it runs.
        lock: shared / "lock";
        /// The lock of a run for pull requests, each of whose stories has a loop of its own.
        requests_lock: shared / "requests.lock";
        /// The client's settings that the loop passes to its agent.
        passed_settings: root / "passed-settings.json";
        /// The MCP servers that the loop passes to its agent.
        passed_servers: root / "passed-mcp.json";
    }
}

/// Returns the git folder of the work tree with this top folder. In a linked work tree or a
/// submodule, the file `.git` names it.
fn git_folder_of(top: &Path) -> Option<PathBuf> {
    let place = top.join(".git");
    if place.is_dir() {
        return Some(place);
    }
    let text = read::read_text(place).ok()?;
    Some(top.join(text.strip_prefix("gitdir:")?.trim()))
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn the_git_folder_is_found_from_a_subfolder_and_via_a_git_file() {
        let scratch = Scratch::new();
        scratch.dir("app/.git");
        let inside = scratch.dir("app/src/deep");
        let found = RunDir::of_project(&inside).unwrap();
        assert_eq!(found.root(), scratch.path("app/.git/ralph"));
        scratch.file("linked/.git", "gitdir: ../app/.git/worktrees/linked\n");
        let found = RunDir::of_project(&scratch.path("linked")).unwrap();
        assert_eq!(found.root(), scratch.path("linked/../app/.git/worktrees/linked/ralph"));
    }
}
