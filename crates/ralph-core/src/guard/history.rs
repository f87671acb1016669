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
        "gc" => {
            let configured = git.config.iter().any(|(key, value)| {
                key.eq_ignore_ascii_case("gc.pruneExpire") && *value != "never"
            });
            configured
                || git.texts().any(|arg| arg.starts_with("--prune") && arg != "--prune=never")
        }
        "update-ref" => update_ref(git),
        "checkout" => git.has(&["-B"]) && git.operands().len() > 1,
        "switch" => git.has(&["-C", "--force-create"]) && git.operands().len() > 1,
        "fetch" => git.operands().iter().skip(1).any(|refspec| moves_branch(refspec)),
        "symbolic-ref" => git.has(&["--delete", "-d"]),
        "tag" => git.has(&["--delete", "-d", "--force", "-f"]) && act.switch("tag-delete"),
        "replace" => !git.has(&["--list", "-l"]) && !git.operands().is_empty(),
        _ => false,
    }
}

fn amends(git: &GitCall) -> bool {
    git.texts_without_values()
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

/// Deletes, lists of changes that nobody can read here, the loop's own refs, and branches that are
/// moved elsewhere than to where the work is now.
fn update_ref(git: &GitCall) -> bool {
    let branch = |name: &str| name == "HEAD" || name.starts_with("refs/heads/");
    let moves = match git.operands().as_slice() {
        [name, target, ..] => branch(name) && *target != "HEAD",
        _ => false,
    };
    moves
        || git.has(&["--delete", "-d", "--stdin"])
        || git.texts().any(|arg| arg.starts_with("refs/ralph"))
}

/// Whether a refspec such as `main:main` moves a local branch; a pull request gets a new one.
fn moves_branch(refspec: &str) -> bool {
    let Some((source, target)) = refspec.split_once(':') else { return false };
    let local = target.starts_with("refs/heads/") || !target.starts_with("refs/");
    let request = ["pull/", "refs/pull/", "merge-requests/", "refs/merge-requests/"]
        .iter()
        .any(|start| source.starts_with(start));
    local && !target.is_empty() && !request
}
