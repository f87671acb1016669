//! Files that a command shows to the agent, so that it may edit them.

use camino::Utf8PathBuf;

use super::act::operands;
use super::check::Facts;
use super::paths::{self, Place};
use crate::shell::{Command, Reach, RedirectKind, Script, Word};

/// How a program's operands are to be read.
#[derive(Clone, Copy)]
enum Shape {
    /// All of them are files.
    Files,
    /// The first is a script or pattern, unless an option gives it.
    Script,
}

/// Programs that show files; options in the third column take a value.
const READERS: &[(&str, Shape, &[&str])] = &[
    ("cat", Shape::Files, &[]),
    ("tac", Shape::Files, &[]),
    ("head", Shape::Files, &["-n", "-c", "--lines", "--bytes"]),
    ("tail", Shape::Files, &["-n", "-c", "--lines", "--bytes"]),
    ("less", Shape::Files, &["-p"]),
    ("more", Shape::Files, &[]),
    ("nl", Shape::Files, &["-b", "-w", "-s", "-v"]),
    (
        "bat",
        Shape::Files,
        &["-r", "--line-range", "-l", "--language", "--style", "--theme", "--color", "--paging"],
    ),
    (
        "batcat",
        Shape::Files,
        &["-r", "--line-range", "-l", "--language", "--style", "--theme", "--color", "--paging"],
    ),
    ("view", Shape::Files, &[]),
    ("diff", Shape::Files, &["-U", "--label"]),
    ("sed", Shape::Script, &["-e", "-f"]),
    ("gsed", Shape::Script, &["-e", "-f"]),
    ("awk", Shape::Script, &["-F", "-v", "-f"]),
    ("gawk", Shape::Script, &["-F", "-v", "-f"]),
    ("jq", Shape::Script, &["--arg", "--argjson", "--indent"]),
    ("yq", Shape::Script, &[]),
    ("grep", Shape::Script, GREP),
    ("egrep", Shape::Script, GREP),
    ("fgrep", Shape::Script, GREP),
    ("rg", Shape::Script, GREP),
    ("ag", Shape::Script, GREP),
];

const GREP: &[&str] = &[
    "-e",
    "-f",
    "-A",
    "-B",
    "-C",
    "-m",
    "-g",
    "-t",
    "--include",
    "--exclude",
    "--glob",
    "--type",
    "--max-count",
];

/// The files that a command line shows, as far as their names are known; a pattern stays one, for
/// the caller to look what fits it.
pub fn reads(script: &Script, facts: &Facts) -> Vec<Utf8PathBuf> {
    let mut found = Vec::new();
    for command in script.commands.iter().filter(|command| is_shown(command)) {
        for word in shown(command) {
            match paths::place(&word, command.directory.as_ref(), facts) {
                Place::At(path) => found.push(path.into()),
                Place::In { folder, pattern } => {
                    found.push(Utf8PathBuf::from(folder).join(pattern))
                }
                Place::Unknown => {}
            }
        }
    }
    found
}

/// Whether what it prints reaches the agent: not a file, not a variable.
pub(super) fn is_shown(command: &Command) -> bool {
    let to_file = command.redirects.iter().any(|redirect| {
        matches!(redirect.kind, RedirectKind::Write | RedirectKind::Append)
            && redirect.descriptor == 1
            && !matches!(redirect.target.text(), "/dev/stdout" | "/dev/stderr" | "/dev/tty")
    });
    !to_file && !command.reached.contains(&Reach::Substitution)
}

/// Whether the options of `grep` or `rg` leave only names, numbers or an exit code of its output.
pub(super) fn prints_no_lines(args: &[&str]) -> bool {
    args.iter().any(|arg| {
        let cluster = arg.starts_with('-') && !arg.starts_with("--");
        matches!(*arg, "--quiet" | "--silent" | "--count" | "--files-with-matches" | "--files")
            || (cluster && arg.contains(['q', 'l', 'L', 'c']))
    })
}

fn shown(command: &Command) -> Vec<Word> {
    let name = command.name().unwrap_or_default();
    let Some((_, shape, values)) = READERS.iter().find(|(reader, ..)| *reader == name) else {
        return Vec::new();
    };
    let texts: Vec<&str> = command.args.iter().map(Word::text).collect();
    let quiet = matches!(name, "grep" | "egrep" | "fgrep" | "rg") && prints_no_lines(&texts);
    let in_place = matches!(name, "sed" | "gsed")
        && texts
            .iter()
            .any(|arg| arg.starts_with("--in-place") || (arg.starts_with("-i") || *arg == "-ni"));
    if quiet || in_place {
        return Vec::new();
    }
    let mut files = Vec::new();
    let mut skip = false;
    for arg in &command.args {
        if !std::mem::replace(&mut skip, values.contains(&arg.text())) {
            files.push(arg.clone());
        }
    }
    let mut files: Vec<Word> =
        operands(&files).into_iter().filter(|word| word.text() != "-").cloned().collect();
    let script_given = texts
        .iter()
        .any(|arg| matches!(*arg, "-e" | "-f" | "--expression" | "--file" | "--regexp"));
    if matches!(shape, Shape::Script) && !script_given && !files.is_empty() {
        files.remove(0);
    }
    let input = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
    files.extend(input.map(|redirect| redirect.target.clone()));
    files
}
