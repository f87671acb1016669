//! Files of which a search has shown lines: `grep -r`, `rg` and `git grep` name them in what they
//! print.
//!
//! The command line alone does not tell which files fit, and a folder is never taken as read: only
//! the output names what the agent has seen.

use std::collections::BTreeSet;

use camino::Utf8PathBuf;

use super::check::Facts;
use super::paths::{self, Place};
use super::reads::{is_shown, prints_no_lines};
use crate::shell::{Command, Reach, Script, Word};

/// More lines than this are not looked at; nobody reads them either.
const MAX_LINES: usize = 2_000;

/// Programs that leave the lines as they are which they are given.
const PASSING: [&str; 8] = ["head", "tail", "sort", "uniq", "cat", "less", "more", "grep"];

/// The files that the searches of a command line name in its output, each once.
pub fn matched(script: &Script, output: &str, facts: &Facts) -> Vec<Utf8PathBuf> {
    let commands = &script.commands;
    let searches = commands.iter().enumerate().filter(|(at, command)| {
        is_search(command) && is_shown(command) && is_passed_on(commands, *at)
    });
    let folders: BTreeSet<Option<&str>> =
        searches.map(|(_, search)| search.directory.as_ref().map(Word::text)).collect();
    if folders.is_empty() {
        return Vec::new();
    }
    let lines = output.lines().take(MAX_LINES);
    let names: BTreeSet<&str> = lines.filter_map(named_file).collect();
    let place = |(folder, name): (Option<&str>, &str)| match paths::place(
        &Word::from(name),
        folder.map(Word::from).as_ref(),
        facts,
    ) {
        Place::At(path) => Some(path.into()),
        _ => None,
    };
    let pairs = folders.iter().flat_map(|folder| names.iter().map(|name| (*folder, *name)));
    pairs.filter_map(place).collect()
}

/// The file that a line such as `src/a.rs:12:text` comes from.
fn named_file(line: &str) -> Option<&str> {
    let (name, text) = line.split_once(':')?;
    (!name.is_empty() && !text.is_empty()).then_some(name)
}

/// Whether a command searches several files and prints the lines that it finds.
fn is_search(command: &Command) -> bool {
    let name = command.name().unwrap_or_default();
    let texts: Vec<&str> = command.args.iter().map(Word::text).collect();
    let several = match name {
        "grep" | "egrep" | "fgrep" => {
            command.reached.iter().any(|step| matches!(step, Reach::Template(_)))
                || texts.iter().any(|arg| {
                    let cluster = arg.starts_with('-') && !arg.starts_with("--");
                    *arg == "--recursive" || (cluster && arg.contains(['r', 'R']))
                })
        }
        "rg" | "ag" => true,
        "git" => texts.contains(&"grep"),
        _ => false,
    };
    several && !prints_no_lines(&texts)
}

/// Whether all programs behind this one in its pipeline leave its lines as they are.
fn is_passed_on(commands: &[Command], at: usize) -> bool {
    let ends = |command: &Command| command.reached.contains(&Reach::Pipe { last: true });
    let piped = |command: &Command| command.reached.contains(&Reach::Pipe { last: false });
    let Some(search) = commands.get(at).filter(|search| piped(search)) else { return true };
    let mut behind = commands.iter().skip(at + 1);
    let passes = |next: &Command| {
        let name = next.name().unwrap_or_default();
        PASSING.contains(&name) && is_shown(next) && next.reached.len() == search.reached.len()
    };
    loop {
        match behind.next() {
            Some(next) if !passes(next) => return false,
            Some(next) if ends(next) => return true,
            Some(_) => {}
            None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::read;

    #[track_caller]
    fn check(command: &str, output: &str, expected: &[&str]) {
        let facts = Facts { root: "/w/app".into(), cwd: "/w/app".into(), ..Facts::default() };
        assert_eq!(matched(&read(command, &facts), output, &facts), expected, "{command}");
    }

    #[test]
    fn a_search_through_folders_shows_the_files_that_it_names() {
        let output = "src/a.rs:3:fn a() {}\nsrc/a.rs:9:fn b() {}\nsrc/b.rs:1:mod a;\n";
        let both = ["/w/app/src/a.rs", "/w/app/src/b.rs"];
        check("grep -rn fn src", output, &both);
        check("rg -n 'fn|mod'", output, &both);
        check("git grep -n fn", output, &both);
        check("find . -name '*.rs' -exec grep -n fn {} +", output, &both);
        check("grep -rn fn src | sort | head -20", output, &both);
        check("cd sub && grep -rn fn .", "./a.rs:1:fn\n", &["/w/app/sub/a.rs"]);
    }

    #[test]
    fn names_without_lines_and_lines_of_other_commands_are_no_sight() {
        let output = "src/a.rs:3:fn a() {}\n";
        check("cargo build", output, &[]);
        check("grep -rl fn src", "src/a.rs\n", &[]);
        check("rg -c fn", "src/a.rs:3\n", &[]);
        check("grep -rn fn src | cut -d: -f1,2", "src/a.rs:3\n", &[]);
        check("grep -rn fn src > found.txt; cat other", output, &[]);
        check("x=$(grep -rn fn src); cargo build", output, &[]);
        check("grep -rn fn src", "no colon here\n:3:x\nsrc/c.rs:\n", &[]);
    }
}
