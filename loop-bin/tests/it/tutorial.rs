//! Runs the commands of `docs/tutorial.md` in order; they must print what the page shows.

use regex::Regex;
use test_support::{Scratch, fixtures, program};

use crate::stage::LOOP;

/// Separates the output of two blocks.
const MARK: &str = "=== ended with ";

#[test]
fn every_command_of_the_tutorial_prints_what_it_shows() {
    let page = fs_err::read_to_string(fixtures().join("../docs/tutorial.md")).unwrap();
    let blocks = blocks(&page);
    let commands = blocks.iter().filter(|(kind, _)| *kind == "sh");
    let script: String = commands.map(|(_, text)| format!("{text}\necho \"{MARK}$?\"\n")).collect();
    let printed = run(&script);
    let (mut codes, mut outputs) = (Vec::new(), Vec::new());
    let mut rest = printed.as_str();
    while let Some((output, after)) = rest.split_once(MARK) {
        let (code, after) = after.split_once('\n').unwrap();
        codes.push(code);
        outputs.push(output.lines().map(masked).collect::<Vec<_>>());
        rest = after;
    }
    assert_eq!(codes, ["0", "0", "0", "0", "8", "0", "0", "0", "0"], "{printed}");
    let mut outputs = outputs.into_iter();
    let mut output = Vec::new();
    for (kind, text) in blocks {
        if kind == "sh" {
            output = outputs.next().unwrap();
            continue;
        }
        for shown in text.lines().filter(|line| *line != "…") {
            assert!(output.contains(&masked(shown)), "no `{shown}` in {output:#?}");
        }
    }
}

/// Runs a script in a new folder, with our programs and a git identity; returns its output.
fn run(script: &str) -> String {
    let scratch = Scratch::new();
    let home = scratch.dir("home");
    let programs = camino::Utf8Path::new(LOOP).parent().unwrap();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    let mut shell = program("sh", &home);
    shell.args(["-c", &format!("exec 2>&1\n{script}")]).current_dir(scratch.dir("work"));
    shell.env("PATH", path).env("GIT_CONFIG_NOSYSTEM", "1").env("TZ", "UTC");
    for role in ["AUTHOR", "COMMITTER"] {
        shell
            .env(format!("GIT_{role}_NAME"), "Ada")
            .env(format!("GIT_{role}_EMAIL"), "a@b.example");
    }
    String::from_utf8_lossy(&shell.output().unwrap().stdout).into_owned()
}

/// The fenced blocks of commands and of what they print.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some((_, block)) = rest.split_once("\n```") {
        let (kind, block) = block.split_once('\n').unwrap();
        let (text, after) = block.split_once("\n```").unwrap();
        found.push((kind, text));
        rest = after;
    }
    assert!(found.iter().all(|(kind, _)| ["sh", "text"].contains(kind)), "{found:?}");
    found
}

/// Replaces what differs between runs: the clock, commits, run ids and durations.
fn masked(line: &str) -> String {
    let clock = Regex::new(r"^\d\d:\d\d:\d\d ").unwrap();
    let differs = Regex::new(r"20\d{6}-\d{6}-\d+|\b[0-9a-f]{7,40}\b|\b\d+ s\b").unwrap();
    differs.replace_all(&clock.replace(line, ""), "#").into_owned()
}
