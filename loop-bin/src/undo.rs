//! `ralph-loop undo`: lists, shows and brings back what a rollback discarded.

use clap::{Arg, ArgAction, ArgMatches, Command};
use ralph_core::env::Env;
use ralph_core::git::{self, Discarded, Repo};
use ralph_core::project::Project;

use crate::exit::{Failure, Success};
use crate::here;
use crate::run::start::{run_dir, take_lock};
use crate::terminal::{counted, say};

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// All discarded attempts.
    List,
    /// The difference between an attempt and the tree it was taken out of.
    Show(String),
    /// The attempt itself, back in the tree.
    Restore(String),
}

/// The subcommand.
pub(crate) fn command() -> Command {
    Command::new("undo")
        .about("List what rollbacks discarded, show it, or bring it back")
        .long_about(
            "Without an ID: lists what rollbacks discarded, newest first.\n\
             With an ID (or the beginning of one): brings that attempt back; what is in the tree \
             now is kept in turn, so an undo can be undone. Uncommitted files that have nothing to do \
             with it stay as they are.\n\
             If work went on since, the branch stays as it is, and only the files come back that \
             the attempt had changed; one that is not as it was then is named, and nothing is \
             changed.\n\
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
        match (matches.get_one::<String>("id"), matches.get_flag("show")) {
            (None, _) => Self::List,
            (Some(id), true) => Self::Show(id.clone()),
            (Some(id), false) => Self::Restore(id.clone()),
        }
    }
}

/// Does it.
pub(crate) fn run(env: &Env, request: &Request) -> Result<Success, Failure> {
    let project = here::project(env)?;
    let repo = Repo::open(project.root())?;
    match request {
        Request::List => list(&repo),
        Request::Show(id) => show(&repo, id),
        Request::Restore(id) => restore(&project, &repo, id),
    }?;
    Ok(Success::Done)
}

fn list(repo: &Repo) -> Result<(), Failure> {
    let attempts = git::discarded(repo)?;
    if attempts.is_empty() {
        say(
            "Nothing was rolled back by a hook. `ralph-loop attempts` lists the loop's own attempts.",
        );
    }
    for Discarded { id, at, why, .. } in &attempts {
        say(format!("{id}  {at}  {why}"));
    }
    if let Some(newest) = attempts.first() {
        say(format!("\nBring one back with: ralph-loop undo {}", newest.id));
    }
    Ok(())
}

fn show(repo: &Repo, id: &str) -> Result<(), Failure> {
    say(git::changes_of(repo, &git::find(repo, id)?)?);
    Ok(())
}

fn restore(project: &Project, repo: &Repo, id: &str) -> Result<(), Failure> {
    // In another work tree nothing keeps the state out of git yet.
    project.own_state().prepare()?;
    // In place a loop would take what comes back for its agent's work.
    let _lock = take_lock(&run_dir(repo)?, "ralph-loop undo")?;
    let restored = git::undo(repo, project.own_state(), id)?;
    let files = counted(restored.touched.len(), "file", "files");
    say(match restored.as_files {
        false => format!("Brought back; {files} changed."),
        true => format!(
            "Work went on since, so the branch stays as it is: {files} brought back on top of it."
        ),
    });
    if !restored.overwritten.is_empty() {
        let files: Vec<String> =
            restored.overwritten.iter().map(|path| path.display().to_string()).collect();
        say(format!("Changed since that attempt, and replaced by it: {}", files.join(", ")));
    }
    for path in &restored.left_alone {
        say(format!(
            "{path} is a repository of its own and was left alone: it had work of its own, or is gone."
        ));
    }
    let kept = restored.saved.id();
    say(format!("What was there before is kept: ralph-loop undo {kept}"));
    Ok(())
}
