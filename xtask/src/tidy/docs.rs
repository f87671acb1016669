//! Documents: the paths they name exist, and so do the commands.

use camino::Utf8Path;
use regex::Regex;

use super::tree::{File, files, report};
use crate::run;

#[test]
fn documents_name_paths_that_exist() {
    let mut findings = Vec::new();
    for file in files(&[".md"]) {
        for path in paths_in(&file) {
            let beside = file.path.parent().unwrap_or(Utf8Path::new("")).join(&path);
            if !run::root().join(&path).exists() && !run::root().join(beside).exists() {
                findings.push(format!("{} names {path}, which does not exist", file.path));
            }
        }
    }
    report(findings);
}

/// Targets of links, and words in backticks that begin like a path of ours.
fn paths_in(file: &File) -> Vec<String> {
    let link = Regex::new(r"\]\(([^)#:\s…]+)(?:#[^)]*)?\)").unwrap();
    let quoted =
        Regex::new(r"`((?:crates|hooks-bin|loop-bin|xtask|docs|fixtures|\.ci)/[A-Za-z0-9_./-]+)`")
            .unwrap();
    let text = &file.text;
    let found = link.captures_iter(text).chain(quoted.captures_iter(text));
    found.map(|capture| capture[1].to_owned()).collect()
}

#[test]
fn documents_name_tasks_and_subcommands_that_exist() {
    let tasks = words_after("cargo xtask ", &help_of("xtask"));
    let subcommands = words_after("ralph-loop ", &help_of("ralph-loop"));
    let mut findings = Vec::new();
    for file in files(&[".md"]) {
        for (what, known) in [(r"cargo xtask", &tasks), (r"ralph-loop", &subcommands)] {
            let used = Regex::new(&format!(r"(?m)(?:`|^|\$ ){what} ([a-z][a-z-]+)")).unwrap();
            for word in used.captures_iter(&file.text).map(|c| c[1].to_owned()) {
                if !known.contains(&word) {
                    findings
                        .push(format!("{} names `{what} {word}`, which does not exist", file.path));
                }
            }
        }
    }
    report(findings);
}

fn help_of(package: &str) -> String {
    run::output(run::command("cargo").args([
        "run",
        "--quiet",
        "--package",
        package,
        "--",
        "--help",
    ]))
    .unwrap()
}

/// The names under `Commands:` in a program's help.
fn words_after(program: &str, help: &str) -> Vec<String> {
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| line.starts_with("  "));
    let names: Vec<String> =
        commands.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    assert!(!names.is_empty(), "no commands in the help of {program}");
    names
}
