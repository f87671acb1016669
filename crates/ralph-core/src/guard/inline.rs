//! Programs of other languages on the command line: `python -c`, `node -e`, `awk 'BEGIN{…}'`.
//!
//! They are not parsed. Calls that start processes or remove and write files are found by name,
//! and the fixed texts in their parentheses are read as the command that they amount to.

mod meaning;
mod tokens;

use meaning::amounts_to;

use super::facts::Facts;
use super::settings::Settings;
use shell_reader::{Command, Reach, RedirectKind, Word};

/// Interpreters, and the options behind which the program stands.
const INTERPRETERS: [(&str, &str); 6] = [
    ("python pypy", "-c"),
    ("node bun tsx ts-node", "-e -p --eval --print"),
    ("deno", "eval"),
    ("perl", "-e -E"),
    ("ruby lua luajit osascript Rscript julia elixir", "-e"),
    ("php", "-r"),
];

/// The commands that inline programs would run.
pub(super) fn commands(commands: &[Command], facts: &Facts, settings: &Settings) -> Vec<Command> {
    let mut found = Vec::new();
    for (at, command) in commands.iter().enumerate() {
        let Some(name) = command.name() else { continue };
        let texts = programs(name, command, commands.get(..at).unwrap_or_default());
        let lines = texts.iter().flat_map(|text| amounts_to(name, text, settings));
        for mut inner in lines.flat_map(|line| facts.read(&line).commands) {
            inner.span = command.span.clone();
            inner.directory = command.directory.clone().or(inner.directory);
            inner.reached.insert(0, Reach::ShellText(name.to_owned()));
            found.push(inner);
        }
    }
    found
}

/// The texts that an interpreter is told to run, also from a file written earlier on the line.
fn programs(name: &str, command: &Command, before: &[Command]) -> Vec<String> {
    let first = command.args.iter().map(Word::text).find(|arg| !arg.starts_with('-'));
    if matches!(name, "awk" | "gawk" | "mawk") {
        return first.map(str::to_owned).into_iter().collect();
    }
    let base = name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.');
    let is_named = |names: &str| names.split(' ').any(|one| one == base);
    let Some((_, options)) = INTERPRETERS.iter().find(|(names, _)| is_named(names)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut args = command.args.iter();
    while let Some(arg) = args.next() {
        if options.split(' ').any(|option| gives_text(arg.text(), option)) {
            found.extend(args.next().map(|word| word.text().to_owned()));
        }
    }
    if found.is_empty() {
        found.extend(match first {
            Some(path) => before.iter().rev().find_map(|writer| written(writer, path)),
            None => document(command),
        });
    }
    found
}

/// The text that a command reads from the line itself.
fn document(command: &Command) -> Option<String> {
    let text = command.redirects.iter().find(|redirect| {
        matches!(redirect.kind, RedirectKind::HereDocument | RedirectKind::HereString)
    });
    text.map(|redirect| redirect.target.text().to_owned())
}

/// What a command writes to this file, if that stands on the line itself.
fn written(command: &Command, path: &str) -> Option<String> {
    let same = |word: &Word| word.text().trim_start_matches("./") == path.trim_start_matches("./");
    let redirected = command.redirects.iter().any(|redirect| {
        matches!(redirect.kind, RedirectKind::Write | RedirectKind::Append)
            && same(&redirect.target)
    });
    match command.name()? {
        "cat" if redirected => document(command),
        "tee" if command.args.iter().any(same) => document(command),
        "echo" | "printf" if redirected => {
            Some(command.args.iter().map(Word::text).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    }
}

/// Whether an option is this one, also at the end of a cluster such as `-we`.
fn gives_text(arg: &str, option: &str) -> bool {
    let cluster = option.len() == 2 && arg.starts_with('-') && !arg.starts_with("--");
    arg == option || (cluster && arg.ends_with(option.trim_start_matches('-')))
}
