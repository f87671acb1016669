//! `git-history`: everything that rewrites or removes commits.

use super::act::Act;
use super::git::GitCall;

/// Whether the command rewrites or removes commits.
pub(super) fn forbids(act: &Act) -> bool {
    if act.name() == "bfg" {
        return true;
    }
    let Some(git) = &act.git else { return false };
    if git.asks_for_help() || act.is_elsewhere() {
        return false;
    }
    match git.name() {
        "rebase" => {
            act.switch("rebase") && !git.has(&["--abort", "--quit", "--show-current-patch"])
        }
        "filter-branch" | "filter-repo" | "prune" => true,
        "commit" => amends(git) && !act.facts.head_is_newer && act.switch("amend"),
        "reflog" => matches!(git.action(), "expire" | "delete"),
        "branch" => branch(git),
        "gc" => git.texts().any(|arg| arg.starts_with("--prune") && arg != "--prune=never"),
        "update-ref" => {
            git.has(&["--delete", "-d"]) || git.texts().any(|arg| arg.starts_with("refs/ralph"))
        }
        "symbolic-ref" => git.has(&["--delete", "-d"]),
        "tag" => git.has(&["--delete", "-d"]) && act.switch("tag-delete"),
        "replace" => !git.has(&["--list", "-l"]) && !git.operands().is_empty(),
        _ => false,
    }
}

fn amends(git: &GitCall) -> bool {
    git.texts()
        .take_while(|arg| *arg != "--")
        .any(|arg| arg == "--amend" || (arg.len() > 3 && "--amend".starts_with(arg)))
}

/// `-D`, `-d --force` and `-f`; deleting what is merged is fine, and so is `-M` on a new project.
fn branch(git: &GitCall) -> bool {
    let forced = git.has(&["--force", "-f"]);
    let deletes = git.has(&["-D"]);
    let only_remote = git.has(&["--remotes", "-r"]);
    deletes && !only_remote || forced
}
