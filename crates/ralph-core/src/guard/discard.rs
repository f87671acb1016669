//! `git-discard`: everything by which git throws away uncommitted work.

use super::act::Act;
use super::git::GitCall;

/// Whether the command throws away uncommitted work.
pub(super) fn forbids(act: &Act) -> bool {
    let reverses = act.line_diffs && act.has(&["-R", "--reverse"]);
    let Some(git) = &act.git else {
        return reverses && act.name() == "patch" && !act.is_elsewhere();
    };
    if git.asks_for_help() || act.is_elsewhere() {
        return false;
    }
    match git.name() {
        "reset" => {
            git.has(&["--hard", "--merge"]) || (git.has(&["--keep"]) && act.switch("reset-keep"))
        }
        "checkout" => checkout(git),
        "restore" => {
            let staged = git.has(&["--staged", "-S"]);
            !staged || git.has(&["--worktree", "-W"])
        }
        "switch" => git.has(&["--discard-changes", "--force", "-f"]),
        "clean" => {
            let harmless = git.has(&["--dry-run", "-n", "-i", "--interactive"]);
            let unforced = git.config.iter().any(|(key, value)| {
                key.eq_ignore_ascii_case("clean.requireForce")
                    && matches!(*value, "false" | "0" | "no")
            });
            !harmless && (unforced || git.has(&["--force", "-f"]))
        }
        "stash" => match git.action() {
            "drop" | "clear" => true,
            "pop" => act.switch("stash-pop"),
            _ => false,
        },
        "worktree" => git.action() == "remove" && git.has(&["--force", "-f"]),
        "submodule" => match git.action() {
            "deinit" => git.has(&["--force", "-f", "--all"]),
            "update" => git.has(&["--force", "-f"]),
            _ => false,
        },
        "rm" => {
            let all = git.operands().iter().any(|path| matches!(*path, "." | "./" | "*" | ":/"));
            let forced = all || git.has(&["--force", "-f"]);
            forced
                && git.has(&["-r"])
                && !git.has(&["--cached", "--dry-run", "-n"])
                && act.switch("git-rm")
        }
        "apply" => reverses,
        "checkout-index" => git.has(&["--force", "-f"]),
        "read-tree" => git.has(&["--reset"]) || (git.has(&["-u"]) && git.has(&["-m"])),
        _ => false,
    }
}

/// `git checkout` switches branches or overwrites files; only the latter is forbidden.
fn checkout(git: &GitCall) -> bool {
    if git.has(&["--force", "-f", "--ours", "--theirs", "--patch", "-p", "--pathspec-from-file"]) {
        return true;
    }
    let mut behind = git.texts().skip_while(|arg| *arg != "--").skip(1);
    if behind.next().is_some() {
        return true;
    }
    // With a new branch, the second operand is where it starts.
    if git.has(&["-b", "-B", "--orphan", "--track", "-t", "--detach", "-d"]) {
        return false;
    }
    let operands = git.operands();
    match operands.as_slice() {
        [only] => looks_like_file(only),
        [_, ..] => true,
        [] => false,
    }
}

/// A branch is called `fix/login`, a file `src/login.rs`.
fn looks_like_file(operand: &str) -> bool {
    if matches!(operand, "." | ".." | "./" | ":/" | "*" | ":")
        || operand.starts_with("./")
        || operand.ends_with('/')
    {
        return true;
    }
    if operand.starts_with(":(") || operand.starts_with(":!") || operand.contains('*') {
        return true;
    }
    let name = operand.rsplit('/').next().unwrap_or(operand);
    match name.rsplit_once('.') {
        Some((stem, extension)) => {
            (2..=5).contains(&extension.len())
                && extension.chars().all(|letter| letter.is_ascii_lowercase())
                && !stem.ends_with(|last: char| last.is_ascii_digit())
        }
        None => false,
    }
}
