//! Documents name only existing paths and commands, and stay short.

use camino::Utf8Path;
use clap::CommandFactory;
use regex::Regex;

use super::tree::{File, files, report};
use crate::{Arguments, run};

#[test]
fn documents_name_existing_paths() {
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

/// Returns the targets of links, and words in backticks that begin with a folder of the repository.
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
fn documents_name_existing_tasks_and_subcommands() {
    let (tasks, subcommands) = (tasks(), subcommands());
    assert!(!tasks.is_empty() && !subcommands.is_empty());
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

/// Returns the tasks that this program accepts.
fn tasks() -> Vec<String> {
    let command = Arguments::command();
    command.get_subcommands().map(|task| task.get_name().to_owned()).collect()
}

/// Returns the subcommands of the loop, from a page that a test of the loop compares with its help.
fn subcommands() -> Vec<String> {
    let page = fs_err::read_to_string(run::root().join("docs/cli.md")).unwrap();
    let names = page.lines().filter_map(|line| line.strip_prefix("## ralph-loop "));
    names.map(str::to_owned).collect()
}

/// Limits for readers: the number of pages, and the number of words as `wc -w` counts them.
const MOST_PAGES: usize = 26;
const MOST_WORDS: usize = 32_700;
const MOST_WORDS_OF_README: usize = 900;

#[test]
fn the_documentation_stays_short() {
    let pages: Vec<(String, usize)> = files(&[".md"])
        .into_iter()
        .filter(|file| file.path == "README.md" || file.path.starts_with("docs"))
        .filter(|file| file.path != "docs/SUMMARY.md")
        .map(|file| (file.path.to_string(), file.text.split_whitespace().count()))
        .collect();
    let readme = pages.iter().find(|(path, _)| path == "README.md").map(|(_, words)| *words);
    let words: usize = pages.iter().map(|(_, words)| words).sum();
    assert!(pages.len() <= MOST_PAGES, "{} pages: {pages:#?}", pages.len());
    assert!(readme.is_some_and(|words| words <= MOST_WORDS_OF_README), "README: {readme:?} words");
    assert!(words <= MOST_WORDS, "{words} words: {pages:#?}");
}
