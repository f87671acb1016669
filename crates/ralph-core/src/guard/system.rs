//! `disk`, `fork-bomb` and `opaque-script`: dangers to the whole machine.

use camino::Utf8Path;

use super::act::Act;
use super::paths::{self, Location};
use super::words::has_option;
use shell_reader::{Command, Reach, Word, sorted};

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/system.rs"));

/// Returns what to do instead of overwriting a device or a system file.
pub(super) fn instead_of_wrecking(act: &Act) -> Option<String> {
    let instead = if uses_disk_tool(act) {
        "keep to an image inside the project, such as ./disk.img"
    } else if opens_everything(act) {
        "change the permissions of files inside the project only"
    } else if overwrites_system(act) {
        "use the project or the temp folder (`--prefix`, `-C`, `-d`), and tell the user what \
         has to change on the system"
    } else {
        return None;
    };
    Some(instead.to_owned())
}

fn uses_disk_tool(act: &Act) -> bool {
    let wipes = |words: &&str| {
        words.split(' ').any(|word| word.is_empty() || act.args().any(|arg| arg.starts_with(word)))
    };
    let lists = || act.has("-l --list --help --version") || act.args().next() == Some("list");
    let on_file = || {
        let last = act.operands().last().map(|word| act.place(word));
        matches!(last, Some(Location::At(path)) if is_ours(&path, act))
    };
    let is_tool = || sorted::find(DISK_TOOLS, act.name).is_some_and(wipes);
    (act.name.starts_with("mkfs") || is_tool()) && !lists() && !on_file()
}

/// Returns whether a path is in the project or in a folder for temporary files.
fn is_ours(path: &Utf8Path, act: &Act) -> bool {
    path.starts_with(&act.facts.root) || paths::is_temporary(path, act.facts)
}

fn overwrites_system(act: &Act) -> bool {
    act.touched.iter().any(|word| match act.place(word) {
        // A folder cannot be the target of a redirection.
        Location::At(path) if path == "/" => {
            act.facts.root != "/" && act.command.redirects.is_empty()
        }
        Location::At(path) => is_system(&path, act),
        Location::In { folder, .. } => is_system(&folder, act),
        Location::Unknown => false,
    })
}

fn is_system(path: &Utf8Path, act: &Act) -> bool {
    let first = path.components().nth(1).map(|part| part.as_str());
    first.is_some_and(|first| SYSTEM.contains(&first))
        && !HARMLESS.iter().any(|device| path.starts_with(device))
        && !is_ours(path, act)
}

/// Detects recursive changes outside the project: `chmod -R 777 /`, `chown -R root ~`.
fn opens_everything(act: &Act) -> bool {
    matches!(act.name, "chmod" | "chown" | "chgrp" | "setfacl")
        && act.has("-R --recursive")
        && act.operands().iter().skip(1).any(|word| {
            let path = act.place(word).known();
            path.is_some_and(|path| path != "" && !is_ours(&path, act))
        })
}

/// Returns what to do instead of a function that starts itself in the background.
pub(super) fn instead_of_forking(act: &Act) -> Option<String> {
    let reached = &act.command.reached;
    let own = reached.iter().any(|step| matches!(step, Reach::Function(name) if name == act.name));
    (own && reached.contains(&Reach::Background)).then(|| "use a loop with an end".to_owned())
}

/// Returns whether the command verifies downloaded content: `sha256sum -c`, `gpg --verify`.
pub(super) fn verifies(command: &Command) -> bool {
    let is_sum = command.name().is_some_and(|name| name.ends_with("sum") || name == "gpg");
    is_sum && has_option(command.args.iter().map(Word::text), "-c --check --verify")
}

/// Returns what to do instead of running text that was downloaded or decoded on the same line.
pub(super) fn instead_of_running_unread(act: &Act) -> Option<String> {
    let is_one = act.command.runs_fetched() && !act.line_verifies;
    is_one.then(|| "download it to a file, read the file, then run it".to_owned())
}
