//! Collects the facts that a guard needs about a place: resolved paths, the agent's own files, the
//! scope, and the project of which the agent has a copy.
//!
//! They are read from disk here, so that [`ralph_core::guard`] itself stays pure.
//!
//! ```
//! use ralph_base::env::Env;
//! use ralph_core::guard;
//! use ralph_project::{config::Config, project::Project, surroundings::Surroundings};
//!
//! let env = Env::of([("RALPH_ROOT", "/srv/app")]);
//! let project = Project::locate(&env, "/srv/app".into());
//! let config = Config::default();
//! let around = Surroundings { project: &project, env: &env, config: &config, session: None };
//! let facts = around.of_command("/srv/app".into(), "git push");
//! assert!(guard::check("git push", &facts, &config.guard).is_some());
//! ```

use camino::{Utf8Path, Utf8PathBuf};

use crate::config::Config;
use crate::known_files::resolved;
use crate::project::Project;
use crate::strikes;
use ralph_base::env::Env;
use ralph_base::state::{Id, PROJECT_MARKER, RunDir, SessionDir};
use ralph_core::git::Git;
use ralph_core::guard::{CopyOf, Edit, Facts};

/// The context of a tool call.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The project.
    pub project: &'a Project,
    /// The variables.
    pub env: &'a Env,
    /// The settings.
    pub config: &'a Config,
    /// The client's session, if its id is valid.
    pub session: Option<&'a Id>,
}

impl Surroundings<'_> {
    /// Returns the facts about the place where a command line would run.
    pub fn of_command(&self, cwd: &Utf8Path, command: &str) -> Facts {
        let at = resolved(cwd);
        let facts = self.facts(&at, &[cwd.as_str(), command]);
        // Only checked when it matters, because it starts git.
        let head_is_newer = command.contains("--amend") && self.head_is_newer(&facts);
        Facts { cwd: at, head_is_newer, ..facts }
    }

    /// Returns the facts about an edit, except for whether the file was read.
    pub fn of_edit(&self, path: &Utf8Path) -> Edit {
        let at = resolved(path);
        let facts = self.facts(&at, &[path.as_str()]);
        // Commands are read as text, but the paths of edits are resolved.
        let home = self.env.home().map(|home| resolved(&home)).unwrap_or_default();
        Edit {
            exists: at.exists(),
            path: at,
            facts: Facts { home, ..facts },
            scope: self.config.scope.paths.clone(),
            known: false,
        }
    }

    /// Returns the facts for commands and edits at this place, as far as these texts need them.
    fn facts(&self, at: &Utf8Path, texts: &[&str]) -> Facts {
        let root = resolved(self.project.work_root());
        Facts {
            linked_root: linked_root(&root, at),
            root,
            copy: self.copy(),
            temp: resolved(&self.env.temp_dir()),
            home: self.env.home().unwrap_or_default(),
            state: self.env.state_dir().unwrap_or_default(),
            own_files: self.own_files(texts),
            session: self.session.map(Id::to_string).unwrap_or_default(),
            in_loop: self.env.run().is_some(),
            ..Facts::default()
        }
    }

    /// Returns the project of which the agent has a copy; `None` if it works in the project itself.
    fn copy(&self) -> Option<CopyOf> {
        let [called, work] = [self.project.root(), self.project.work_root()];
        if called == work {
            return None;
        }
        let [root, work] = [resolved(called), resolved(work)];
        if root == work {
            return None;
        }
        let top = top_of(&root);
        let below = root.strip_prefix(top).unwrap_or("".into()).to_owned();
        // Commands are read as text, and may name the project by the path in the variable.
        let called_top = called.ancestors().nth(below.components().count());
        let called_top = if called.ends_with(&below) { called_top } else { None };
        let mut project = vec![top.to_owned()];
        project.extend(called_top.filter(|called| *called != top).map(Utf8Path::to_owned));
        Some(CopyOf { top: top_of(&work).to_owned(), project, below })
    }

    /// Returns the plan and its progress, if the user configured their paths, and the files that
    /// the gates ask the session to maintain. The latter only if the texts mention state at all,
    /// because resolving paths takes longer than all the rest.
    fn own_files(&self, texts: &[&str]) -> Vec<Utf8PathBuf> {
        let set = [&self.config.run.plan, &self.config.run.progress];
        let set = set.into_iter().filter(|path| !path.is_empty());
        let set = set.map(|path| resolved(&self.project.work_root().join(path)));
        let states = [Some(self.project.own_state()), self.project.home_state()];
        let session = self.session.filter(|_| texts.iter().any(|t| t.contains(PROJECT_MARKER)));
        let sessions = states.into_iter().flatten();
        let sessions = sessions.filter_map(|state| Some(state.session(session?)));
        set.chain(sessions.flat_map(|session| kept_files(&session))).collect()
    }

    /// Returns whether the last commit was made after the checkpoint, by the agent itself.
    fn head_is_newer(&self, facts: &Facts) -> bool {
        let Ok(Some(checkpoint)) = strikes::checkpoint(self.project.own_state()) else {
            return false;
        };
        let git = Git::at(facts.tree().as_std_path());
        let head = git.line(&["rev-parse", "--verify", "HEAD"]);
        head.is_ok_and(|head| Some(head) != checkpoint.commit)
    }
}

/// Returns the files that the gates ask a session to maintain. Commands are read as text, and may
/// use another name of the folder than its real one.
fn kept_files(session: &SessionDir) -> Vec<Utf8PathBuf> {
    let files =
        [session.loop_state(), session.orchestrator(), session.quality_gate(), session.tasks()];
    let real = resolved(session.root());
    let resolved = files.iter().filter_map(|file| Some(real.join(file.file_name()?)));
    resolved.chain(files.iter().cloned()).collect()
}

/// Returns the globs in force: those of the story, else those of the project.
pub fn scope_of(story: &str, config: &Config) -> Vec<String> {
    let own = config.scope.stories.get(story);
    own.unwrap_or(&config.scope.paths).clone()
}

/// Returns the counterpart of the root in a linked work tree of the same repository, if the place
/// is in one: a subagent may have its own work tree.
fn linked_root(root: &Utf8Path, at: &Utf8Path) -> Option<Utf8PathBuf> {
    let top = top_of(at);
    if root.starts_with(top) || !top.join(".git").is_file() {
        return None;
    }
    let below = root.strip_prefix(top_of(root)).ok()?;
    (shared_git_folder(top)? == shared_git_folder(root)?).then(|| top.join(below))
}

/// Returns the git folder of the main work tree, which the linked ones share.
fn shared_git_folder(folder: &Utf8Path) -> Option<Utf8PathBuf> {
    let own = resolved(RunDir::of_project(folder)?.root().parent()?);
    let worktrees = own.parent().filter(|parent| parent.ends_with("worktrees"));
    Some(worktrees.and_then(Utf8Path::parent).unwrap_or(&own).to_owned())
}

/// Returns the top of the repository around a folder, found without starting git; the folder itself
/// if there is none.
fn top_of(folder: &Utf8Path) -> &Utf8Path {
    let has_repository = |folder: &&Utf8Path| folder.join(".git").exists();
    folder.ancestors().find(has_repository).unwrap_or(folder)
}
