//! `docs/cli.md` matches the program's help, and the examples in README.md are valid.

use std::fmt::Write;

use regex::Regex;
use test_support::{fixtures, program};

use crate::stage::{LOOP, Stage};

fn help(args: &[&str]) -> String {
    let mut command = program(LOOP, camino::Utf8Path::new("/"));
    let output = command.args(args).env("COLUMNS", "100").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The help of a subcommand without the options that all subcommands share.
fn own_help(text: &str) -> String {
    let common = Regex::new(r"(?m)^  -(v, --verbose|h, --help).*\n( {8,}.*\n)*").unwrap();
    let own = common.replace_all(text, "");
    let gaps = Regex::new(r"Options:\n(\n|$)|\n(\n\n)").unwrap();
    gaps.replace_all(&own, "$2").into_owned()
}

/// The names of the subcommands in the program's help.
fn subcommands(help: &str) -> impl Iterator<Item = &str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    lines
        .take_while(|line| line.starts_with("  "))
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
}

/// Takes out of the program's help the flags that are settings, which another page lists. What follows
/// them (exit codes, examples) and the list of subcommands are also said elsewhere.
fn without_settings(help: &str) -> (String, &str) {
    let (before, rest) = help.split_once("\nRun and plan:\n").unwrap();
    let (settings, _) = rest.split_once("\nExit codes:\n").unwrap();
    let (usage, rest) = before.split_once("\nCommands:\n").unwrap();
    let (_, arguments) = rest.split_once("\nArguments:\n").unwrap();
    (format!("{usage}\nArguments:\n{arguments}"), settings)
}

fn page() -> String {
    let mut page = "# Command line\n\nWhich commands and flags are there?\nThis page is generated \
                    from the program's help; `RALPH_INTERNAL__UPDATE_DOCS=1 cargo test -p ralph-loop` \
                    updates it.\nEvery command also takes `-h` and `-v`.\nThe flags of a run are its \
                    settings: [configuration](configuration.md#keys) lists each with its key, its \
                    variable and its default, and so does `ralph-loop --help`.\n[How it ends](loop.md#how-it-ends) \
                    lists the exit codes.\n"
        .to_owned();
    let mut section = |title: &str, text: &str| {
        let text: Vec<&str> = text.lines().map(str::trim_end).collect();
        write!(page, "\n## {title}\n\n```text\n{}\n```\n", text.join("\n").trim_end()).unwrap();
    };
    let all = help(&["--help"]);
    section("ralph-loop", &without_settings(&all).0);
    for name in subcommands(&all) {
        section(&format!("ralph-loop {name}"), &own_help(&help(&[name, "--help"])));
    }
    page
}

#[test]
fn the_page_is_up_to_date() {
    let path = fixtures().parent().unwrap().join("docs/cli.md");
    if std::env::var_os("RALPH_INTERNAL__UPDATE_DOCS").is_some() {
        fs_err::write(&path, page()).unwrap();
    }
    let written = fs_err::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, page(), "run the tests with RALPH_INTERNAL__UPDATE_DOCS=1");
}

#[test]
fn flags_that_the_page_leaves_out_are_settings() {
    let settings = fs_err::read_to_string(fixtures().join("../docs/configuration.md")).unwrap();
    let all = help(&["--help"]);
    let flag = Regex::new(r"(?m)^ {2,6}(?:-\w, )?(--[a-z-]+)").unwrap();
    let left_out: Vec<&str> = flag
        .captures_iter(without_settings(&all).1)
        .map(|found| found.get(1).unwrap().as_str())
        .collect();
    assert!(left_out.len() > 30, "{left_out:?}");
    for flag in left_out {
        assert!(settings.contains(&format!("| `{flag}` |")), "{flag} is in no table");
    }
}

#[test]
fn the_plan_and_settings_in_the_readme_are_valid() {
    let page = fs_err::read_to_string(fixtures().join("../README.md")).unwrap();
    let block = |kind: &str| {
        let (_, rest) = page.split_once(&format!("\n```{kind}\n")).unwrap();
        rest.split("```").next().unwrap().to_owned()
    };
    let stage = Stage::new("works", &block("markdown"));
    stage.repo.write(".ralph/config.toml", block("toml"));
    stage.run(&["stories"]).ended(0).says("[ ] US-002  Sign out everywhere  (after US-001)");
    stage.run(&["config"]).ended(0).says("max_cost_usd = 10.0  # .ralph/config.toml");
}
