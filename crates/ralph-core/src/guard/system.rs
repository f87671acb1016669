//! `disk`, `fork-bomb` and `opaque-script`: what endangers the machine as a whole.

use camino::Utf8Path;

use super::act::Act;
use super::paths::{self, Place};
use super::writes;
use shell_reader::{Command, Reach, UNKNOWN};

/// Folders that belong to the system.
const SYSTEM: [&str; 14] = [
    "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/sys", "/proc", "/dev", "/var",
    "/opt", "/System", "/Library",
];
/// What anybody may write to all the same.
const HARMLESS: [&str; 10] = [
    "/var/folders",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/tty",
    "/dev/fd",
    "/dev/shm",
];

/// Programs that make or wipe file systems, and the beginning of the word with which they do.
const TOOLS: [(&str, &str); 13] = [
    ("wipefs", ""),
    ("blkdiscard", ""),
    ("mkswap", ""),
    ("mke2fs", ""),
    ("sgdisk", ""),
    ("fdisk", ""),
    ("sfdisk", ""),
    ("parted", ""),
    ("cryptsetup", "luksFormat"),
    ("cryptsetup", "erase"),
    ("diskutil", "erase"),
    ("diskutil", "partition"),
    ("hdparm", "--security-erase"),
];

/// What to do instead of overwriting a device or a system file.
pub(super) fn instead_of_wrecking(act: &Act) -> Option<String> {
    let is_one = || uses_disk_tool(act) || overwrites_system(act) || opens_everything(act);
    let instead = "keep to files inside the project, such as ./disk.img";
    (!act.is_elsewhere() && is_one()).then(|| instead.to_owned())
}

fn uses_disk_tool(act: &Act) -> bool {
    let wipes = |(tool, word): &(&str, &str)| {
        *tool == act.name && (word.is_empty() || act.args().any(|arg| arg.starts_with(word)))
    };
    let lists = || act.has("-l --list --help --version") || act.args().next() == Some("list");
    let on_file = || {
        let last = act.operands().last().map(|word| act.place(word));
        matches!(last, Some(Place::At(path)) if is_ours(&path, act))
    };
    (act.name.starts_with("mkfs") || TOOLS.iter().any(wipes)) && !lists() && !on_file()
}

/// Whether a path is in the project or in a folder for temporary files.
fn is_ours(path: &Utf8Path, act: &Act) -> bool {
    path.starts_with(&act.facts.root) || paths::is_temporary(path, act.facts)
}

fn overwrites_system(act: &Act) -> bool {
    let written = writes::created(act.command);
    written.iter().filter_map(|word| act.place(word).known()).any(|path| is_system(&path, act))
}

fn is_system(path: &Utf8Path, act: &Act) -> bool {
    SYSTEM.iter().any(|folder| path.starts_with(folder))
        && !HARMLESS.iter().any(|device| path.starts_with(device))
        && !is_ours(path, act)
}

/// `chmod -R 777 /`, `chown -R root ~`: recursive changes outside the project.
fn opens_everything(act: &Act) -> bool {
    matches!(act.name, "chmod" | "chown" | "chgrp" | "setfacl")
        && act.has("-R --recursive")
        && act.operands().iter().skip(1).any(|word| {
            let path = act.place(word).known();
            path.is_some_and(|path| path != "" && !is_ours(&path, act))
        })
}

/// What to do instead of a function that starts itself in the background.
pub(super) fn instead_of_forking(act: &Act) -> Option<String> {
    let reached = &act.command.reached;
    let own = reached.iter().any(|step| matches!(step, Reach::Function(name) if name == act.name));
    (own && reached.contains(&Reach::Background)).then(|| "use a loop with an end".to_owned())
}

/// Programs that bring text from elsewhere or out of a disguise.
const SOURCES: [&str; 14] = [
    "curl", "wget", "fetch", "http", "https", "xh", "aria2c", "nc", "base64", "base32", "xxd",
    "openssl", "rev", "tr",
];

/// Whether a command feeds fetched or decoded text to another one.
pub(super) fn fetches_text(command: &Command) -> bool {
    command.name().is_some_and(|name| SOURCES.contains(&name))
        && command
            .reached
            .iter()
            .any(|step| matches!(step, Reach::Pipe { .. } | Reach::Substitution))
}

/// What to do instead of a shell that runs text which was fetched or decoded on the same line.
pub(super) fn instead_of_running_unread(act: &Act) -> Option<String> {
    if !act.command.hidden || !act.line_fetches || !act.switch("opaque-scripts") {
        return None;
    }
    let piped = act.command.reached.iter().any(|step| matches!(step, Reach::Pipe { .. }));
    (piped || act.command.args.iter().any(|arg| arg.text().contains(UNKNOWN)))
        .then(|| "download it to a file, read the file, then run it".to_owned())
}
