//! `git-push`: everything that sends commits to another repository.

use super::act::Act;
use crate::shell::UNKNOWN;

/// Whether the command publishes commits.
pub(super) fn forbids(act: &Act) -> bool {
    if act.is_elsewhere() && !act.switch("remote-commands") {
        return false;
    }
    by_git(act) || by_other_tool(act)
}

fn by_git(act: &Act) -> bool {
    let Some(git) = &act.git else { return false };
    if git.asks_for_help() {
        return false;
    }
    let unknown = git.subcommand.is_some_and(|word| word.text().starts_with(UNKNOWN));
    if unknown && act.name() == "git" {
        return act.switch("unknown-git-command");
    }
    match git.name() {
        "push" => !git.has(&["--dry-run", "-n"]) || act.switch("push-dry-run"),
        "send-pack" | "http-push" => true,
        "subtree" => git.action() == "push",
        "lfs" => git.action() == "push",
        "svn" => matches!(git.action(), "dcommit" | "commit-diff" | "set-tree"),
        "p4" => git.action() == "submit",
        "town" => matches!(git.action(), "ship" | "sync" | "propose"),
        "review" | "cvsexportcommit" | "mr-push" => true,
        "annex" => matches!(git.action(), "sync" | "push" | "assist"),
        "sync" => act.name() == "hub",
        _ => false,
    }
}

/// Other programs that push: their name, and the words that must come first.
const TOOLS: &[(&str, &[&str])] = &[
    ("jj", &["git", "push"]),
    ("sl", &["push"]),
    ("hg", &["push"]),
    ("gt", &["submit"]),
    ("gt", &["stack", "submit"]),
    ("gt", &["ss"]),
    ("git-town", &["ship"]),
    ("git-town", &["sync"]),
    ("repo", &["upload"]),
    ("arc", &["land"]),
    ("dulwich", &["push"]),
    ("lab", &["push"]),
    ("svn", &["commit"]),
    ("svn", &["ci"]),
];

fn by_other_tool(act: &Act) -> bool {
    let name = act.name();
    if name != "gh" && !TOOLS.iter().any(|(tool, _)| *tool == name) {
        return false;
    }
    let operands: Vec<&str> = act.operands().iter().map(|word| word.text()).collect();
    let help = act.args().any(|arg| arg == "--help" || arg == "-h");
    let listed =
        TOOLS.iter().any(|(name, words)| act.name() == *name && operands.starts_with(words));
    let forge = act.name() == "gh"
        && match operands.as_slice() {
            ["repo", "sync", ..] => act.switch("repo-sync"),
            ["repo", "create", ..] => act.args().any(|arg| arg == "--push"),
            _ => false,
        };
    (listed || forge) && !help
}
