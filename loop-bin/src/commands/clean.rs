//! `ralph-loop clean`: removes the project's copies and the oldest saved files, and prints how much
//! space that frees.

use std::process::ExitCode;

use camino::Utf8Path;
use clap::Args;
use ralph_base::env::Env;
use ralph_base::state;
use ralph_core::git::Repo;
use ralph_project::project::Project;
use ralph_project::under_way::Attempt;

use super::Subcommand;
use crate::exit::Failure;
use crate::record::{attempts_left, run_dir, take_lock};
use crate::terminal::{counted, say};
use crate::{here, housekeeping, saved};
use work_copy::{Source, cache, remove_all};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "clean",
    args: Clean::augment_args,
    run: |call| call.parsed::<Clean>()?.run(call.env),
};

/// Remove the agent's copy of the project, and show how much space that frees
///
/// Removes the agent's copy of the project; the next run creates a new one. Also removes old logs,
/// session folders and attempts at finished stories beyond the newest 100. Attempts at stories
/// that are not done are always kept.
#[derive(Debug, Args)]
pub(crate) struct Clean {
    /// Show what would be removed, without removing anything
    #[arg(long)]
    dry_run: bool,
    /// Also remove the work of an interrupted attempt
    #[arg(long)]
    force: bool,
}

impl Clean {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let project = here::project(env)?;
        let config = here::config(&project, env, &[])?;
        let repo = Repo::open(project.root())?;
        let run_dir = run_dir(&repo)?;
        let _lock = take_lock(&run_dir, "ralph-loop clean")?;
        let source = Source::of(&project, &repo)?;
        let folder = cache::folder(env, &config, &source.top)?;
        let verb = self.verb();
        self.clean_attempts(&project, &repo, &folder)?;
        if folder.exists() {
            let size = cache::size_of(&folder) as f64 / 1e6;
            if !self.dry_run {
                remove_all(folder.as_std_path())?;
                for entry in run_dir.root().read_dir_utf8()?.flatten() {
                    // Setup records of the removed copies.
                    if entry.file_name().starts_with("setup-") {
                        state::remove_if_there(entry.path())?;
                    }
                }
            }
            say(format!("{verb} the copy {folder}: {size:.1} MB"));
        } else {
            say("There is no copy to remove.");
        }
        let (attempts, files) = housekeeping::prune(repo.git(), project.own_state(), self.dry_run)?;
        if attempts + files > 0 {
            say(format!(
                "{verb} {} at finished stories and {}",
                counted(attempts, "attempt", "attempts"),
                counted(files, "old log or session folder", "old logs and session folders")
            ));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Removes what interrupted attempts left, with one or several workers.
    fn clean_attempts(
        &self,
        project: &Project,
        repo: &Repo,
        folder: &Utf8Path,
    ) -> Result<(), Failure> {
        let run_dir = run_dir(repo)?;
        let verb = self.verb();
        for (run_dir, attempt) in attempts_left(&run_dir)? {
            let (story, work) = (&attempt.story, &attempt.work);
            if self.force {
                let is_copy = work.starts_with(folder);
                let stays = format!("; its files in {work} are kept");
                let stays = if is_copy { String::new() } else { stays };
                say(format!("{verb} the record of the interrupted attempt at {story}{stays}"));
            }
            if !self.force
                && work.starts_with(folder)
                && work.exists()
                && saved::commit_of(repo.git(), project.root(), &attempt)?.is_none()
            {
                return Err(Failure::because(format!(
                    "the copy holds the only version of an interrupted attempt at {story}; run \
                     `ralph-loop` to continue it, or discard it with --force"
                )));
            }
            if self.force && !self.dry_run {
                client::end_processes_of(&attempt.run, &[]);
                state::remove_if_there(project.own_state().current_story())?;
                saved::release(repo.git())?;
                Attempt::clear(&run_dir)?;
            }
        }
        Ok(())
    }

    fn verb(&self) -> &'static str {
        if self.dry_run { "would remove" } else { "removed" }
    }
}
