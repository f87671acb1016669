//! `rm-outside` and `ralph-state`: what is deleted, and what is written where it must not be.

use super::act::Act;
use super::check::Facts;
use super::git::GitCall;
use super::paths::{self, Place};
use super::protected::{Owner, globs, owner};
use super::writes;
use crate::shell::{Command, Reach, Word};
use ralph_base::state::{CLIENT_FOLDER, PROJECT_MARKER};

/// Whether a recursive delete reaches the project itself, its history or anything outside.
pub(super) fn deletes_outside(act: &Act) -> bool {
    if act.is_elsewhere() {
        return false;
    }
    match act.name() {
        "rm" | "grm" | "unlink" if act.is_given_everything => act.switch("find-delete-all"),
        "rm" | "grm" => {
            act.has(&["-r", "-R", "--recursive"])
                && act.operands().iter().any(|word| forbidden(word, act))
        }
        "shred" | "srm" | "rimraf" | "trash" | "trash-put" => {
            act.operands().iter().any(|word| forbidden(word, act))
        }
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
        Place::In { folder, pattern } => {
            if paths::in_project(&folder, act.facts) == Some("") {
                let vital = [PROJECT_MARKER, ".git"].iter().any(|own| paths::fits(&pattern, own));
                vital || (paths::is_everything(&pattern) && act.switch("rm-everything"))
            } else {
                let spared = may_delete(&folder, act) || paths::is_temporary(&folder, act.facts);
                !spared || paths::reaches_project_or_home(&folder, &pattern, act.facts)
            }
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
        None => {
            paths::is_temporary(path, act.facts)
                && !is_temp_root(path, act)
                && !paths::holds_project_or_home(path, act.facts)
        }
    }
}

fn is_temp_root(path: &str, act: &Act) -> bool {
    let own = act.facts.temp.as_str().trim_end_matches('/');
    matches!(path, "/tmp" | "/var/tmp" | "/private/tmp") || (!own.is_empty() && path == own)
}

/// The tests by which `find` looks for something in particular.
const TESTS: [&str; 14] = [
    "name", "path", "regex", "newer", "mtime", "mmin", "atime", "amin", "ctime", "cmin", "size",
    "empty", "perm", "user",
];

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
    let starts = starting_points(act.command);
    let limited = is_limited(act.command);
    starts.iter().any(|start| match act.place(start) {
        Place::At(path) if paths::in_project(&path, act.facts) == Some("") => {
            !limited && act.switch("find-delete-all")
        }
        Place::At(path) if is_temp_root(&path, act) => {
            !limited || paths::holds_project_or_home(&path, act.facts)
        }
        _ => forbidden(start, act),
    })
}

/// Where `find` begins.
fn starting_points(command: &Command) -> Vec<Word> {
    let starts: Vec<Word> = command
        .args
        .iter()
        .skip_while(|arg| matches!(arg.text(), "-H" | "-L" | "-P"))
        .take_while(|arg| !arg.text().starts_with(['-', '(', '!']))
        .cloned()
        .collect();
    if starts.is_empty() { vec![Word::from(".")] } else { starts }
}

/// Whether `find` looks for something in particular; all but `.git` is still nearly all.
fn is_limited(command: &Command) -> bool {
    let mut before = "";
    command.args.iter().map(Word::text).any(|arg| {
        let negated = matches!(std::mem::replace(&mut before, arg), "!" | "-not");
        !negated
            && arg.strip_prefix('-').is_some_and(|test| {
                let test = test.trim_start_matches('i');
                TESTS.iter().any(|name| test.starts_with(name))
            })
    })
}

/// Whether a command prints the names of all files of the project, as `find .` and `git ls-files`
/// do.
pub(super) fn lists_everything(command: &Command, facts: &Facts) -> bool {
    let is_root = |word: &Word| {
        let place = paths::place(word, command.directory.as_ref(), facts);
        matches!(place, Place::At(path) if paths::in_project(&path, facts) == Some(""))
    };
    match command.name() {
        Some("find" | "gfind") => {
            !is_limited(command) && starting_points(command).iter().any(is_root)
        }
        Some("git") => {
            let args: Vec<&str> = command.args.iter().map(Word::text).collect();
            matches!(args.as_slice(), ["ls-files"] | ["ls-files", "-z"])
        }
        _ => false,
    }
}

