//! `disk`, `fork-bomb` and `opaque-script`: what endangers the machine as a whole.

use super::act::Act;
use super::paths::{self, Place};
use super::writes;
use crate::shell::{Command, Reach, UNKNOWN};

/// Folders that belong to the system.
const SYSTEM: [&str; 14] = [
    "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/sys", "/proc", "/dev", "/var",
    "/opt", "/System", "/Library",
];
/// Devices that anybody may write to.
const HARMLESS: [&str; 9] = [
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

/// Whether the command overwrites a device or a system file.
pub(super) fn wrecks_disk(act: &Act) -> bool {
    if act.is_elsewhere() {
        return false;
    }
    let name = act.name();
    let tool = name.starts_with("mkfs")
        || matches!(
            name,
            "wipefs"
                | "blkdiscard"
                | "mkswap"
                | "sgdisk"
                | "fdisk"
                | "sfdisk"
                | "parted"
                | "mke2fs"
        )
        || (name == "cryptsetup"
            && act.args().any(|arg| arg.starts_with("luksFormat") || arg == "erase"))
        || (name == "diskutil"
            && act.args().any(|arg| arg.starts_with("erase") || arg.starts_with("partition")))
        || (name == "hdparm" && act.args().any(|arg| arg.starts_with("--security-erase")));
    let lists =
        || act.has(&["-l", "--list", "--help", "--version"]) || act.args().next() == Some("list");
    let on_file = || {
        let last = act.operands().last().copied();
        last.is_some_and(|word| {
            matches!(act.place(word), Place::At(path)
                if paths::in_project(&path, act.facts).is_some() || paths::is_temporary(&path, act.facts))
        })
    };
    (tool && !lists() && !on_file()) || overwrites_system(act) || opens_everything(act)
}

fn overwrites_system(act: &Act) -> bool {
    writes::created(act.command).iter().any(|word| match act.place(word) {
        Place::At(path) | Place::In { folder: path, .. } => is_system(&path, act),
        Place::Unknown => false,
    })
}

fn is_system(path: &str, act: &Act) -> bool {
    SYSTEM.iter().any(|folder| paths::is_in(path, folder))
        && !HARMLESS.iter().any(|device| paths::is_in(path, device))
        && !paths::is_temporary(path, act.facts)
        && !path.starts_with("/var/folders")
        && paths::in_project(path, act.facts).is_none()
}

/// `chmod -R 777 /`, `chown -R root ~`: recursive changes outside the project.
fn opens_everything(act: &Act) -> bool {
    let changes = matches!(act.name(), "chmod" | "chown" | "chgrp" | "setfacl");
    if !changes || !act.has(&["-R", "--recursive"]) {
        return false;
    }
    act.operands().iter().skip(1).any(|word| match act.place(word) {
        Place::At(path) | Place::In { folder: path, .. } => {
            let inside = paths::in_project(&path, act.facts).is_some() || path.is_empty();
            !inside && !paths::is_temporary(&path, act.facts)
        }
        Place::Unknown => false,
    })
}

/// Whether a function starts itself in the background.
pub(super) fn forks_forever(act: &Act) -> bool {
    let reached = &act.command.reached;
    let own =
        reached.iter().any(|step| matches!(step, Reach::Function(name) if name == act.name()));
    own && reached.contains(&Reach::Background)
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

/// Whether a shell runs text that was fetched or decoded on the same line.
pub(super) fn runs_unread_text(act: &Act) -> bool {
    if !act.command.hidden || !act.line_fetches || !act.switch("opaque-scripts") {
        return false;
    }
    let piped = act.command.reached.iter().any(|step| matches!(step, Reach::Pipe { .. }));
    piped || act.command.args.iter().any(|arg| arg.text().contains(UNKNOWN))
}
