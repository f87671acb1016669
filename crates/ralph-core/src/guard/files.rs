//! `rm-outside` and `ralph-state`: deleting, and writing to protected files.

use camino::Utf8Path;

use super::act::Act;
use super::facts::Facts;
use super::git::GitCall;
use super::paths::{self, Location};
use super::protected::{Owner, owner, owner_inside};
use super::writes;
use ralph_base::state::{CLIENT_FOLDER, PROJECT_MARKER};
use shell_reader::{Command, Word};

/// Returns what to do instead of a recursive delete that affects the project itself, its history or
/// anything outside.
pub(super) fn instead_of_deleting(act: &Act) -> Option<String> {
    let instead = match act.name {
        "mv" => "copy what you need, and leave the original where it is",
        "find" | "gfind" | "fd" | "fdfind" => {
            "search for the exact names of your own files, inside a folder that you made"
        }
        _ => "delete only what you made, by its exact path inside the project or the temp folder",
    };
    deletes_outside(act).then(|| instead.to_owned())
}

fn deletes_outside(act: &Act) -> bool {
    match act.name {
        "rm" | "grm" | "unlink" if act.is_given_everything => true,
        "rm" | "grm" => {
            act.has("-r -R --recursive") && act.operands().iter().any(|word| forbidden(word, act))
        }
        "gio" if act.leading_words().first() != Some(&"trash") => false,
        name if name == "gio" || writes::is_deleter(name) => {
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

/// Returns whether the agent must not delete a path with everything in it.
fn forbidden(word: &Word, act: &Act) -> bool {
    if word.text().is_empty() {
        return false;
    }
    match act.place(word) {
        Location::At(path) => !may_delete(&path, act),
        Location::In { folder, .. } if folder == "" => false,
        Location::In { folder, pattern } => {
            if folder == act.facts.root {
                let vital = [PROJECT_MARKER, ".git"].iter().any(|own| paths::fits(&pattern, own));
                vital || paths::is_everything(&pattern)
            } else {
                let spared = may_delete(&folder, act) || paths::is_temporary(&folder, act.facts);
                !spared || paths::reaches_project_or_home(&folder, &pattern, act.facts)
            }
        }
        Location::Unknown => true,
    }
}

/// Returns whether everything at `path` may be deleted: inside the project or the temp folder, but
/// not the folder itself, nor git's or the loop's files.
fn may_delete(path: &Utf8Path, act: &Act) -> bool {
    match act.facts.inside(path) {
        // The history of a nested clone is not the project's history.
        Some(inside) => inside.components().next().is_some_and(|first| {
            let owner = owner_inside(first.as_str().into());
            let is_free = owner == Owner::Git && is_lock(inside.as_str());
            is_free || !matches!(owner, Owner::State | Owner::Git)
        }),
        None => {
            paths::is_temporary(path, act.facts)
                && !is_temp_root(path, act)
                && !paths::holds_project_or_home(path, act.facts)
        }
    }
}

fn is_temp_root(path: &Utf8Path, act: &Act) -> bool {
    paths::temp_folders(act.facts).any(|folder| folder == path)
}

/// The tests that restrict what `find` finds.
const TESTS: [&str; 14] = [
    "name", "path", "regex", "newer", "mtime", "mmin", "atime", "amin", "ctime", "cmin", "size",
    "empty", "perm", "user",
];

/// Returns whether `find` deletes too much: depends on its starting points and exclusions.
fn find_deletes(act: &Act) -> bool {
    let removes = act.args().collect::<Vec<_>>().windows(2).any(|pair| {
        matches!(pair, ["-exec" | "-execdir", "rm"]) || pair.last() == Some(&"-delete")
    });
    if !removes {
        return false;
    }
    let leaves_out = act.args().any(|arg| matches!(arg, "-prune" | "-not" | "!"));
    let only_locks = !leaves_out && act.args().any(is_lock);
    let is_vital = |arg: &str| matches!(owner_inside(arg.into()), Owner::State | Owner::Git);
    if act.args().any(is_vital) && !leaves_out && !only_locks {
        return true;
    }
    let starts = starting_points(act.command);
    let limited = is_limited(act.command);
    starts.iter().any(|start| match act.place(start) {
        Location::At(path) if path == act.facts.root => !limited,
        Location::At(path) if path.starts_with(act.facts.root.join(".git")) => !only_locks,
        Location::At(path) if is_temp_root(&path, act) => {
            !limited || paths::holds_project_or_home(&path, act.facts)
        }
        _ => forbidden(start, act),
    })
}

/// Returns the starting points of `find`.
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

/// Returns whether `find` is restricted by a test; a negated one still leaves nearly everything.
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

/// Returns whether a command prints the names of all files in the project, as `find .` and
/// `git ls-files` do.
pub(super) fn lists_everything(command: &Command, facts: &Facts) -> bool {
    let is_root = |word: &Word| {
        let place = paths::place(word, command.directory.as_ref(), facts);
        matches!(place, Location::At(path) if path == facts.root)
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

/// Returns whether `mv` makes the project, its history or something outside disappear. Files moved
/// into the project from outside still exist.
fn moves_away(act: &Act) -> bool {
    let Some((target, sources)) = writes::ends(act.command) else { return false };
    let target = act.place(&target);
    let into_nothing = matches!(&target, Location::At(path) if path == "/dev/null");
    let comes_in = matches!(&target, Location::At(path) if path.starts_with(&act.facts.root));
    into_nothing
        || sources.iter().any(|source| match act.place(source) {
            Location::At(path) => match act.facts.inside(&path) {
                Some(inside) => inside == "" || inside.starts_with(".git"),
                None => !(may_delete(&path, act) || comes_in && is_the_users(&path, act)),
            },
            _ => false,
        })
}

/// Returns whether a path outside of the project is the user's own, and neither the home folder
/// itself nor something that the system or the project needs.
fn is_the_users(path: &Utf8Path, act: &Act) -> bool {
    let owned = |folder: &Utf8Path| folder.as_str().len() > 1 && path.starts_with(folder);
    (owned(&act.facts.home) || act.facts.root.parent().is_some_and(owned))
        && !paths::holds_project_or_home(path, act.facts)
}

/// Returns what to do instead of a command that writes or removes a file that controls the loop,
/// the client or git.
pub(super) fn instead_of_touching(act: &Act) -> Option<String> {
    if act.git.as_ref().is_some_and(moves_hooks) {
        return Some("leave git's hooks in force, and fix what they complain about".to_owned());
    }
    let mut owners = act.touched.iter().flat_map(|word| {
        let (folder, pattern) = match act.place(word) {
            Location::At(path) => (path, String::new()),
            Location::In { folder, pattern } => (folder, pattern),
            Location::Unknown => return Vec::new(),
        };
        let mut owners = fitting_owners(&folder, &pattern, act);
        let path = if is_lock(&pattern) { folder.join(&pattern) } else { folder };
        owners.push(steering(&path, act));
        owners
    });
    let instead = match owners.find(|owner| *owner != Owner::Work)? {
        Owner::State => "report through `ralph-loop complete`; the loop keeps its own state",
        Owner::Settings => "ask the user to change settings",
        Owner::Git => "change the repository with git's own commands",
        Owner::User | Owner::Work => "leave it as it is; the user protects it",
    };
    Some(instead.to_owned())
}

/// Returns whether the call disables the repository's hooks: `git config core.hooksPath x`.
fn moves_hooks(git: &GitCall) -> bool {
    let operands = git.operands();
    let operands = operands.strip_prefix(&["set"]).unwrap_or(&operands);
    let named = operands.iter().take(2).any(|key| key.eq_ignore_ascii_case("core.hooksPath"));
    git.sets_config() && named
}

/// Returns the owners of the matches of a pattern in the project's root, such as `.ral*/x`.
fn fitting_owners(folder: &Utf8Path, pattern: &str, act: &Act) -> Vec<Owner> {
    if folder != act.facts.root || pattern.is_empty() {
        return Vec::new();
    }
    let behind = pattern.split_once('/').map_or("", |(_, behind)| behind);
    let own = [PROJECT_MARKER, CLIENT_FOLDER, ".git"].into_iter();
    let own = own.filter(|own| paths::fits(pattern, own));
    own.map(|own| steering(&folder.join(own).join(behind), act)).collect()
}

/// Returns whether a file is one of git's lock files.
fn is_lock(path: &str) -> bool {
    path.ends_with(".lock") || path.ends_with("gc.pid")
}

/// Returns the owner of a path, for commands: a few files in the git folder are free to write.
fn steering(path: &Utf8Path, act: &Act) -> Owner {
    let owner = owner(path, act.facts, act.settings);
    let in_git = path.as_str().split_once("/.git/").map_or("", |(_, inside)| inside);
    let is_for_all = match in_git {
        "info/exclude" | "COMMIT_EDITMSG" | "COMMIT_MSG" | "MERGE_MSG" => true,
        inside => is_lock(inside),
    };
    if owner == Owner::Git && is_for_all { Owner::Work } else { owner }
}
