//! `disk`, `fork-bomb` and `opaque-script`: what endangers the machine as a whole.

use camino::Utf8Path;

use super::act::Act;
use super::paths::{self, Place};
use super::words::has_option;
use shell_reader::{Command, Reach, Word};

/// Folders that belong to the system, without their slash.
const SYSTEM: &str = "etc usr bin sbin lib lib64 boot sys proc dev var opt System Library";
/// What anybody may write to all the same.
const HARMLESS: &str = "/var/folders /dev/null /dev/zero /dev/full /dev/stdout /dev/stderr \
     /dev/stdin /dev/tty /dev/pts /dev/ptmx /dev/fd /dev/shm /dev/tcp /dev/udp /dev/random \
     /dev/urandom";

/// Programs that make or wipe file systems, and the beginning of the word with which they do.
const TOOLS: &str = "wipefs: blkdiscard: mkswap: mke2fs: sgdisk: fdisk: sfdisk: parted: \
     cryptsetup:luksFormat cryptsetup:erase diskutil:erase diskutil:partition \
     hdparm:--security-erase";

/// What to do instead of overwriting a device or a system file.
pub(super) fn instead_of_wrecking(act: &Act) -> Option<String> {
    let instead = if uses_disk_tool(act) {
        "keep to an image inside the project, such as ./disk.img"
    } else if opens_everything(act) {
        "change the permissions of files inside the project only"
    } else if overwrites_system(act) {
        "keep to the project or the temp folder (`--prefix`, `-C`, `-d`), and tell the user what \
         the system needs"
    } else {
        return None;
    };
    Some(instead.to_owned())
}

fn uses_disk_tool(act: &Act) -> bool {
    let wipes = |row: &str| {
        let word = row.strip_prefix(act.name).and_then(|row| row.strip_prefix(':'));
        word.is_some_and(|word| word.is_empty() || act.args().any(|arg| arg.starts_with(word)))
    };
    let lists = || act.has("-l --list --help --version") || act.args().next() == Some("list");
    let on_file = || {
        let last = act.operands().last().map(|word| act.place(word));
        matches!(last, Some(Place::At(path)) if is_ours(&path, act))
    };
    let is_tool = || TOOLS.contains(act.name) && TOOLS.split_whitespace().any(wipes);
    (act.name.starts_with("mkfs") || is_tool()) && !lists() && !on_file()
}

/// Whether a path is in the project or in a folder for temporary files.
fn is_ours(path: &Utf8Path, act: &Act) -> bool {
    path.starts_with(&act.facts.root) || paths::is_temporary(path, act.facts)
}

fn overwrites_system(act: &Act) -> bool {
    act.touched.iter().any(|word| match act.place(word) {
        // Nothing can be redirected into a folder.
        Place::At(path) if path == "/" => act.facts.root != "/" && act.command.redirects.is_empty(),
        Place::At(path) => is_system(&path, act),
        Place::In { folder, .. } => is_system(&folder, act),
        Place::Unknown => false,
    })
}

fn is_system(path: &Utf8Path, act: &Act) -> bool {
    let first = path.components().nth(1).map(|part| part.as_str());
    first.is_some_and(|first| SYSTEM.split(' ').any(|folder| folder == first))
        && !HARMLESS.split_whitespace().any(|device| path.starts_with(device))
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

/// `sha256sum -c`, `gpg --verify`: what was fetched is what somebody has looked at before.
pub(super) fn verifies(command: &Command) -> bool {
    let is_sum = command.name().is_some_and(|name| name.ends_with("sum") || name == "gpg");
    is_sum && has_option(command.args.iter().map(Word::text), "-c --check --verify")
}

/// What to do instead of running text that was fetched or decoded on the same line.
pub(super) fn instead_of_running_unread(act: &Act) -> Option<String> {
    let is_one = act.command.runs_fetched() && !act.line_verifies;
    is_one.then(|| "download it to a file, read the file, then run it".to_owned())
}
