//! `ralph-loop explain`: how a command or an edit is read and which rule would speak, and how the
//! output of a test run is judged.

use std::io::{self, Read};
use std::process::ExitCode;

use camino::Utf8PathBuf;
use clap::{ArgGroup, Args};
use ralph_base::env::Env;
use ralph_core::guard::{self, Denial, Facts, RULES, Settings};
use ralph_core::verdict::{self, Judgement, Run};
use ralph_project::surroundings::Surroundings;
use shell_reader::{FETCHED, Fate, Reach, Redirect, UNKNOWN, Word};

use crate::exit::Failure;
use crate::here;
use crate::terminal::say;

/// Show how a command or edit is parsed and which rule would block it, or how a test run is judged
#[derive(Debug, Args)]
#[group(skip)]
#[command(group(ArgGroup::new("what").required(true).args(["command", "file", "test_run"])))]
pub(crate) struct Explain {
    /// A command line, as one argument
    command: Option<String>,
    /// A file that would be edited
    #[arg(long, value_name = "PATH")]
    file: Option<Utf8PathBuf>,
    /// Judge a test run; its output is read from standard input
    #[arg(long, requires = "run_command")]
    test_run: bool,
    /// With --test-run: the command line that was run
    #[arg(long = "command", value_name = "COMMAND", requires = "test_run")]
    run_command: Option<String>,
    /// With --test-run: its exit code, if known
    #[arg(long, value_name = "CODE", requires = "test_run")]
    exit_code: Option<i32>,
}

impl Explain {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let here = here::folder()?;
        let project = here::project(env)?;
        let config = here::config(&project, env, &[])?;
        let around = Surroundings { project: &project, env, config: &config, session: None };
        if let Some(command) = &self.run_command {
            show_judgement(command, self.exit_code, &config.tests.commands)?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut denial = None;
        if let Some(command) = &self.command {
            show_commands(command);
            let facts = around.of_command(&here, command);
            denial = guard::check(command, &facts, &config.guard);
            if denial.is_none() {
                show_rules_not_in_force(command, &facts, &config.guard);
            }
        }
        if let Some(file) = &self.file {
            let mut edit = around.of_edit(&here.join(file), None);
            say(format!("file      {}", edit.path));
            say(format!("project   {}", edit.facts.root));
            // Whether an agent has read it depends on its session; suppose that it has.
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
        for (name, value) in &one.assignments {
            say(format!("  with    {name}={}", shown(value)));
        }
        for redirect in &one.redirects {
            let Redirect { descriptor, kind, target } = redirect;
            say(format!("  redirect {descriptor} {kind:?} {}", shown(target)));
        }
        if let Some(directory) = &one.directory {
            say(format!("  in      {}", shown(directory)));
        }
        if !one.reached.is_empty() {
            let steps: Vec<String> = one.reached.iter().map(shown_step).collect();
            say(format!("  through {}", steps.join(", then ")));
        }
        if one.fate == Fate::Masked {
            say("  its exit code does not affect that of the whole line");
        }
    }
    if !script.complete {
        say("note      part of the line could not be parsed");
    }
    let run = Run { command, exit_code: Some(1), ..Run::default() };
    let kind = verdict::judge(&run).kind;
    let tests = if kind == verdict::Kind::NotATest { "no" } else { "yes" };
    say(format!("test run  {tests}"));
}

fn show_judgement(
    command: &str,
    exit_code: Option<i32>,
    test_commands: &[String],
) -> Result<(), Failure> {
    let mut output = Vec::new();
    let unread = |error| io::Error::other(format!("cannot read the output of the run: {error}"));
    io::stdin().read_to_end(&mut output).map_err(unread)?;
    let output = String::from_utf8_lossy(&output);
    let run = Run { command, exit_code, output: &output, test_commands, ..Run::default() };
    let Judgement { verdict, rule, evidence } = verdict::explain(&run);
    say(format!("verdict   {}", verdict.kind.name()));
    say(format!("rule      {}", rule.sentence()));
    if let Some(line) = evidence {
        say(format!("evidence  {line}"));
    }
    if let Some(runner) = verdict.runner {
        say(format!("runner    {runner}"));
    }
    let counts = verdict.counts;
    if counts != verdict::Counts::default() {
        say(format!(
            "counts    {} passed, {} failed, {} with errors, {} skipped",
            counts.passed, counts.failed, counts.errored, counts.skipped
        ));
    }
    for test in &verdict.failing {
        say(format!("failing   {}", test.name));
    }
    Ok(())
}

/// Names the rule that would speak in a run, or if the settings asked for it.
fn show_rules_not_in_force(command: &str, facts: &Facts, settings: &Settings) {
    let in_loop = Facts { in_loop: true, ..facts.clone() };
    let undecided =
        RULES.iter().filter(|rule| !settings.disable.iter().any(|name| name == rule.name));
    let enable = undecided.map(|rule| rule.name.to_owned()).collect();
    let asked_for = Settings { enable, ..settings.clone() };
    if let Some(denial) = guard::check(command, &in_loop, settings) {
        say(format!("in a run  denied by {}: {}", denial.rule, denial.reason));
    } else if let Some(denial) = guard::check(command, facts, &asked_for) {
        say(format!("rule      {} is off; `guard.enable` would make it deny this", denial.rule));
    }
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

fn shown_step(step: &Reach) -> String {
    match step {
        Reach::Pipe { last: true } => "the end of a pipe".to_owned(),
        Reach::Pipe { last: false } => "a pipe".to_owned(),
        Reach::Group => "a group".to_owned(),
        Reach::Function(name) => format!("the function {name}"),
        Reach::Substitution => "a substitution".to_owned(),
        Reach::ShellText(shell) => format!("{shell} -c"),
        Reach::HereDocument => "a here-document".to_owned(),
        Reach::Eval => "eval".to_owned(),
        Reach::Template(name) | Reach::Wrapper(name) => name.clone(),
        Reach::Background => "the background".to_owned(),
        Reach::Conditional => "a condition or loop".to_owned(),
    }
}