/// `mv` that makes the project, its history or something outside disappear. What comes into the
/// project from outside is still there.
fn moves_away(act: &Act) -> bool {
    let Some((target, sources)) = writes::ends(act.command) else { return false };
    let target = act.place(&target);
    let into_nothing = matches!(&target, Place::At(path) if path == "/dev/null");
    let comes_in =
        matches!(&target, Place::At(path) if paths::in_project(path, act.facts).is_some());
    sources.iter().any(|source| match act.place(source) {
        Place::At(path) => {
            let inside = paths::in_project(&path, act.facts);
            let vital = matches!(inside, Some(inside) if inside.is_empty() || inside.split('/').next() == Some(".git"));
            let outside = inside.is_none() && !may_delete(&path, act);
            vital || into_nothing || (outside && !(comes_in && is_the_users(&path, act)))
        }
        _ => into_nothing,
    })
}

/// Whether a path outside of the project is a file or folder of the user's own, and neither the
/// home folder itself nor something that the system or the project needs.
fn is_the_users(path: &str, act: &Act) -> bool {
    let home = act.facts.home.as_str();
    let parent = act.facts.root.parent().map_or("", camino::Utf8Path::as_str);
    let owned = |folder: &str| folder.len() > 1 && paths::is_in(path, folder);
    (owned(home) || owned(parent)) && !paths::holds_project_or_home(path, act.facts)
}

/// Whether a command writes or removes a file that steers the loop, the client or git.
pub(super) fn touches_protected(act: &Act) -> bool {
    if act.is_elsewhere() {
        return false;
    }
    act.git.as_ref().is_some_and(moves_hooks)
        || writes::touched(act.command).iter().any(|word| match act.place(word) {
            Place::At(path) => is_protected(&path, act),
            Place::In { folder, pattern } => {
                is_protected(&folder, act) || fits_protected(&folder, &pattern, act)
            }
            Place::Unknown => false,
        })
}

/// `git config core.hooksPath x`, after which none of the repository's hooks runs.
fn moves_hooks(git: &GitCall) -> bool {
    let operands = git.operands();
    let operands = operands.strip_prefix(&["set"]).unwrap_or(&operands);
    let named = operands.iter().take(2).any(|key| key.eq_ignore_ascii_case("core.hooksPath"));
    git.sets_config() && named
}

/// Whether a pattern in the project's root, such as `.ral*/x`, stands for a protected file.
fn fits_protected(folder: &str, pattern: &str, act: &Act) -> bool {
    let behind = pattern.split_once('/').map_or("", |(_, behind)| behind);
    paths::in_project(folder, act.facts) == Some("")
        && [PROJECT_MARKER, CLIENT_FOLDER, ".git"].iter().any(|own| {
            let path = format!("{folder}/{own}/{behind}");
            paths::fits(pattern, own) && is_protected(path.trim_end_matches('/'), act)
        })
}

fn is_protected(path: &str, act: &Act) -> bool {
    if paths::is_own(path, act.facts) {
        return false;
    }
    let steers = |inside: &str| match owner(inside) {
        Owner::State | Owner::Settings => true,
        Owner::Git => is_gits_own(inside, act),
        Owner::Work => false,
    };
    let inside = paths::in_project(path, act.facts);
    let by_user = |inside| globs(&act.settings.protect).is_match(inside);
    inside.is_some_and(|inside| steers(inside) || by_user(inside))
        || act.facts.copy.as_ref().is_some_and(|copy| {
            let mut guarded = copy.guarded();
            guarded.any(|folder| paths::relative(path, folder.as_str()).is_some_and(steers))
        })
        || inside.is_none() && paths::in_home_settings(path, act.facts)
}

/// Whether a path in the git folder is git's alone; a few files there are for everybody.
fn is_gits_own(inside: &str, act: &Act) -> bool {
    match inside.strip_prefix(".git/").unwrap_or_default() {
        "info/exclude" | "COMMIT_EDITMSG" | "COMMIT_MSG" | "MERGE_MSG" => false,
        "index.lock" | "HEAD.lock" | "config.lock" => act.switch("git-lock"),
        _ => true,
    }
}
