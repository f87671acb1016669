//! `ralph-loop undo`: lists, shows and brings back what a rollback discarded.

use clap::{Arg, ArgAction, ArgMatches, Command};
use ralph_base::env::Env;
use ralph_core::git::{self, Discarded, Repo};
use ralph_project::project::Project;

use crate::exit::{Failure, Success};
use crate::here;
use crate::run::start::{run_dir, take_lock};
use crate::terminal::{counted, say};

/// What was asked for: all discarded attempts, or one, to be shown or brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    id: Option<String>,
    show: bool,
}

/// The subcommand.
pub(crate) fn command() -> Command {
    Command::new("undo")
        .about("List what rollbacks discarded, show it, or bring it back")
        .long_about(
            "Without an ID: lists what rollbacks discarded, newest first.\n\
             With an ID (or the beginning of one): brings back the files that the attempt had \
             changed, uncommitted; HEAD, index and all other files stay as they are. Where one of \
             them has changed since, it is named, and nothing is changed.\n\
             This is for rollbacks that hooks make in the tree they work in; failed attempts of the \
             loop are listed by `ralph-loop attempts`.\n\
             Not while a loop runs.",
        )
        .arg(Arg::new("id").value_name("ID").help("Which attempt"))
        .arg(
            Arg::new("show")
                .long("show")
                .requires("id")
                .action(ArgAction::SetTrue)
                .help("Show what the attempt had changed, and change nothing"),
        )
}

impl Request {
    /// From the command line.
    pub(crate) fn from_matches(matches: &ArgMatches) -> Self {
        Self { id: matches.get_one("id").cloned(), show: matches.get_flag("show") }
    }
}

/// Does it.
pub(crate) fn run(env: &Env, request: &Request) -> Result<Success, Failure> {
    let project = here::project(env)?;
    let repo = Repo::open(project.root())?;
    match &request.id {
        None => list(&repo)?,
        Some(id) if request.show => say(git::changes_of(&repo, id)?),
        Some(id) => bring_back(&project, &repo, id)?,
    }
    Ok(Success::Done)
}

fn list(repo: &Repo) -> Result<(), Failure> {
    let attempts = git::discarded(repo)?;
    for Discarded { id, at, why, .. } in &attempts {
        say(format!("{id}  {at}  {why}"));
    }
    say(match attempts.first() {
        Some(newest) => format!("\nBring one back with: ralph-loop undo {}", newest.id),
        None => "Nothing was rolled back by a hook. `ralph-loop attempts` lists the loop's own \
                 attempts."
            .to_owned(),
    });
    Ok(())
}

fn bring_back(project: &Project, repo: &Repo, id: &str) -> Result<(), Failure> {
    // In another work tree nothing keeps the state out of git yet.
    project.own_state().prepare()?;
    // In place a loop would take what comes back for its agent's work.
    let _lock = take_lock(&run_dir(repo)?, "ralph-loop undo")?;
    let files = git::undo(repo, project.own_state(), id)?;
    say(match files.len() {
        0 => "All of it is in the tree already.".to_owned(),
        some => format!(
            "{} brought back, uncommitted; see `git status`.",
            counted(some, "file", "files")
        ),
    });
    Ok(())
}
