//! `git-merge`: merging by git, by a forge's own tool, or by its web interface.

use super::act::Act;

/// Whether the command merges.
pub(super) fn merges(act: &Act) -> bool {
    if act.is_elsewhere() && !act.switch("remote-commands") {
        return false;
    }
    by_git(act) || by_other_tool(act) || by_web(act)
}

fn by_git(act: &Act) -> bool {
    let Some(git) = &act.git else { return false };
    if git.asks_for_help() {
        return false;
    }
    match git.name() {
        "merge" => !git.has(&["--abort", "--quit"]),
        "merge-recursive" | "merge-octopus" | "merge-resolve" | "merge-ours" | "merge-subtree" => {
            true
        }
        "pull" => act.switch("pull"),
        "subtree" => matches!(git.action(), "merge" | "pull"),
        "cherry-pick" => act.switch("cherry-pick") && !git.has(&["--abort", "--quit"]),
        "pr" => git.action() == "merge",
        _ => false,
    }
}

/// Other programs that merge: their name, and the words that must come first.
const TOOLS: &[(&str, &[&str])] = &[
    ("gh", &["pr", "merge"]),
    ("glab", &["mr", "merge"]),
    ("glab", &["mr", "accept"]),
    ("tea", &["pr", "merge"]),
    ("tea", &["pulls", "merge"]),
    ("tea", &["pulls", "m"]),
    ("lab", &["mr", "merge"]),
    ("bb", &["pr", "merge"]),
    ("ralph", &["stream", "merge"]),
    ("ralph-loop", &["stream", "merge"]),
    ("sl", &["merge"]),
    ("hg", &["merge"]),
    ("gt", &["merge"]),
    ("svn", &["merge"]),
    ("git-town", &["ship"]),
];

fn by_other_tool(act: &Act) -> bool {
    let name = act.name();
    if name != "az" && !TOOLS.iter().any(|(tool, _)| *tool == name) {
        return false;
    }
    let operands: Vec<&str> = skip_values(act).collect();
    let listed =
        TOOLS.iter().any(|(name, words)| act.name() == *name && operands.starts_with(words));
    let completes = act.name() == "az"
        && operands.starts_with(&["repos", "pr", "update"])
        && (act.args().any(|arg| arg == "completed")
            || act.args().any(|arg| arg == "--auto-complete"));
    (listed || completes) && !act.args().any(|arg| arg == "--help" || arg == "-h")
}

/// The operands of a forge's tool, without the repository that `-R` names.
fn skip_values<'a>(act: &Act<'a>) -> impl Iterator<Item = &'a str> {
    let mut skip = false;
    act.args().filter(move |arg| {
        let value = std::mem::replace(&mut skip, matches!(*arg, "-R" | "--repo" | "--cwd" | "-C"));
        !value && !arg.starts_with('-')
    })
}

/// `gh api -X PUT repos/o/r/pulls/1/merge`, the same with `curl`, and `mergePullRequest`.
fn by_web(act: &Act) -> bool {
    let api = matches!(act.name(), "gh" | "glab") && skip_values(act).next() == Some("api");
    let fetches = matches!(act.name(), "curl" | "wget" | "http" | "https" | "xh" | "httpie");
    if !api && !fetches {
        return false;
    }
    let mutation = act.args().any(|arg| {
        ["mergePullRequest", "enablePullRequestAutoMerge", "mergeBranch", "mergeRequestAccept"]
            .iter()
            .any(|name| arg.contains(name))
    });
    let changes = act.args().any(|arg| {
        let method = arg
            .trim_start_matches("-X")
            .trim_start_matches("--method=")
            .trim_start_matches("--request=");
        matches!(method, "PUT" | "POST" | "PATCH")
    });
    let address = act.args().any(|arg| {
        let path = arg.split(['?', '#']).next().unwrap_or(arg).trim_end_matches('/');
        let forge = api || path.contains("api.") || path.contains("/api/");
        forge
            && (path.ends_with("/merge")
                || path.ends_with("/merges")
                || path.ends_with("/merge-upstream"))
    });
    let sends = act.has(&["--field", "--raw-field", "--data", "--input"])
        || act.args().any(|arg| matches!(arg, "-f" | "-F" | "-d"));
    mutation || (address && (changes || sends))
}
