//! What a guard needs to know about the place: paths without links, the plan's files, the scope.
//!
//! Gathered from disk here, so that [`crate::guard`] itself stays pure.
//!
//! ```
//! use ralph_core::{config::Config, env::Env, guard, project::Project, surroundings};
//!
//! let env = Env::of([("RALPH_ROOT", "/srv/app")]);
//! let project = Project::locate(&env, "/srv/app".into());
//! let config = Config::default();
//! let facts = surroundings::of_command(&project, &env, &config, "/srv/app".into(), "git push");
//! assert!(guard::check("git push", &facts, &config.guard).is_some());
//! ```

use camino::{Utf8Path, Utf8PathBuf};

use crate::config::Config;
use crate::env::Env;
use crate::git::{Checkpoint, Git};
use crate::guard::{Edit, Facts};
use crate::known_files::resolved;
use crate::project::Project;
use crate::state::Id;

/// What is known about the place where a command line would run.
pub fn of_command(
    project: &Project,
    env: &Env,
    config: &Config,
    cwd: &Utf8Path,
    command: &str,
) -> Facts {
    Facts {
        root: resolved(project.root()),
        cwd: resolved(cwd),
        temp: resolved(&env.temp_dir()),
        home: env.home().unwrap_or_default(),
        // Only asked when it matters, because it means to start git.
        head_is_newer: command.contains("--amend") && head_is_newer(project),
        plan_files: plan_files(project, config),
    }
}

/// What is known about an edit, but for whether the file was read.
pub fn of_edit(
    project: &Project,
    env: &Env,
    path: &Utf8Path,
    story: Option<&Id>,
    config: &Config,
) -> Edit {
    Edit {
        path: resolved(path),
        root: resolved(project.root()),
        home: env.home().map(|home| resolved(&home)).unwrap_or_default(),
        temp: resolved(&env.temp_dir()),
        plan_files: plan_files(project, config),
        scope: scope_of(story, config),
        exists: path.exists(),
        known: false,
    }
}

/// The globs in force: those of the story, else those of the project.
pub fn scope_of(story: Option<&Id>, config: &Config) -> Vec<String> {
    let own = story.and_then(|id| config.scope.stories.get(id.as_str()));
    own.unwrap_or(&config.scope.paths).clone()
}

/// The plan and its progress, where the user has put them at a place of their own.
fn plan_files(project: &Project, config: &Config) -> Vec<Utf8PathBuf> {
    let set = [&config.run.plan, &config.run.progress];
    let set = set.into_iter().filter(|path| !path.is_empty());
    set.map(|path| resolved(&project.root().join(path))).collect()
}

/// Whether the last commit was made after the checkpoint, by the agent itself.
fn head_is_newer(project: &Project) -> bool {
    let Ok(Some(checkpoint)) = Checkpoint::load(project.own_state()) else { return false };
    let head = Git::at(project.root().as_std_path()).line(&["rev-parse", "--verify", "HEAD"]);
    head.is_ok_and(|head| Some(head) != checkpoint.commit)
}
