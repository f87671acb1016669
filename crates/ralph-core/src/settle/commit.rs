//! The user's commit: everything that git does not ignore, with the user's hooks and identity.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::attempt::Attempt;
use super::procedure::Place;
use crate::fault;
use crate::git::{GitError, Repo, Status};
use crate::state::StateDir;

/// Stands in where nobody told git who the user is; a commit would otherwise be refused.
const NOBODY: [&str; 4] = ["-c", "user.name=Ralph", "-c", "user.email=ralph@localhost"];

/// How many commits are made before git looks whether its folder wants tidying: it would start two
/// more processes after each.
const TIDIED_EVERY: u64 = 10;

/// How a commit is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    /// Whether git may tidy its folder afterwards.
    tidies: bool,
    /// Whether every file that is to be committed is known to git.
    all_known: bool,
}

impl Way {
    /// The way for an attempt that left the tree in this state. What its checks have written since
    /// is not part of that state.
    pub(super) fn of(place: &Place<'_>, attempt: &Attempt, status: &Status) -> Self {
        let is_fresh = place.config.verify.commands.is_empty();
        // Not every hook of the user's can stand the index that a commit makes for itself.
        let is_plain = status.nested.is_empty() && !place.repo.has_hooks();
        let all_known = is_fresh && is_plain && !status.untracked;
        Self { tidies: attempt.iteration.is_multiple_of(TIDIED_EVERY), all_known }
    }
}

/// Commits everything that is not ignored on top of `head`, and returns the commit that is checked out then; it is
/// the agent's own one if nothing was left to commit.
pub(super) fn commit_all(
    place: &Place<'_>,
    head: Option<&str>,
    message: &str,
    way: Way,
) -> Result<Option<String>, GitError> {
    let repo = place.repo;
    // Files that git knows are staged by the commit itself, which saves a process.
    let at_once = way.all_known && head.is_some() && place.state.is_hidden();
    if !at_once {
        stage(place, head)?;
    }
    fault::point("commit.staged");
    let commit = |who: &[&str]| {
        let tidying: &[&str] = if way.tidies { &[] } else { &["-c", "maintenance.auto=false"] };
        let staging: &[&str] = if at_once { &["--all"] } else { &[] };
        let args = [who, tidying, &["commit", "--quiet", "--file=-"], staging].concat();
        commit_patiently(repo, &args, message)
    };
    // What may be missing is looked into only once git has refused: it nearly never does.
    match commit(&[]) {
        Err(refusal @ GitError::Failed { .. }) => {
            if at_once {
                stage(place, head)?;
            }
            if is_staged(repo, head)? {
                if knows_the_author(repo) {
                    return Err(refusal);
                }
                commit(&NOBODY)?;
            }
        }
        other => other?,
    }
    repo.head()
}

fn stage(place: &Place<'_>, head: Option<&str>) -> Result<(), GitError> {
    place.repo.git().run(&["add", "--all", "--", "."])?;
    if !place.state.is_hidden() {
        leave_out_state(place, head.is_some())?;
    }
    Ok(())
}

fn knows_the_author(repo: &Repo) -> bool {
    repo.git().run(&["var", "GIT_AUTHOR_IDENT"]).is_ok()
}

/// How often a commit is tried while somebody else commits as well.
const MOST_TRIES: usize = 10;

fn commit_patiently(repo: &Repo, args: &[&str], message: &str) -> Result<(), GitError> {
    let commit = || repo.git().with_hooks().feed(args, message.as_bytes());
    let mut tried = commit();
    for _ in 1..MOST_TRIES {
        match tried {
            Err(error) if error.is_overtaken() => tried = commit(),
            other => return other.map(drop),
        }
    }
    tried.map(drop)
}

/// Takes our own state out of the index, where a `.gitignore` that somebody changed shows it.
fn leave_out_state(place: &Place<'_>, has_commit: bool) -> Result<(), GitError> {
    let root = place.state.root().as_std_path();
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let Some(folder) = root.strip_prefix(place.repo.top()).ok().and_then(Path::to_str) else {
        return Ok(());
    };
    let pattern = |name: &str| match name.strip_suffix('/') {
        Some(name) => format!(":(top,glob){folder}/{name}/**"),
        None => format!(":(top,glob){folder}/{name}"),
    };
    let command: &[&str] = match has_commit {
        true => &["reset", "--quiet", "--"],
        false => &["rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--"],
    };
    let mut args: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
    args.extend(StateDir::uncommitted().map(pattern));
    place.repo.git().run(&args).map(drop)
}

/// Takes back what [`commit_all`] staged; the files stay as they are.
pub(super) fn unstage(repo: &Repo) -> Result<(), GitError> {
    let has_commit = repo.head()?.is_some();
    let args: &[&str] = if has_commit { &["reset", "--quiet"] } else { &["read-tree", "--empty"] };
    repo.git().run(args).map(drop)
}

fn is_staged(repo: &Repo, head: Option<&str>) -> Result<bool, GitError> {
    if head.is_none() {
        return Ok(!repo.git().run(&["ls-files", "-z"])?.is_empty());
    }
    match repo.git().run(&["diff", "--cached", "--quiet", "--no-ext-diff"]) {
        Ok(_) => Ok(false),
        Err(error) if error.exit_code() == Some(1) => Ok(true),
        Err(error) => Err(error),
    }
}

/// The files in which two commits differ; all of them where there is none to compare with.
pub(super) fn files_between(
    repo: &Repo,
    from: Option<&str>,
    to: &str,
) -> Result<Vec<PathBuf>, GitError> {
    let output = match from {
        Some(from) => {
            repo.git().run(&["diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to])?
        }
        None => repo.git().run(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", to])?,
    };
    let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
}

/// Puts HEAD back on the branch of the attempt if the agent left it, without touching a file: the
/// agent's commits become part of ours and keep their own branch. Tells what is in the way, if
/// something is: then the work is not a continuation of what was there.
pub(super) fn return_to_branch(
    repo: &Repo,
    attempt: &Attempt,
    now: &Status,
) -> Result<Option<String>, GitError> {
    if let (Some(old), Some(new)) = (&attempt.head, &now.head)
        && old != new
    {
        match repo.git().run(&["merge-base", "--is-ancestor", old, new]) {
            Ok(_) => {}
            Err(error) if error.exit_code() == Some(1) => {
                return Ok(Some(format!("the agent left or rewrote the history after {old:.8}")));
            }
            Err(error) => return Err(error),
        }
    }
    if now.branch == attempt.branch {
        return Ok(None);
    }
    let reason = "ralph: return to the branch of the story";
    match (&attempt.branch, &attempt.head) {
        (Some(branch), _) => {
            repo.git().run(&["symbolic-ref", "-m", reason, "HEAD", &format!("refs/heads/{branch}")])
        }
        (None, Some(head)) => {
            repo.git().run(&["update-ref", "--no-deref", "-m", reason, "HEAD", head])
        }
        (None, None) => Ok(Vec::new()),
    }?;
    Ok(None)
}
