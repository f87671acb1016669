//! `ralph-loop undo`: lists, shows and restores what a rollback discarded.

use std::process::ExitCode;

use clap::Args;
use ralph_base::env::Env;
use ralph_core::git::{self, Discarded, Repo};
use ralph_project::project::Project;

use super::Subcommand;
use crate::exit::Failure;
use crate::here;
use crate::record::{run_dir, take_lock};
use crate::terminal::{counted, say};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "undo",
    args: Undo::augment_args,
    run: |call| call.parsed::<Undo>()?.run(call.env),
};

/// List, show or restore what rollbacks discarded
///
/// Without an ID: lists what rollbacks discarded, newest first.
///
/// With an ID (or the beginning of one): restores the files that the attempt had changed, uncommitted.
/// HEAD, the index and all other files stay as they are. If one of the files has changed since, it is
/// named and nothing is restored.
///
/// This is for rollbacks by hooks; to list failed attempts of the loop, use `ralph-loop attempts`. It
/// cannot be used while a loop is running.
#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// The attempt to show or restore
    id: Option<String>,
    /// Show what the attempt had changed, without restoring it
    #[arg(long, requires = "id")]
    show: bool,
}

impl Undo {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let project = here::project(env)?;
        let repo = Repo::open(project.root())?;
        match &self.id {
            None => list(&repo)?,
            Some(id) if self.show => say(git::changes_of(&repo, id)?),
            Some(id) => bring_back(&project, &repo, id)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn list(repo: &Repo) -> Result<(), Failure> {
    let attempts = git::discarded(repo)?;
    for Discarded { id, at, why, .. } in &attempts {
        say(format!("{id}  {at}  {why}"));
    }
    say(match attempts.first() {
        Some(newest) => format!("\nRestore one with: ralph-loop undo {}", newest.id),
        None => "No hook has rolled anything back. To list the loop's attempts, run `ralph-loop \
                 attempts`."
            .to_owned(),
    });
    Ok(())
}

fn bring_back(project: &Project, repo: &Repo, id: &str) -> Result<(), Failure> {
    // In another work tree the state's `.gitignore` does not exist yet.
    project.own_state().prepare()?;
    // An in-place loop would mistake the restored files for its agent's work.
    let _lock = take_lock(&run_dir(repo)?, "ralph-loop undo")?;
    let files = git::undo(repo, project.own_state(), id)?;
    say(match files.len() {
        0 => "All of it is already in the tree.".to_owned(),
        some => {
            format!("{} restored, uncommitted; see `git status`.", counted(some, "file", "files"))
        }
    });
    Ok(())
}
