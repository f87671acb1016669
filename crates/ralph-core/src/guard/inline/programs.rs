//! Where a program of another language stands on the line, and what commands it comes to.

use super::meaning::amounts_to;
use crate::guard::check::{self, Facts};
use crate::guard::settings::Settings;
use crate::shell::{Command, Reach, RedirectKind, Word};

/// The commands that inline programs would run.
pub(in crate::guard) fn commands(
    commands: &[Command],
    facts: &Facts,
    settings: &Settings,
) -> Vec<Command> {
    let mut found = Vec::new();
    for (at, command) in commands.iter().enumerate() {
        let Some(name) = command.name() else { continue };
        let before = commands.get(..at).unwrap_or_default();
        for text in programs(name, command, before) {
            for line in amounts_to(name, &text, settings) {
                found.extend(check::read(&line, facts).commands.into_iter().map(|inner| {
                    Command {
                        span: command.span.clone(),
                        directory: command.directory.clone().or(inner.directory.clone()),
                        reached: std::iter::once(Reach::ShellText(name.to_owned()))
                            .chain(inner.reached.clone())
                            .collect(),
                        ..inner
                    }
                }));
            }
        }
    }
    found
}

/// The texts that an interpreter is told to run, also from a file written earlier on the line.
fn programs(name: &str, command: &Command, before: &[Command]) -> Vec<String> {
    let base = name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.');
    let options: &[&str] = match base {
        "python" | "pypy" => &["-c"],
        "node" | "bun" | "tsx" | "ts-node" => &["-e", "-p", "--eval", "--print"],
        "deno" => &["eval"],
        "perl" => &["-e", "-E"],
        "ruby" | "lua" | "luajit" | "osascript" | "Rscript" | "julia" | "elixir" => &["-e"],
        "php" => &["-r"],
        "awk" | "gawk" | "mawk" => {
            let script = command.args.iter().find(|arg| !arg.text().starts_with('-'));
            return script.map(|word| word.text().to_owned()).into_iter().collect();
        }
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    let mut args = command.args.iter();
    while let Some(arg) = args.next() {
        if options.iter().any(|option| gives_text(arg.text(), option)) {
            found.extend(args.next().map(|word| word.text().to_owned()));
        }
    }
    let script = command.args.iter().map(Word::text).find(|arg| !arg.starts_with('-'));
    if let Some(path) = script.filter(|_| found.is_empty()) {
        found.extend(before.iter().rev().find_map(|writer| written(writer, path)));
    }
    let from_input = found.is_empty() && command.args.iter().all(|arg| arg.text().starts_with('-'));
    if from_input {
        found.extend(document(command));
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
