//! `ralph-loop explain`: how a command or an edit is parsed, and which rule would block it.

use std::process::ExitCode;

use camino::Utf8PathBuf;
use clap::{ArgGroup, Args};
use ralph_base::env::Env;
use ralph_core::guard::{self, Denial, Facts};
use ralph_core::verdict::{self, Run};
use ralph_project::surroundings::Surroundings;
use shell_reader::{FETCHED, UNKNOWN, Word};

use crate::exit::Failure;
use crate::here;
use crate::terminal::say;

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
        let mut denial = None;
        if let Some(command) = &self.command {
            show_commands(command);
            let facts = around.of_command(&here, command);
            denial = guard::check(command, &facts, &config.guard);
            let in_loop = Facts { in_loop: true, ..facts };
            if let (None, Some(in_run)) = (&denial, guard::check(command, &in_loop, &config.guard))
            {
                say(format!("in a run  denied by {}: {}", in_run.rule, in_run.reason));
            }
        }
        if let Some(file) = &self.file {
            let mut edit = around.of_edit(&here.join(file));
            say(format!("file      {}", edit.path));
            say(format!("project   {}", edit.facts.root));
            // Whether an agent has read the file depends on its session; assume that it has.
            edit.known = true;
            denial = guard::check_edit(&edit, &config.guard);
        }
        show_denial(denial.as_ref());
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

fn show_denial(denial: Option<&Denial>) {
    match denial {
        None => say("guard     no rule applies; your own permission settings decide"),
        Some(denial) => {
            say(format!("guard     denied by {}", denial.rule));
            say(format!("  found   {}", denial.found));
            say(format!("  reason  {}", denial.reason));
            say(format!("  instead {}", denial.instead));
        }
    }
}

fn shown(word: &Word) -> String {
    let text = word.text().replace(FETCHED, "<fetched>").replace(UNKNOWN, "<unknown>");
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,<>".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("{text:?}") }
}
