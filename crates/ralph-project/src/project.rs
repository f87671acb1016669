//! Which folder is the project, where does its state live, and where does its agent work?
//!
//! ```
//! use camino::Utf8Path;
//! use ralph_base::env::Env;
//! use ralph_project::project::Project;
//!
//! let env = Env::of([("RALPH_ROOT", "/srv/app"), ("HOME", "/home/dev")]);
//! let project = Project::locate(&env, Utf8Path::new("/anywhere"));
//! assert_eq!(project.root(), "/srv/app");
//! // `/srv/app/.ralph` does not exist, so nothing is written into that folder.
//! assert_eq!(project.state().unwrap().root(), "/home/dev/.ralph");
//! ```

use camino::{Utf8Path, Utf8PathBuf};

use crate::known_files::resolved;
use ralph_base::env::Env;
use ralph_base::state::{Id, PROJECT_MARKER, RunDir, StateDir};

/// A project folder, and the state folders that belong to it.
#[derive(Debug, Clone)]
pub struct Project {
    root: Utf8PathBuf,
    work_root: Utf8PathBuf,
    own_state: StateDir,
    home_state: Option<StateDir>,
    worker: Option<Id>,
}

impl Project {
    /// Finds the project from `RALPH_ROOT`, else `CLAUDE_PROJECT_DIR`, else the nearest folder
    /// with state at or above `cwd`, else the git top level, else `cwd` itself. A relative root is
    /// resolved against `cwd`.
    pub fn locate(env: &Env, cwd: &Utf8Path) -> Self {
        let home = env.home();
        let root = env
            .root()
            .or_else(|| env.client_project())
            .or_else(|| nearest_with_state(cwd, home.as_deref()))
            .or_else(|| nearest_with(cwd, ".git", &env.git_ceilings()))
            .map_or_else(|| cwd.to_owned(), |root| cwd.join(root));
        let home_state = home.map(|home| StateDir::of_home(&home));
        let workspace = env.run().and_then(|_| env.workspace());
        let work_root = workspace.map_or_else(|| root.clone(), |folder| cwd.join(folder));
        let own_state = StateDir::of_project(&root);
        let worker = env.worker().and_then(|name| Id::parse(&name).ok());
        let project = Self { own_state, home_state, work_root, root, worker };
        match env.state_dir() {
            Some(folder) => project.for_attempt(folder),
            None => project,
        }
    }

    /// Returns the project as one of several workers of a run sees it.
    #[must_use]
    pub fn for_worker(self, worker: Id) -> Self {
        Self { worker: Some(worker), ..self }
    }

    /// Returns the project as an attempt sees it, whose hooks write into a folder of their own.
    #[must_use]
    pub fn for_attempt(self, folder: Utf8PathBuf) -> Self {
        Self { own_state: self.own_state.of_attempt(folder), ..self }
    }

    /// Returns the worker that this process belongs to, if the run has several.
    pub fn worker(&self) -> Option<&Id> {
        self.worker.as_ref()
    }

    /// Returns the run's folder, found without starting git; `None` outside of a repository.
    pub fn run_dir(&self) -> Option<RunDir> {
        let shared = RunDir::of_project(&self.root)?;
        Some(self.worker.as_ref().map_or(shared.clone(), |worker| shared.of_worker(worker)))
    }

    /// Returns the project's folder.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// Returns the folder in which the agent works: the copy in a session that our loop started,
    /// else the project's folder. State and settings are the project's in either case.
    pub fn work_root(&self) -> &Utf8Path {
        &self.work_root
    }

    /// Returns whether a folder belongs to the tree in which the agent works: the same git work
    /// tree, or the work folder itself if there is none.
    pub fn works_in(&self, folder: &Utf8Path) -> bool {
        let [root, folder] = [&self.work_root, folder].map(|path: &Utf8Path| resolved(path));
        let [ours, its] = [&root, &folder].map(|path| nearest_with(path, ".git", &[]));
        ours == its && (ours.is_some() || folder.starts_with(&root))
    }

    /// Returns the project's own `.ralph/`, whether or not it exists yet.
    pub fn own_state(&self) -> &StateDir {
        &self.own_state
    }

    /// Returns `$HOME/.ralph`, where other tools leave session files and where we keep ours for a
    /// project that has no `.ralph/`.
    pub fn home_state(&self) -> Option<&StateDir> {
        self.home_state.as_ref()
    }

    /// Returns whether the project has a `.ralph/` folder, that is, whether it takes part.
    pub fn takes_part(&self) -> bool {
        self.own_state.root().is_dir()
    }

    /// Returns the state we write to: the project's own, else that in the home folder, else none.
    pub fn state(&self) -> Option<&StateDir> {
        if self.takes_part() { Some(&self.own_state) } else { self.home_state.as_ref() }
    }
}

/// The home folder is skipped: its `.ralph/` holds the state of projects without one and
/// would otherwise make every project below it look like one large project.
fn nearest_with_state(cwd: &Utf8Path, home: Option<&Utf8Path>) -> Option<Utf8PathBuf> {
    cwd.ancestors()
        .filter(|folder| Some(*folder) != home)
        .find(|folder| folder.join(PROJECT_MARKER).is_dir())
        .map(Utf8Path::to_owned)
}

