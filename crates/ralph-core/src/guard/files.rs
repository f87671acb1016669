//! `rm-outside` and `ralph-state`: what is deleted, and what is written where it must not be.

use super::act::Act;
use super::paths::{self, Place};
use super::protected::{Owner, globs, owner};
use super::writes;
use crate::shell::{Reach, Word};

/// Whether a recursive delete reaches the project itself, its history or anything outside.
pub(super) fn deletes_outside(act: &Act) -> bool {
    if act.is_elsewhere() {
        return false;
    }
    match act.name() {
        "rm" | "grm" => {
            act.has(&["-r", "-R", "--recursive"])
                && act.operands().iter().any(|word| forbidden(word, act))
        }
        "shred" | "srm" => act.operands().iter().any(|word| forbidden(word, act)),
        "find" | "gfind" | "fd" | "fdfind" => find_deletes(act),
        "rsync" => {
            let deletes =
                act.args().any(|arg| arg.starts_with("--delete") || arg == "--remove-source-files");
            deletes && act.operands().last().is_some_and(|word| forbidden(word, act))
        }
        "mv" => moves_away(act),
        _ => false,
    }
}

/// Whether a path is none that the agent may delete with all that is in it.
fn forbidden(word: &Word, act: &Act) -> bool {
    if word.text().is_empty() {
        return false;
    }
    match act.place(word) {
        Place::At(path) => !may_delete(&path, act),
        Place::In { folder, .. } if folder.is_empty() => false,
        Place::In { folder, all: true } => {
            let root = paths::in_project(&folder, act.facts) == Some("");
            if root {
                act.switch("rm-everything")
            } else {
                !may_delete(&folder, act) && !is_temp_root(&folder, act)
            }
        }
        Place::In { folder, all: false } => {
            let root = paths::in_project(&folder, act.facts) == Some("");
            !root && !may_delete(&folder, act) && !is_temp_root(&folder, act)
        }
        Place::Unknown => {
            let listed = act.command.reached.iter().any(|step| matches!(step, Reach::Template(_)));
            listed || act.switch("rm-unknown-path")
        }
    }
}

/// Whether everything at `path` may go: inside the project or the temp folder, but not the folder
/// itself, nor git's and the loop's own.
pub(super) fn may_delete(path: &str, act: &Act) -> bool {
    match paths::in_project(path, act.facts) {
        Some("") => false,
        Some(inside) => {
            // A clone's own history inside the project is not the project's.
            !matches!(
                owner(inside.split('/').next().unwrap_or_default()),
                Owner::State | Owner::Git
            )
        }
        None => paths::is_temporary(path, act.facts) && !is_temp_root(path, act),
    }
}

fn is_temp_root(path: &str, act: &Act) -> bool {
    let own = act.facts.temp.as_str().trim_end_matches('/');
    matches!(path, "/tmp" | "/var/tmp" | "/private/tmp") || (!own.is_empty() && path == own)
}

/// `find` with `-delete`: from where, and is anything left out?
fn find_deletes(act: &Act) -> bool {
    let removes = act.args().collect::<Vec<_>>().windows(2).any(|pair| {
        matches!(pair, ["-exec" | "-execdir", "rm"]) || pair.last() == Some(&"-delete")
    });
    if !removes {
        return false;
    }
    let vital = act.args().any(|arg| matches!(owner(arg), Owner::State | Owner::Git));
    if vital && !act.args().any(|arg| matches!(arg, "-prune" | "-not" | "!")) {
        return true;
    }
    let starts: Vec<&Word> = act
        .command
        .args
        .iter()
        .skip_while(|arg| matches!(arg.text(), "-H" | "-L" | "-P"))
        .take_while(|arg| !arg.text().starts_with(['-', '(', '!']))
        .collect();
    let here = Word::from(".");
    let starts = if starts.is_empty() { vec![&here] } else { starts };
    let tests = act.args().any(|arg| {
        [
            "name", "path", "regex", "newer", "mtime", "mmin", "atime", "amin", "ctime", "cmin",
            "size", "empty", "type", "perm", "user",
        ]
        .iter()
        .any(|test| {
            arg.trim_start_matches('-').trim_start_matches('i').starts_with(test)
                && arg.starts_with('-')
        })
    });
    starts.iter().any(|start| match act.place(start) {
        Place::At(path) if paths::in_project(&path, act.facts) == Some("") => {
            !tests && act.switch("find-delete-all")
        }
        _ => forbidden(start, act),
    })
}

/// `mv` that makes the project, its history or something outside disappear.
fn moves_away(act: &Act) -> bool {
    let operands = act.operands();
    let Some((target, sources)) = operands.split_last() else { return false };
    let into_nothing = matches!(act.place(target), Place::At(path) if path == "/dev/null");
    sources.iter().any(|source| match act.place(source) {
        Place::At(path) => {
            let inside = paths::in_project(&path, act.facts);
            let vital = matches!(inside, Some(inside) if inside.is_empty() || inside.split('/').next() == Some(".git"));
            vital || into_nothing || paths::is_in(act.facts.root.as_str(), &path) || paths::is_in(act.facts.home.as_str(), &path)
        }
        _ => into_nothing,
    })
}

/// Whether a command writes or removes a file that steers the loop, the client or git.
pub(super) fn touches_protected(act: &Act) -> bool {
    if act.is_elsewhere() {
        return false;
    }
    let removed = writes::removed(act.command);
    writes::created(act.command).iter().chain(&removed).any(|word| match act.place(word) {
        Place::At(path) => is_protected(&path, act),
        Place::In { folder, .. } => is_protected(&folder, act),
        Place::Unknown => false,
    })
}

fn is_protected(path: &str, act: &Act) -> bool {
    let Some(inside) = paths::in_project(path, act.facts) else {
        return paths::in_home_settings(path, act.facts);
    };
    if act.facts.plan_files.iter().any(|plan| plan == path || plan == inside) {
        return false;
    }
    let built_in = match owner(inside) {
        Owner::State | Owner::Settings => true,
        Owner::Git => is_gits_own(inside, act),
        Owner::Work => false,
    };
    built_in || globs(&act.settings.protect).is_match(inside)
}

/// Whether a path in the git folder is git's alone; a few files there are for everybody.
fn is_gits_own(inside: &str, act: &Act) -> bool {
    match inside.strip_prefix(".git/").unwrap_or_default() {
        "info/exclude" | "COMMIT_EDITMSG" | "COMMIT_MSG" | "MERGE_MSG" => false,
        "index.lock" | "HEAD.lock" | "config.lock" => act.switch("git-lock"),
        _ => true,
    }
}
