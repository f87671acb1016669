//! The commit of a story, made in the workspace with the user's identity, git hooks and signature.

use std::fmt;
use std::time::Duration;

use camino::Utf8Path;
use ralph_core::git::{Git, GitError, Patience};

use ralph_project::checks::RUN_MARK;
use ralph_project::failure::Failure;
use ralph_project::strikes::with_cause;
use run_history::words::counted;
use work_copy::Workspace;

/// The identity to commit with if git has none configured; it would refuse the commit otherwise.
pub(super) const FALLBACK_IDENTITY: [&str; 4] =
    ["-c", "user.name=Ralph", "-c", "user.email=ralph@localhost"];

/// How long a signature may take when it is tried.
const TRY_TO_SIGN: Duration = Duration::from_secs(20);

/// A commit that was created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewCommit {
    /// The id of the commit.
    pub commit: String,
    /// Its tree.
    pub tree: String,
    /// Whether git hooks changed what was to be committed.
    pub is_altered: bool,
    /// Whether git had no identity of the user.
    pub has_fallback_identity: bool,
}

/// Why no commit was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// One of the user's git hooks rejected it, with this output.
    ByHook(String),
    /// Git cannot create a commit here, whatever the agent does, for this reason.
    Impossible(String),
    /// The run was asked to stop.
    Stopped,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByHook(said) => {
                let sandbox = if said.contains("Permission denied") {
                    " (they run in the sandbox: see [sandbox] write)"
                } else {
                    ""
                };
                let what = format!("your git hooks rejected the commit{sandbox}");
                f.write_str(&with_cause(&what, None, said))
            }
            Self::Impossible(why) => write!(f, "{why}"),
            Self::Stopped => write!(f, "the commit was interrupted"),
        }
    }
}

/// Commits the staged tree of a workspace, with the user's git hooks; the inner error is a refused
/// commit. The hooks run in the sandbox, where no key can be read, so the commit is signed
/// afterwards outside of it.
pub fn commit(
    copy: &Workspace,
    (tree, base): (&str, Option<&str>),
    message: &str,
    (run, limit): (&str, Option<Duration>),
    stop: &dyn Fn() -> bool,
) -> Result<Result<NewCommit, Refusal>, Failure> {
    let git = &copy.git_to_commit()?.with_var(RUN_MARK, run);
    let commit = |who: &[&str]| {
        let args = ["-c", "commit.gpgsign=false", "commit", "--quiet", "--allow-empty"];
        let args = [&args[..], &["--cleanup=verbatim", "--file=-"]].concat();
        git.commit(&[who, &args].concat(), message, limit, stop)
    };
    let mut made = commit(&[]);
    let has_fallback_identity = matches!(made, Err(GitError::Failed { .. })) && !knows_user(git);
    if has_fallback_identity {
        made = commit(&FALLBACK_IDENTITY);
    }
    // The run's records keep what the hooks wrote to these files.
    work_copy::in_place::restore_protected(copy)?;
    match made {
        Ok(()) => {}
        Err(GitError::Failed { stderr, .. }) => {
            let impossible = why_impossible(git, &stderr).map(Refusal::Impossible);
            return Ok(Err(impossible.unwrap_or(Refusal::ByHook(stderr))));
        }
        Err(GitError::Stopped { .. }) => return Ok(Err(Refusal::Stopped)),
        Err(GitError::Deadline { seconds, .. }) => {
            let limit = counted(seconds as usize, "second", "seconds");
            return Ok(Err(Refusal::ByHook(format!("they did not finish within {limit}"))));
        }
        Err(other) => return Err(other.into()),
    }
    let made = git.line(&["rev-parse", "HEAD", "HEAD^{tree}"])?;
    let (commit, found) = made.split_once('\n').unwrap_or((&made, ""));
    work_copy::bring(copy, &[commit], base)?;
    let sign = copy.settings.sign_commits();
    let is_altered = found != tree;
    let commit = match made_again(&copy.source.git(), commit, base, sign) {
        Ok(commit) => commit,
        Err(error @ GitError::Failed { .. }) => {
            return Ok(Err(Refusal::Impossible(not_created(&error.to_string()))));
        }
        Err(other) => return Err(other.into()),
    };
    Ok(Ok(NewCommit { commit, tree: found.to_owned(), is_altered, has_fallback_identity }))
}

/// Creates a commit with tree, message and author of another one, with the user's signature if
/// `sign`. Its only parent is `base`: a program of an attempt may have made the other one.
pub fn made_again(
    git: &Git,
    commit: &str,
    base: Option<&str>,
    sign: bool,
) -> Result<String, GitError> {
    let format = "--format=%an%n%ae%n%ad%n%B";
    let shown = git.run(&["show", "--no-patch", "--date=raw", format, commit])?;
    let mut parts = shown.splitn(4, |byte| *byte == b'\n');
    let mut line = || String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let tree = format!("{commit}^{{tree}}");
    let mut args = if sign { vec!["commit-tree", "-S"] } else { vec!["commit-tree"] };
    args.push(&tree);
    args.extend(base.iter().flat_map(|base| ["-p", base]));
    let mut git = without_terminal(git);
    for name in ["NAME", "EMAIL", "DATE"] {
        git = git.with_var(&format!("GIT_AUTHOR_{name}"), line());
    }
    let message = parts.next().unwrap_or_default();
    let message = message.strip_suffix(b"\n").unwrap_or(message);
    Ok(made_by(&git, &args, message)?.0)
}

