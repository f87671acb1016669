//! What a guard needs to know about the place: paths without links, which files are the agent's own,
//! the scope, and what the agent works in a copy of.
//!
//! Gathered from disk here, so that [`ralph_core::guard`] itself stays pure.
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

use crate::attempt;
use crate::config::Config;
use crate::known_files::resolved;
use crate::project::Project;
use ralph_base::env::Env;
use ralph_base::state::{Id, PROJECT_MARKER, SessionDir};
use ralph_core::git::Git;
use ralph_core::guard::{CopyOf, Edit, Facts};

/// Where a tool is about to be used.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The project.
    pub project: &'a Project,
    /// The variables.
    pub env: &'a Env,
    /// The settings.
    pub config: &'a Config,
    /// The client's session, if its id is one.
    pub session: Option<&'a Id>,
}

impl Surroundings<'_> {
    /// What is known about the place where a command line would run.
    pub fn of_command(&self, cwd: &Utf8Path, command: &str) -> Facts {
        Facts {
            cwd: resolved(cwd),
            // Only asked when it matters, because it means to start git.
            head_is_newer: command.contains("--amend") && self.head_is_newer(),
            ..self.facts(&[cwd.as_str(), command])
        }
    }

    /// What is known about an edit, but for whether the file was read.
    pub fn of_edit(&self, path: &Utf8Path, story: Option<&Id>) -> Edit {
        let facts = self.facts(&[path.as_str()]);
        // Commands are read as text, but the paths of edits are resolved.
        let home = self.env.home().map(|home| resolved(&home)).unwrap_or_default();
        Edit {
            path: resolved(path),
            facts: Facts { home, ..facts },
            scope: scope_of(story, self.config),
            exists: path.exists(),
            known: false,
        }
    }

    /// What is known in any case, as far as these texts ask for it.
    fn facts(&self, texts: &[&str]) -> Facts {
        Facts {
            root: resolved(self.project.work_root()),
            copy: self.copy(),
            temp: resolved(&self.env.temp_dir()),
            home: self.env.home().unwrap_or_default(),
            own_files: self.own_files(texts),
            session: self.session.map(Id::to_string).unwrap_or_default(),
            ..Facts::default()
        }
    }

    /// What the agent works in a copy of; none if it works in the project itself.
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
        // Commands are read as text, and may call the project what the variable calls it.
        let called_top = called.ancestors().nth(below.components().count());
        let called_top = called_top.filter(|_| called.ends_with(&below));
        let mut project = vec![top.to_owned()];
        project.extend(called_top.filter(|called| *called != top).map(Utf8Path::to_owned));
        Some(CopyOf { top: top_of(&work).to_owned(), project, below })
    }

    /// The plan and its progress, where the user has put them at a place of their own, and what the
    /// gates ask the session to keep. The latter only where the texts lead to state at all, because
    /// to resolve paths takes longer than all the rest.
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

    /// Whether the last commit was made after the checkpoint, by the agent itself.
    fn head_is_newer(&self) -> bool {
        let Ok(Some(checkpoint)) = attempt::checkpoint(self.project.own_state()) else {
            return false;
        };
        let git = Git::at(self.project.work_root().as_std_path());
        let head = git.line(&["rev-parse", "--verify", "HEAD"]);
        head.is_ok_and(|head| Some(head) != checkpoint.commit)
    }
}

/// What the gates ask a session to keep. Commands are read as text, and may call the folder by
/// another name than its real one.
fn kept_files(session: &SessionDir) -> Vec<Utf8PathBuf> {
    let files =
        [session.loop_state(), session.orchestrator(), session.quality_gate(), session.tasks()];
    let real = resolved(session.root());
    let resolved = files.iter().filter_map(|file| Some(real.join(file.file_name()?)));
    resolved.chain(files.iter().cloned()).collect()
}

/// The globs in force: those of the story, else those of the project.
pub fn scope_of(story: Option<&Id>, config: &Config) -> Vec<String> {
    let own = story.and_then(|id| config.scope.stories.get(id.as_str()));
    own.unwrap_or(&config.scope.paths).clone()
}

/// The top of the repository around a folder, found without starting git; the folder itself where
/// there is none.
fn top_of(folder: &Utf8Path) -> &Utf8Path {
    let has_repository = |folder: &&Utf8Path| folder.join(".git").exists();
    folder.ancestors().find(has_repository).unwrap_or(folder)
}