/// A linked worktree and a submodule have a *file* `.git`, so only existence counts. Like git, we
/// do not go up into a folder that the user set as a ceiling.
fn nearest_with(cwd: &Utf8Path, name: &str, ceilings: &[Utf8PathBuf]) -> Option<Utf8PathBuf> {
    let is_ceiling = |folder: &Utf8Path| ceilings.iter().any(|ceiling| ceiling == folder);
    cwd.ancestors()
        .take_while(|folder| *folder == cwd || !is_ceiling(folder))
        .find(|folder| folder.join(name).exists())
        .map(Utf8Path::to_owned)
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    fn root_of(vars: &[(&str, &str)], cwd: &Utf8Path) -> Utf8PathBuf {
        Project::locate(&Env::of(vars.iter().copied()), cwd).root().to_owned()
    }

    #[test]
    fn ralph_root_overrides_claude_project_dir() {
        let cwd = Utf8Path::new("/x");
        let both = [("RALPH_ROOT", "/a"), ("CLAUDE_PROJECT_DIR", "/b")];
        assert_eq!(root_of(&both, cwd), "/a");
        assert_eq!(root_of(&both[1..], cwd), "/b");
        assert_eq!(root_of(&[("RALPH_ROOT", "app")], cwd), "/x/app");
    }

    #[test]
    fn only_a_session_of_a_run_works_in_the_copy() {
        let work = |vars: &[(&str, &str)]| {
            let env = Env::of([("RALPH_ROOT", "/a")].into_iter().chain(vars.iter().copied()));
            Project::locate(&env, Utf8Path::new("/x")).work_root().to_owned()
        };
        assert_eq!(work(&[]), "/a");
        assert_eq!(work(&[("RALPH_WORKSPACE", "/copy")]), "/a");
        assert_eq!(work(&[("RALPH_RUN", "r1")]), "/a");
        assert_eq!(work(&[("RALPH_RUN", "r1"), ("RALPH_WORKSPACE", "/copy/sub")]), "/copy/sub");
    }

    #[test]
    fn a_nested_work_tree_is_a_separate_tree() {
        let scratch = Scratch::new();
        scratch.dir(".git");
        scratch.file(".claude/worktrees/agent-1/.git", "gitdir: elsewhere\n");
        for folder in ["src", ".claude/worktrees/agent-1/src"] {
            scratch.dir(folder);
        }
        fs_err::os::unix::fs::symlink(scratch.path("src"), scratch.path("link")).unwrap();
        let project = Project::locate(&Env::of([("", "")]), scratch.root());
        let works_in = |folder: &str| project.works_in(&scratch.path(folder));
        assert!(works_in("") && works_in("src") && works_in("link") && works_in("missing/x"));
        assert!(!works_in(".claude/worktrees/agent-1"));
        assert!(!works_in(".claude/worktrees/agent-1/src"));
        assert!(!works_in("..") && !project.works_in("/".into()));
        let below = Project::locate(&Env::of([("RALPH_ROOT", "src")]), scratch.root());
        assert!(below.works_in(scratch.root()) && below.works_in(&scratch.path("lib")));
        let plain = Scratch::new();
        let project = Project::locate(&Env::of([("", "")]), plain.root());
        assert!(project.works_in(&plain.path("src")) && !project.works_in(scratch.root()));
    }

    #[test]
    fn a_state_folder_above_takes_precedence_over_a_git_folder() {
        let scratch = Scratch::new();
        scratch.file("outer/inner/.git", "gitdir: elsewhere\n");
        let cwd = scratch.dir("outer/inner/src");
        assert_eq!(root_of(&[], &cwd), scratch.path("outer/inner"));
        scratch.dir("outer/.ralph");
        assert_eq!(root_of(&[], &cwd), scratch.path("outer"));
    }

    #[test]
    fn the_search_for_a_repository_stops_at_git_ceilings() {
        let scratch = Scratch::new();
        scratch.dir("outer/.git");
        let (outer, inner) = (scratch.path("outer"), scratch.dir("outer/inner"));
        let cwd = scratch.dir("outer/inner/src");
        for (ceilings, expected) in
            [(format!("/x:{outer}/"), &cwd), (format!("{inner}"), &cwd), (format!("{cwd}"), &outer)]
        {
            assert_eq!(&root_of(&[("GIT_CEILING_DIRECTORIES", &ceilings)], &cwd), expected);
        }
    }

    #[test]
    fn the_home_state_folder_does_not_make_home_a_project() {
        let scratch = Scratch::new();
        scratch.dir("home/.ralph");
        let cwd = scratch.dir("home/code/app");
        let home = scratch.path("home");
        let project = Project::locate(&Env::of([("HOME", home.as_str())]), &cwd);
        assert_eq!(project.root(), cwd);
        assert!(!project.takes_part());
        assert_eq!(project.state().unwrap().root(), home.join(".ralph"));
        let plain = Scratch::new();
        assert!(Project::locate(&Env::of([("", "")]), plain.root()).state().is_none());
    }
}
