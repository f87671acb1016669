//! `git-push`, `git-merge`, `git-discard` and `git-history`: what git, its relatives and the tools of
//! forges must not do, and what to do instead, as tables; what no row can say is below them.

use super::act::Act;
use super::git::GitCall;
use super::table::{Row, listed};
use shell_reader::UNKNOWN;

const PUBLISH: &str =
    "commit your work and leave publishing to the user: `ralph-loop request-merge --summary \"…\"`";
const MERGE: &str = "leave merging to the user: `ralph-loop request-merge --summary \"…\"`";
const REQUEST: &str = "leave the request open for the user to merge, and say that it is ready: \
                       `ralph-loop request-merge --summary \"…\"`";
const PULL: &str = "work on what is here; `git fetch` shows what others did, and to take it in is \
                    the user's decision";
const KEEP: &str = "keep the work: commit it, or undo your own change with an edit; the loop rolls \
                    back failed attempts by itself";
const STASH: &str = "leave the stash; `git stash apply` brings it back and keeps it";
const BY_NAME: &str = "remove only files that you made, each by its name";
const ON_TOP: &str = "add a new commit on top; ask the user with `ralph-loop request-merge` if \
                      history must change";
const BRANCH: &str = "leave the branch as it is, and make a new one under another name";
const TAG: &str = "leave the tag to the user; another name is free";
const GARBAGE: &str = "leave it; git removes by itself what nobody needs any more";

const PUSHES: &[Row] = &[
    ["git", "push", "", "--dry-run -n", "", PUBLISH],
    ["git", "push", "", "", "push-dry-run", PUBLISH],
    ["git", "send-pack|http-push|review|cvsexportcommit|mr-push", "", "", "", PUBLISH],
    ["git", "subtree|lfs push", "", "", "", PUBLISH],
    ["git", "svn|p4 dcommit|commit-diff|set-tree|submit", "", "", "", PUBLISH],
    ["git", "town ship|sync|propose", "", "", "", PUBLISH],
    ["git", "annex sync|push|assist", "", "", "", PUBLISH],
    ["hub", "sync", "", "", "", PUBLISH],
    ["gh", "repo sync", "", "", "repo-sync", PUBLISH],
    ["gh", "repo create", "--push", "", "", PUBLISH],
    ["jj", "git push", "", "", "", PUBLISH],
    ["sl|hg|dulwich|lab", "push", "", "", "", PUBLISH],
    ["gt", "submit|ss", "", "", "", PUBLISH],
    ["gt", "stack submit", "", "", "", PUBLISH],
    ["repo|arc", "upload|land", "", "", "", PUBLISH],
    ["svn", "commit|ci", "", "", "", "leave the change uncommitted, and report it when you finish"],
];

const BACKENDS: &str = "merge-recursive|merge-octopus|merge-resolve|merge-ours|merge-subtree";
const MERGES: &[Row] = &[
    ["git", "merge", "", "--abort --quit", "", MERGE],
    ["git", BACKENDS, "", "", "", MERGE],
    ["git", "pull", "", "", "pull", PULL],
    ["git", "subtree merge|pull", "", "", "", MERGE],
    ["git", "cherry-pick", "", "--abort --quit", "cherry-pick", MERGE],
    ["git|gh|bb", "pr merge", "", "", "", REQUEST],
    ["glab|lab", "mr merge|accept", "", "", "", REQUEST],
    ["tea", "pr|pulls merge|m", "", "", "", REQUEST],
    ["az", "repos pr update", "--auto-complete", "", "", REQUEST],
    ["ralph|ralph-loop", "stream merge", "", "", "", MERGE],
    ["sl|hg|gt", "merge", "", "", "", MERGE],
    ["svn", "merge", "", "", "", "make the change by hand, and leave the merge to the user"],
];

