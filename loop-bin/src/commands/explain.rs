//! `ralph-loop explain`: how a command or an edit is parsed, and which rule would block it.

use std::process::ExitCode;

use camino::Utf8PathBuf;
use clap::{ArgGroup, Args};
use ralph_base::env::Env;
use ralph_core::guard::{self, Denial, Edit, Facts, OwnSessions};
use ralph_core::verdict::{self, Run};
use ralph_project::surroundings::Surroundings;
use shell_reader::{FETCHED, UNKNOWN, Word};

use super::Subcommand;
use crate::exit::Failure;
use crate::here;
use crate::terminal::say;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "explain",
    args: Explain::augment_args,
    run: |call| call.parsed::<Explain>()?.run(call.env),
};

/// Show how a command or edit is parsed and which rule would block it
#[derive(Debug, Args)]
#[group(skip)]
#[command(group(ArgGroup::new("what").required(true).args(["command", "file"])))]
pub(crate) struct Explain {
    /// A command line, as one argument
    command: Option<String>,
    /// A file that would be edited
    #[arg(long, value_name = "PATH")]
    file: Option<Utf8PathBuf>,
}

impl Explain {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let here = here::folder()?;
        let project = here::project(env)?;
        let config = here::config(&project, env, &[])?;
        let around = Surroundings { project: &project, env, config: &config, session: None };
        let guard = &config.guard;
        let [in_run, in_own] = if let Some(command) = &self.command {
            show_commands(command);
            let facts = around.of_command(&here, command);
            [true, false]
                .map(|in_loop| guard::check(command, &Facts { in_loop, ..facts.clone() }, guard))
        } else {
            let edit = around.of_edit(&here.join(self.file.as_deref().unwrap_or(&here)));
            say(format!("file      {}", edit.path));
            say(format!("project   {}", edit.facts.root));
            // Whether an agent has read the file depends on its session; assume that it has.
            let edit = Edit { known: true, ..edit };
            // A scope limits stories only.
            let unlimited = Edit { scope: Vec::new(), ..edit.clone() };
            [edit, unlimited].map(|edit| guard::check_edit(&edit, guard))
        };
        show_denial("in a run", "denied", in_run.as_ref());
        let (in_own, answer) = match guard.own_sessions {
            OwnSessions::Ask => (in_own, "you are asked"),
            OwnSessions::Deny => (in_own, "denied"),
            OwnSessions::Off => (None, ""),
        };
        show_denial("in your own session", answer, in_own.as_ref());
        Ok(ExitCode::SUCCESS)
    }
}

fn show_commands(command: &str) {
    let script = shell_reader::read(command);
    for one in &script.commands {
        let words: Vec<String> =
            std::iter::once(&one.program).chain(&one.args).map(shown).collect();
        say(format!("runs      {}", words.join(" ")));
    }
    if !script.complete {
        say("note      part of the line could not be parsed");
    }
    let run = Run { command, exit_code: Some(1), ..Run::default() };
    let kind = verdict::judge(&run).kind;
    let tests = if kind == verdict::Kind::NotATest { "no" } else { "yes" };
    say(format!("test run  {tests}"));
}

fn show_denial(place: &str, answer: &str, denial: Option<&Denial>) {
    let Some(denial) = denial else {
        say(format!("{place}: no rule applies; your own permission settings decide"));
        return;
    };
    say(format!("{place}: {answer} by rule {}", denial.rule));
    say(format!("  found   {}", denial.found));
    say(format!("  reason  {}", denial.reason));
    if answer == "denied" {
        say(format!("  instead {}", denial.instead));
    }
}

fn shown(word: &Word) -> String {
    let text = word.text().replace(FETCHED, "<fetched>").replace(UNKNOWN, "<unknown>");
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,<>".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("{text:?}") }
}
