//! The command line: subcommands, and one flag for each configuration key that has one.
//!
//! The flags are generated from [`config::keys`], so each flag has a key and a variable.

use std::io;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, Subcommand, ValueHint};
use ralph_base::env::Env;
use ralph_project::config::{self, Config, Flag, Key, Kind, PullRequests};
use toml::Value;

use crate::exit::Failure;
use crate::terminal::say;
use crate::{
    attempts, clean, complete, completions, demo, doctor, explain, fleet, here, in_task, init,
    install, logs, mcp, plan_command, pr, report, request_merge, retry, run, sandboxed,
    show_config, status, stop, stories, story_requests, suggest, tell, undo, verified,
};
use client::signals::Interrupts;

const PLAN_FILE: &str = "plan-file";

const EXIT_CODES: &str = "\
Exit codes:
  0    complete, the iteration limit was reached, or `ralph-loop stop`
  1    error
  2    invalid command line or configuration
  3    a lifecycle script stopped the loop
  4    several stories in a row made no changes
  5    another loop is running in the project
  6    the budget is used up or the usage limit is reached
  7    stories remain, with --fail-if-incomplete
  8    the remaining stories are blocked and need a person
  9    the checks failed before the first story
  75   try later, with --fleet or --pr story
  130  interrupted (Ctrl-C, `ralph-loop stop --now`)
  143  terminated

Examples:
  ralph-loop demo
  ralph-loop --max-iterations 10 --verify 'cargo test'
  ralph-loop explain 'cd app && git push'";

/// Runs a coding agent over a plan of stories and commits only work that passes its checks
#[derive(Debug, Subcommand)]
enum Request {
    Init(init::Init),
    Install(install::Install),
    Uninstall(install::Uninstall),
    Doctor(doctor::Doctor),
    Stories(stories::Stories),
    Status(status::Status),
    Logs(logs::Logs),
    Report(report::ReportCommand),
    Pr(pr::Pr),
    Plan(plan_command::PlanCommand),
    Stop(stop::Stop),
    Tell(tell::Tell),
    /// Print every effective setting and where it comes from
    #[command(after_help = "Takes the same flags as a run and shows what they would set.")]
    Config,
    Explain(explain::Explain),
    Sandbox(sandboxed::Sandboxed),
    Fleet(fleet::Fleet),
    Attempts(attempts::Attempts),
    Retry(retry::Retry),
    Clean(clean::Clean),
    Undo(undo::Undo),
    Complete(complete::Complete),
    Verified(verified::Verified),
    RequestMerge(request_merge::RequestMerge),
    /// Serve the agent's tools over MCP on stdin and stdout (for the agent's client)
    Mcp,
    Completions(completions::Completions),
    /// Run four stories in a temporary project: a failing test, a refused push, a blocked story
    Demo,
}

/// Runs the command that was given.
pub(crate) fn perform(env: &Env, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let Some((_, given)) = matches.subcommand() else {
        let mut flags = given_flags(matches);
        let plan = matches.get_one::<String>(PLAN_FILE);
        flags.extend(plan.map(|path| Flag::new("loop.plan", path.clone())));
        let project = here::project(env)?;
        flags.extend(in_task::flags(env, project.root()));
        let restored = run::start::restore_files(&project)?;
        let config = here::config(&project, env, &flags)?;
        if !in_task::end_with_task(env) {
            if config.finish.pr == PullRequests::Story && !config.run.dry_run {
                return story_requests::run(env, &config);
            }
            if !config.run.fleet.is_empty() {
                return fleet::task(env, &config, &flags);
            }
        }
        let mut preflight = run::start::preflight(env, &flags)?;
        preflight.findings.extend(restored);
        if preflight.config.run.dry_run {
            return doctor::dry_run(&preflight);
        }
        return run::run(env, preflight);
    };
    match Request::from_arg_matches(matches).map_err(Failure::usage)? {
        Request::Init(init) => init.run(env),
        Request::Install(install) => install.run(env),
        Request::Uninstall(uninstall) => uninstall.run(env),
        Request::Doctor(doctor) => doctor::run(env, &given_flags(given), doctor),
        Request::Stories(stories) => stories.run(env),
        Request::Status(status) => status.run(env),
        Request::Logs(logs) => logs.run(env),
        Request::Report(report) => report.run(env),
        Request::Pr(pr) => pr.run(env),
        Request::Plan(plan) => plan.run(env),
        Request::Stop(stop) => stop.run(env),
        Request::Tell(tell) => tell.run(env),
        Request::Config => show_config::run(env, &given_flags(given)),
        Request::Explain(explain) => explain.run(env),
        Request::Sandbox(sandboxed) => sandboxed.run(env),
        Request::Fleet(fleet) => fleet.run(env),
        Request::Attempts(attempts) => attempts.run(env),
        Request::Retry(retry) => retry.run(env),
        Request::Clean(clean) => clean.run(env),
        Request::Undo(undo) => undo.run(env),
        Request::Complete(complete) => said(complete.answer(env, &until_asked_to_end()?)),
        Request::Verified(verified) => said(verified.answer(env, &until_asked_to_end()?)),
        Request::RequestMerge(request) => said(request.answer(env)),
        Request::Mcp => mcp::run(env),
        Request::Completions(completions) => completions.run(command()),
        Request::Demo => demo::run(env),
    }
}

/// Returns a check for signals: once one has arrived, running checks are stopped too.
fn until_asked_to_end() -> io::Result<impl Fn() -> bool> {
    let interrupts = Interrupts::listen()?;
    Ok(move || interrupts.signal().is_some())
}