const DISCARDS: &[Row] = &[
    ["git", "reset", "--hard --merge", "", "", KEEP],
    ["git", "reset", "--keep", "", "reset-keep", KEEP],
    ["git", "restore", "", "--staged -S", "", KEEP],
    ["git", "restore", "--worktree -W", "", "", KEEP],
    ["git", "switch", "--discard-changes --force -f", "", "", KEEP],
    ["git", "clean", "--force -f", "--dry-run -n -i --interactive", "", BY_NAME],
    ["git", "stash drop|clear", "", "", "", STASH],
    ["git", "stash pop", "", "", "stash-pop", STASH],
    ["git", "worktree remove", "--force -f", "", "", KEEP],
    ["git", "submodule deinit", "--force -f --all", "", "", KEEP],
    ["git", "submodule update", "--force -f", "", "", KEEP],
    ["git", "checkout-index", "--force -f", "", "", KEEP],
    ["git", "read-tree", "--reset -u", "", "", KEEP],
];

const REWRITES: &[Row] = &[
    ["bfg", "", "", "", "", ON_TOP],
    ["git", "rebase", "", "--abort --quit --show-current-patch", "rebase", ON_TOP],
    ["git", "filter-branch|filter-repo", "", "", "", ON_TOP],
    ["git", "prune", "", "", "", GARBAGE],
    ["git", "commit", "--amend", "", "amend", "make a new commit instead of changing the last one"],
    ["git", "reflog expire|delete", "", "", "", GARBAGE],
    ["git", "branch", "-D", "--remotes -r", "", BRANCH],
    ["git", "branch", "--force -f", "", "", BRANCH],
    ["git", "symbolic-ref", "--delete -d", "", "", BRANCH],
    ["git", "tag", "--delete -d --force -f", "", "tag-delete", TAG],
];

/// What to do instead of publishing commits.
pub(super) fn instead_of_push(act: &Act) -> Option<String> {
    if act.is_elsewhere() && !act.switch("remote-commands") {
        return None;
    }
    let asked = act.git.as_ref().filter(|_| act.name == "git").and_then(|git| git.subcommand);
    let is_unknown = asked.is_some_and(|word| word.text().starts_with(UNKNOWN));
    if is_unknown && act.switch("unknown-git-command") {
        return Some("write out what git is to do".to_owned());
    }
    listed(PUSHES, act)
}

/// What to do instead of merging.
pub(super) fn instead_of_merge(act: &Act) -> Option<String> {
    if act.is_elsewhere() && !act.switch("remote-commands") {
        return None;
    }
    listed(MERGES, act).or_else(|| merges_by_web(act).then(|| REQUEST.to_owned()))
}

/// What to do instead of throwing away uncommitted work.
pub(super) fn instead_of_discard(act: &Act) -> Option<String> {
    if act.is_elsewhere() {
        return None;
    }
    let reverses = act.line_diffs && act.has("-R --reverse");
    listed(DISCARDS, act).or_else(|| {
        let is_one = match &act.git {
            Some(git) => match git.name() {
                "apply" => reverses,
                "checkout" => overwrites_files(git),
                "clean" => git.is_configured("clean.requireForce", &["false", "0", "no"]),
                "rm" => removes_much(git) && act.switch("git-rm"),
                _ => false,
            },
            None => reverses && act.name == "patch",
        };
        let is_help = act.git.as_ref().is_some_and(GitCall::asks_for_help);
        (is_one && !is_help).then(|| KEEP.to_owned())
    })
}

/// What to do instead of rewriting or removing commits.
pub(super) fn instead_of_rewrite(act: &Act) -> Option<String> {
    if act.is_elsewhere() {
        return None;
    }
    listed(REWRITES, act).or_else(|| {
        let git = act.git.as_ref().filter(|git| !git.asks_for_help())?;
        let operands = git.operands();
        let prunes = |arg: &str| arg.starts_with("--prune") && arg != "--prune=never";
        let (is_one, instead) = match git.name() {
            "gc" => {
                let at_once = git.is_configured("gc.pruneExpire", &["now", "all"]);
                (at_once || git.texts().any(prunes), GARBAGE)
            }
            "update-ref" => (updates_ref(git), BRANCH),
            "checkout" => (git.has("-B") && operands.len() > 1, BRANCH),
            "switch" => (git.has("-C --force-create") && operands.len() > 1, BRANCH),
            "fetch" => (operands.iter().skip(1).any(|refspec| moves_branch(refspec)), BRANCH),
            "replace" => (!git.has("--list -l") && !operands.is_empty(), ON_TOP),
            _ => return None,
        };
        is_one.then(|| instead.to_owned())
    })
}

