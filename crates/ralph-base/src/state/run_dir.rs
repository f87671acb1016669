//! What only our own programs need of a run: in the git folder of the project, out of an agent's
//! reach.

use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};

use super::below;
use super::id::Id;
use super::read;

/// The folder of the workers' folders.
const WORKERS: &str = "workers";

/// A note in the git folder of a work tree: a restore has begun and is to be finished.
pub const RESTORE_NOTE: &str = "ralph-restoring";

/// The folder `ralph/` in the git folder of a work tree, or that of one of several workers inside of
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct RunDir {
    root: Utf8PathBuf,
    /// What the whole run shares.
    shared: Utf8PathBuf,
    /// Its place in the git folder.
    in_git: Utf8PathBuf,
}

impl RunDir {
    /// The one in this git folder.
    pub fn in_git_folder(git_dir: &Utf8Path) -> Self {
        let root = below(git_dir, "ralph");
        Self { shared: root.clone(), in_git: root.clone(), root }
    }

    /// The same elsewhere, for a run in place, out of reach of what works there.
    pub fn outside(&self, root: Utf8PathBuf) -> Self {
        Self { shared: root.clone(), root, in_git: self.in_git.clone() }
    }

    /// Its place in the git folder, which is a link where it is elsewhere.
    pub fn in_git(&self) -> &Utf8Path {
        &self.in_git
    }

    /// The folder of one of several workers.
    pub fn of_worker(&self, worker: &Id) -> Self {
        let root = self.shared.join(WORKERS).join(worker.as_str());
        Self { root, ..self.clone() }
    }

    /// The folders of all workers that there are or were, by name.
    pub fn workers(&self) -> Vec<(Id, Self)> {
        let folders = self.shared.join(WORKERS).read_dir_utf8().into_iter().flatten().flatten();
        let mut names: Vec<Id> =
            folders.filter_map(|folder| Id::parse(folder.file_name()).ok()).collect();
        names.sort_by_key(|name| (name.as_str().len(), name.as_str().to_owned()));
        names.into_iter().map(|name| (name.clone(), self.of_worker(&name))).collect()
    }

    /// What the whole run shares.
    pub fn of_run(&self) -> Self {
        Self { root: self.shared.clone(), ..self.clone() }
    }

    /// The one of the project in this folder, found without starting git; none outside of a
    /// repository.
    pub fn of_project(root: &Utf8Path) -> Option<Self> {
        let git_dir = root.ancestors().find_map(|folder| git_folder_of(folder.as_std_path()))?;
        Some(Self::in_git_folder(&Utf8PathBuf::from_path_buf(git_dir).ok()?))
    }

    /// The folder itself.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    paths! {
        /// Where the run stands: its counters, and whether it came to its end.
        record: shared / "run.json";
        /// What goes on now, for whoever looks on.
        live: shared / "live.json";
        /// The attempt under way.
        attempt: root / "attempt.json";
        /// Files that are restored after an agent that works in place.
        protected: root / "protected.json";
        /// What such files held when they were restored.
        replaced: root / "replaced";
        /// The plan as the agent of the attempt got it.
        plan_given: root / "plan-given";
        /// The progress as the agent of the attempt got it.
        progress_given: root / "progress-given";
        /// What the agent of the attempt added to it.
        progress_added: root / "progress-added";
    }

    /// Entries of a plan's progress that no commit holds yet.
    pub fn progress_pending(&self, plan_name: &str) -> Utf8PathBuf {
        self.shared.join(format!("progress-pending-{plan_name}"))
    }

    paths! {
        /// Lessons of the run that no commit holds yet.
        lessons: shared / "lessons-pending";
        /// Messages to the agent that no landed story has answered yet.
        messages: shared / "messages.md";
        /// Stories that a person asked for again during the run.
        retries: shared / "retries";
        /// The name of the run that is to end after its story.
        stop_request: shared / "stop";
        /// Held by the loop for as long as it lives.
        lock: shared / "lock";
        /// Held as long as a run for pull requests lives, whose stories are loops of their own.
        requests_lock: shared / "requests.lock";
        /// The client's settings that the loop passes to its agent.
        passed_settings: root / "passed-settings.json";
        /// The MCP servers that the loop passes to its agent.
        passed_servers: root / "passed-mcp.json";
    }
}

/// The git folder of a work tree that has its top here. That of a linked work tree or a submodule is
/// named in a file.
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
    fn the_git_folder_is_found_from_inside_and_through_a_file() {
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