/// Returns why nothing can be signed without a terminal, if commits are to be signed: nobody answers at night.
pub fn trouble_with_signing(copy: &Workspace) -> Result<Option<String>, Failure> {
    let git =
        copy.source.git().with_patience(Patience { idle: TRY_TO_SIGN, ..Patience::default() });
    if !copy.settings.sign_commits() {
        return Ok(None);
    }
    let tree = git.line(&["hash-object", "-t", "tree", "/dev/null"])?;
    match made_by(&without_terminal(&git), &["commit-tree", "-S", &tree], b"A try") {
        Ok(_) => Ok(None),
        Err(error @ (GitError::Failed { .. } | GitError::Deadline { .. })) => Ok(Some(format!(
            "commits cannot be signed without a terminal; unlock the key in its agent, correct user.signingkey, or set \
             commit.gpgsign to false\n{error}"
        ))),
        Err(other) => Err(other.into()),
    }
}

/// Returns git without a way to ask for a passphrase: a question that nobody sees would stop the run.
fn without_terminal(git: &Git) -> Git {
    let ask = git.with_var("SSH_ASKPASS_REQUIRE", "force").with_var("SSH_ASKPASS", "false");
    ask.with_var("GPG_TTY", "/dev/null")
}

/// Commits a tree without hooks or signature; git does not need to read the files.
pub fn commit_plainly(
    git: &Git,
    tree: &str,
    base: Option<&str>,
    message: &str,
) -> Result<NewCommit, GitError> {
    let parents: Vec<&str> = base.into_iter().collect();
    let (commit, has_fallback_identity) = tree_commit(git, tree, &parents, message)?;
    Ok(NewCommit { commit, tree: tree.to_owned(), is_altered: false, has_fallback_identity })
}

/// Whether git has an identity to commit with.
fn knows_user(git: &Git) -> bool {
    git.run(&["var", "GIT_COMMITTER_IDENT"]).is_ok()
}

/// Returns why git cannot create a commit at all, if its output shows that: a hook that does not
/// allow the branch to move, a failed signature, a full disk. Output of the user's other hooks does
/// not match, and is for the agent to fix.
fn why_impossible(git: &Git, said: &str) -> Option<String> {
    let has = |is_meant: &dyn Fn(&str) -> bool| said.lines().map(str::trim).any(is_meant);
    if has(&|line| line.starts_with("fatal: ") && line.contains("aborted by")) {
        let branch = git.line(&["symbolic-ref", "--short", "HEAD"]).unwrap_or_default();
        let hook = "your git hook reference-transaction";
        return Some(format!("{hook} did not allow {branch} to move: {said}"));
    }
    let is_unwritten = has(&|line| line == "fatal: failed to write commit object");
    is_unwritten.then(|| not_created(said))
}

fn not_created(said: &str) -> String {
    format!(
        "git cannot create the commit; fix this, then start again (if signing failed, check \
         user.signingkey and the key, or set commit.gpgsign to false)\n{said}"
    )
}

/// Creates a commit of a tree without hooks and without moving a branch.
pub fn commit_tree(
    git: &Git,
    tree: &str,
    parents: &[&str],
    message: &str,
) -> Result<String, GitError> {
    Ok(tree_commit(git, tree, parents, message)?.0)
}

/// Returns the commit, and whether git had no identity of the user.
fn tree_commit(
    git: &Git,
    tree: &str,
    parents: &[&str],
    message: &str,
) -> Result<(String, bool), GitError> {
    let mut args = vec!["-c", "commit.gpgsign=false", "commit-tree", tree];
    for parent in parents {
        args.extend(["-p", parent]);
    }
    made_by(git, &args, message.as_bytes())
}

/// Runs a command of git that makes a commit. Returns the commit, and whether git had no identity
/// of the user.
fn made_by(git: &Git, args: &[&str], message: &[u8]) -> Result<(String, bool), GitError> {
    let (output, has_fallback_identity) = match git.feed(args, message) {
        Err(GitError::Failed { .. }) if !knows_user(git) => {
            (git.feed(&[&FALLBACK_IDENTITY[..], args].concat(), message)?, true)
        }
        other => (other?, false),
    };
    Ok((String::from_utf8_lossy(&output).trim().to_owned(), has_fallback_identity))
}

/// Verifies that every object of a commit can be read back, except those of `base`; called before
/// anything is removed because it has been saved.
pub fn verify(top: &Utf8Path, commit: &str, base: Option<&str>) -> Result<(), GitError> {
    let git = Git::at(top.as_std_path());
    let mut args = vec!["rev-list", "--quiet", "--objects", "--verify-objects", commit];
    args.extend(base.iter().flat_map(|base| ["--not", base]));
    git.run(&args).map(drop)
}