/// `gh api -X PUT repos/o/r/pulls/1/merge`, the same with `curl`, and `mergePullRequest`.
fn merges_by_web(act: &Act) -> bool {
    const MUTATIONS: [&str; 4] =
        ["mergePullRequest", "enablePullRequestAutoMerge", "mergeBranch", "mergeRequestAccept"];
    let is_api = matches!(act.name, "gh" | "glab") && act.leading_words().first() == Some(&"api");
    let fetches = matches!(act.name, "curl" | "wget" | "http" | "https" | "xh" | "httpie");
    if !is_api && !fetches {
        return false;
    }
    let mutates = act.args().any(|arg| arg.contains("graphql"))
        && act.args().any(|arg| MUTATIONS.iter().any(|name| arg.contains(name)));
    let sends = act.has("--field --raw-field --data --input")
        || act.args().any(|arg| {
            let method = ["-X", "--method=", "--request="].iter();
            let method = method.fold(arg, |arg, option| arg.trim_start_matches(option));
            matches!(method, "PUT" | "POST" | "PATCH" | "-f" | "-F" | "-d")
        });
    let addressed = act.args().any(|arg| {
        let path = arg.split(['?', '#']).next().unwrap_or(arg).trim_end_matches('/');
        let mut parts = path.rsplit('/');
        let is_merge = match parts.next() {
            Some("merge") => matches!(
                parts.nth(1),
                Some("pulls" | "merge_requests" | "pullrequests" | "pull-requests")
            ),
            Some("merges" | "merge-upstream") => parts.any(|part| part == "repos"),
            _ => false,
        };
        is_merge && (is_api || path.contains("api.") || path.contains("/api/"))
    });
    mutates || (addressed && sends)
}

/// `git checkout` switches branches or overwrites files; only the latter is forbidden.
fn overwrites_files(git: &GitCall) -> bool {
    if git.has("--force -f --ours --theirs --patch -p --pathspec-from-file")
        || git.texts().skip_while(|arg| *arg != "--").nth(1).is_some()
    {
        return true;
    }
    // With a new branch, the second operand is where it starts.
    if git.has("-b -B --orphan --track -t --detach -d") {
        return false;
    }
    match git.operands().as_slice() {
        [only] => looks_like_file(only),
        operands => !operands.is_empty(),
    }
}

/// A branch is called `fix/login`, a file `src/login.rs`.
fn looks_like_file(operand: &str) -> bool {
    let starts = ["./", ":(", ":!"].iter().any(|start| operand.starts_with(start));
    if starts || matches!(operand, "." | ".." | ":/" | ":") || operand.ends_with('/') {
        return true;
    }
    let name = operand.rsplit('/').next().unwrap_or(operand);
    operand.contains('*')
        || name.rsplit_once('.').is_some_and(|(stem, extension)| {
            (2..=5).contains(&extension.len())
                && extension.chars().all(|letter| letter.is_ascii_lowercase())
                && !stem.ends_with(|last: char| last.is_ascii_digit())
        })
}

/// `git rm -r` with force, or of everything.
fn removes_much(git: &GitCall) -> bool {
    let is_all = git.operands().iter().any(|path| matches!(*path, "." | "./" | "*" | ":/"));
    (is_all || git.has("--force -f")) && git.has("-r") && !git.has("--cached --dry-run -n")
}

/// Deletes, lists of changes that nobody can read here, the loop's own refs, and branches that are
/// moved elsewhere than to where the work is now.
fn updates_ref(git: &GitCall) -> bool {
    let moves = match git.operands().as_slice() {
        [name, target, ..] => {
            (*name == "HEAD" || name.starts_with("refs/heads/")) && *target != "HEAD"
        }
        _ => false,
    };
    moves || git.has("--delete -d --stdin") || git.texts().any(|arg| arg.starts_with("refs/ralph"))
}

/// Whether a refspec such as `main:main` moves a local branch; a pull request gets a new one.
fn moves_branch(refspec: &str) -> bool {
    let Some((source, target)) = refspec.split_once(':') else { return false };
    let is_local = target.starts_with("refs/heads/") || !target.starts_with("refs/");
    let source = source.strip_prefix("refs/").unwrap_or(source);
    let is_request = source.starts_with("pull/") || source.starts_with("merge-requests/");
    is_local && !target.is_empty() && !is_request
}
