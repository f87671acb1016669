//! Checks for git, its relatives and forge tools that `rules.toml` cannot express.

use super::act::Act;
use super::git::GitCall;
use shell_reader::UNKNOWN;

/// Returns whether the subcommand is unknown: `git $WHAT`.
pub(super) fn is_unknown(act: &Act) -> bool {
    let asked = act.git.as_ref().and_then(|git| git.subcommand);
    act.name == "git" && asked.is_some_and(|word| word.text().starts_with(UNKNOWN))
}

/// Returns whether it discards uncommitted work, as only its operands or the whole line show.
pub(super) fn discards(act: &Act) -> bool {
    let reverses = || act.line_diffs && act.has("-R --reverse");
    let Some(git) = &act.git else { return reverses() };
    match git.name() {
        "apply" => reverses(),
        "checkout" => overwrites_files(git),
        "clean" => git.is_configured("clean.requireForce", &["false", "0", "no"]),
        "rm" => {
            let is_all = |path: &&str| matches!(*path, "." | "./" | "*" | ":/");
            git.operands().iter().any(is_all) && git.has("-r") && !git.has("--cached --dry-run -n")
        }
        _ => false,
    }
}

/// Returns whether it prunes at once: `git -c gc.pruneExpire=now gc`.
pub(super) fn prunes(act: &Act) -> bool {
    act.git.as_ref().is_some_and(|git| git.is_configured("gc.pruneExpire", &["now", "all"]))
}

/// Returns whether the last commit may be older than the checkpoint.
pub(super) fn changes_older_commit(act: &Act) -> bool {
    !act.facts.head_is_newer
}

/// Returns whether `git fetch` or `git update-ref` moves a local branch away from the current work.
pub(super) fn moves_branch(act: &Act) -> bool {
    let operands = act.git.as_ref().map(GitCall::operands).unwrap_or_default();
    match act.git.as_ref().map_or("", GitCall::name) {
        "fetch" => operands.iter().skip(1).any(|refspec| updates_branch(refspec)),
        _ => match operands.as_slice() {
            [name, target, ..] => {
                (*name == "HEAD" || name.starts_with("refs/heads/")) && *target != "HEAD"
            }
            _ => false,
        },
    }
}

/// Returns whether `git checkout` overwrites files, which is forbidden, unlike switching branches.
fn overwrites_files(git: &GitCall) -> bool {
    if git.has("--force -f --ours --theirs --patch -p --pathspec-from-file")
        || git.texts().skip_while(|arg| *arg != "--").nth(1).is_some()
    {
        return true;
    }
    // With a new branch, the second operand is its starting point.
    if git.has("-b -B --orphan --track -t --detach -d") {
        return false;
    }
    match git.operands().as_slice() {
        [only] => looks_like_file(only),
        operands => !operands.is_empty(),
    }
}

/// Tells files such as `src/login.rs` from branches such as `fix/login`.
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

/// Returns whether a refspec such as `main:main` moves a local branch; pull requests get new ones.
fn updates_branch(refspec: &str) -> bool {
    let Some((source, target)) = refspec.split_once(':') else { return false };
    let is_local = target.starts_with("refs/heads/") || !target.starts_with("refs/");
    let source = source.strip_prefix("refs/").unwrap_or(source);
    let is_request = source.starts_with("pull/") || source.starts_with("merge-requests/");
    is_local && !target.is_empty() && !is_request
}
