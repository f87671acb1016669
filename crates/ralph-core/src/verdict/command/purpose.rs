//! The purpose of a program with its arguments: running tests, listing them, perhaps running them,
//! showing text, or none of these.

use super::super::runners::{self, Runner};
use super::interpreters::{asks_for_tests, of_interpreter};
use super::names::{base_name, is_other_purpose, is_test_file, is_test_name};
use super::tasks::of_task;
use super::tools::{is_build_tool, of_tool};

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/purpose.rs"));

/// The purpose of a simple command with regard to tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Runs tests; the runner is missing if only the name of a script or target shows that.
    Runs(Option<Runner>),
    /// Lists or builds tests without running any.
    Lists(Option<Runner>),
    /// May run tests among other things: only a summary in the output can show that.
    May,
    /// Shows text that other programs wrote, such as a log.
    Shows,
    /// Has nothing to do with tests.
    Other,
}

/// Classifies a program with its arguments.
pub(crate) fn of(program: &str, args: &[&str]) -> Purpose {
    let (name, args) = match (base_name(program), args) {
        ("coverage", ["run", rest @ ..]) => ("python", rest),
        (name, _) => (name, args),
    };
    if is_help(args) {
        return Purpose::Other;
    }
    // `python -W error -m pytest`: the relevant arguments begin with `-m`.
    let args = match args.iter().position(|arg| *arg == "-m") {
        Some(at) if name == "python" => args.get(at..).unwrap_or_default(),
        _ => args,
    };
    // The most common programs are checked first.
    // `script/test` is not the shell's `test`.
    let is_own_test = name == "test" && program.contains('/') && !program.starts_with('/');
    if let Some(purpose) = of_tool(name, args).filter(|_| !is_own_test) {
        return purpose;
    }
    if let Some(row) = runners::find(name, args) {
        return of_row(row, name, args);
    }
    if let Some(purpose) = of_task(name, args) {
        return listing(purpose, args);
    }
    if is_build_tool(name) {
        return Purpose::Other;
    }
    if let Some(purpose) = of_interpreter(name, args) {
        return listing(purpose, args);
    }
    let is_script = program.contains('/') && !program.starts_with('/');
    let runs = is_test_file(program) || is_script && asks_for_tests(name, args);
    listing(if runs { Purpose::Runs(None) } else { Purpose::May }, args)
}

pub(super) fn of_row(row: Runner, name: &str, args: &[&str]) -> Purpose {
    let skipped = |arg: &&str| {
        let skips = ["-DskipTests", "-DskipITs", "-Dmaven.test.skip"];
        skips.iter().any(|skip| arg.starts_with(skip)) && !arg.ends_with("=false")
    };
    let excluded = name == "gradle" && args.windows(2).any(|pair| pair == ["-x", "test"]);
    if args.iter().any(skipped) || excluded || names_other_sessions(row, args) {
        return Purpose::Other;
    }
    // A build that runs the tests shows that in its output.
    let goal = |arg: &str| arg.rsplit(':').next().is_some_and(is_goal);
    let is_goal_of_tests = |arg: &&str| !arg.starts_with('-') && (is_test_name(arg) || goal(arg));
    let named = args.iter().any(is_goal_of_tests);
    if matches!(name, "mvn" | "gradle") && !named {
        return Purpose::May;
    }
    listing(Purpose::Runs(Some(row)), args)
}

/// Returns whether a goal of Maven or Gradle always includes the tests.
fn is_goal(name: &str) -> bool {
    matches!(name, "verify" | "check")
}

/// Returns whether none of the requested sessions runs tests: `tox -e lint`, `nox -s docs`.
fn names_other_sessions(runner: Runner, args: &[&str]) -> bool {
    let is_option =
        |arg: &&&str| matches!(**arg, "-e" | "--env" | "-s" | "--session" | "--sessions");
    let behind = args.iter().skip_while(|arg| !is_option(arg)).skip(1);
    let mut named =
        behind.take_while(|arg| !arg.starts_with('-')).flat_map(|arg| arg.split(',')).peekable();
    is_session_runner(runner) && named.peek().is_some() && named.all(is_other_purpose)
}

fn is_session_runner(runner: Runner) -> bool {
    runner.name.contains("tox") || runner.name.contains("nox")
}

/// Turns a run into a listing if an option requests that.
fn listing(purpose: Purpose, args: &[&str]) -> Purpose {
    let Purpose::Runs(row) = purpose else { return purpose };
    let go_build = row.is_some_and(|row| row.name == "go test") && args.contains(&"-c");
    // `--list-tests`, `-check.list`, `--dry-run`
    let lists = |arg: &str| {
        let option = arg.split('=').next().filter(|option| option.starts_with('-'));
        let name = option.and_then(|option| option.trim_start_matches('-').rsplit('.').next());
        let list = |name: &str| name.starts_with("list") && !name.starts_with("listen");
        name.is_some_and(|name| list(name) || name.starts_with("dry")) || LISTING.contains(&arg)
    };
    let listed = args.iter().take_while(|arg| **arg != "-k").any(|arg| lists(arg));
    // `cargo nextest list`, `vitest list`, `codeceptjs dry-run`, but not `mocha -R list`
    let sub = row.is_some() && matches!(args, ["list" | "dry-run", ..] | ["nextest", "list", ..])
        || row.is_some_and(is_session_runner) && args.contains(&"-l")
        || row.is_none() && matches!(args, ["-l" | "-c"]);
    let sub = sub || row.is_some_and(|row| row.name == "ctest") && args.contains(&"-N");
    if listed || go_build || sub { Purpose::Lists(row) } else { purpose }
}

fn is_help(args: &[&str]) -> bool {
    let own = args.iter().take_while(|arg| **arg != "--");
    let mut own = own.copied();
    own.any(|arg| matches!(arg, "--help" | "--version" | "-help" | "-version" | "--usage"))
        || matches!(args, ["-h" | "-V" | "help" | "version"])
        || (args.first() == Some(&"help") && args.len() < 4)
}