/// Prints a command's answer.
fn said(answer: Result<String, Failure>) -> Result<ExitCode, Failure> {
    say(answer?);
    Ok(ExitCode::SUCCESS)
}

/// The whole command line, from which the documentation is generated.
pub(crate) fn command() -> Command {
    let flags = flags_of_keys();
    let hidden: Vec<Arg> = flags.iter().cloned().map(|flag| flag.hide(true)).collect();
    let command = Command::new("ralph-loop")
        .version(env!("CARGO_PKG_VERSION"))
        .after_help(EXIT_CODES)
        .args_conflicts_with_subcommands(true)
        .arg(plan_file())
        .args(flags)
        .arg(
            Arg::new("verbose")
                .short('v')
                .long("verbose")
                .action(ArgAction::Count)
                .global(true)
                .help("Log decisions and their reasons to stderr; -vv for more [RUST_LOG]"),
        );
    Request::augment_subcommands(command)
        .mut_subcommand("doctor", |doctor| doctor.args(&hidden))
        .mut_subcommand("config", |config| config.args(&hidden))
}

/// The positional argument for the plan. A word that might be a misspelt subcommand is refused.
fn plan_file() -> Arg {
    let parse = |text: &str| -> Result<String, String> {
        if text.contains(['.', '/']) || std::path::Path::new(text).is_file() {
            return Ok(text.to_owned());
        }
        Err(suggest::instead_of(text, &Request::augment_subcommands(Command::new("ralph-loop"))))
    };
    let arg =
        Arg::new(PLAN_FILE).value_name("PLAN").value_parser(parse).value_hint(ValueHint::FilePath);
    arg.conflicts_with("loop.plan").help("The plan to work on, as with --plan")
}

/// The flags for configuration keys.
fn flags_of_keys() -> Vec<Arg> {
    let default_of = Config::default().values();
    config::keys().filter_map(|key| Some(flag_of(key, key.flag?, default_of(key)))).collect()
}

/// The help heading for the flags of a settings table.
fn heading(key: &Key) -> &'static str {
    match key.name.split('.').next().unwrap_or_default() {
        "loop" => "Run and plan",
        "agent" => "Agent",
        "verify" => "Checks",
        "review" => "Review",
        "limits" => "Limits",
        "workspace" | "sandbox" => "The agent's copy of the project",
        "commit" => "Commits",
        "session" => "Sessions",
        "hooks" => "Lifecycle scripts",
        "finish" | "notify" => "Notifications and pull requests",
        _ => "Guarding and rolling back",
    }
}

/// A default value as a person would write it.
fn shown(key: &Key, default: &Value) -> String {
    match (key.kind, default) {
        (Kind::Seconds, Value::Integer(seconds @ 1..)) if seconds % 3600 == 0 => {
            format!("{}h", seconds / 3600)
        }
        (Kind::Seconds, Value::Integer(seconds @ 1..)) if seconds % 60 == 0 => {
            format!("{}m", seconds / 60)
        }
        (Kind::Seconds, Value::Integer(seconds @ 1..)) => format!("{seconds}s"),
        (Kind::Number, Value::Float(number)) => number.to_string(),
        _ => default.to_string().trim_matches('"').to_owned(),
    }
}

fn flag_of(key: &'static Key, name: &'static str, default: Option<Value>) -> Arg {
    let default = match default.map(|value| shown(key, &value)).unwrap_or_default().as_str() {
        "" | "[]" => String::new(),
        text => format!(" [default: {text}]"),
    };
    let variable = key.env.map(|env| format!(" [{env}]")).unwrap_or_default();
    let help = format!("{}{default}{variable}", key.help);
    let mut flag = Arg::new(key.name).long(name).help(help).help_heading(heading(key));
    if name == "max-cost" {
        // The names that other loops use for it.
        flag = flag.alias("budget");
    }
    match key.kind {
        Kind::List => flag.action(ArgAction::Append).value_name("ITEM"),
        // `--flag` alone means true; `--flag=false` overrides the file.
        Kind::Switch => flag
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_name("BOOL"),
        Kind::Seconds => flag.value_name("TIME"),
        Kind::Integer | Kind::Number => flag.value_name("N"),
        Kind::Text | Kind::Choice | Kind::Table => flag.value_name("VALUE"),
    }
}

/// The values that were given for these flags.
fn given_flags(matches: &ArgMatches) -> Vec<Flag> {
    let keys = config::keys().filter(|key| key.flag.is_some());
    keys.flat_map(|key| {
        let values = matches.get_many::<String>(key.name).into_iter().flatten();
        values.map(|value| Flag::new(key.name, value.clone())).collect::<Vec<_>>()
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_documents_and_accepts_its_default() {
        let default_of = Config::default().values();
        for key in config::keys().filter(|key| key.flag.is_some()) {
            let default = default_of(key).unwrap();
            let command = command();
            let flag = command.get_arguments().find(|arg| arg.get_id() == key.name).unwrap();
            let help = flag.get_help().unwrap().to_string();
            let text = shown(key, &default);
            let is_empty = matches!(text.as_str(), "" | "[]");
            let says =
                if is_empty { &["efaults to ", "empty means "][..] } else { &["[default: "] };
            assert!(says.iter().any(|words| help.contains(words)), "{}: {help}", key.name);
            let given = [Flag::new(key.name, text)];
            let read = Config::from_parts("c", "", &Env::of([("", "")]), &given);
            assert!(is_empty || read.unwrap() == Config::default(), "{}: {help}", key.name);
        }
    }
}
