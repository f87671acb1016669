//! The user's commit: everything that git does not ignore, with the user's hooks and identity.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::attempt::Attempt;
use super::own_commit;
use super::procedure::Place;
use crate::fault;
use crate::git::{GitError, Repo, Status, Watch, note_head, retried};
use crate::state::StateDir;

/// Stands in where nobody told git who the user is; a commit would otherwise be refused.
const NOBODY: [&str; 4] = ["-c", "user.name=Ralph", "-c", "user.email=ralph@localhost"];

/// The same as git writes it into its logs.
pub(super) const SIGNED_BY_NOBODY: &str = " Ralph <ralph@localhost> ";

/// The command that runs the user's hooks.
pub(super) const COMMAND: &str = "commit";

/// How often a commit is tried while somebody else commits as well.
const MOST_TRIES: usize = 10;

/// The commit that a story is about to get.
#[derive(Clone, Copy)]
pub(super) struct StoryCommit<'a> {
    /// What is checked out.
    pub(super) head: Option<&'a str>,
    /// The first and only line of its message.
    pub(super) subject: &'a str,
    /// What it is made of.
    pub(super) content: &'a Content,
    /// Until when git and the user's hooks may take.
    pub(super) watch: Watch<'a>,
}

/// What a commit is made of.
#[derive(Default)]
pub(super) struct Content {
    /// Repositories inside the project, and state of other projects, that stay out of it.
    pub(super) left_out: Vec<PathBuf>,
    /// All that there is to commit, where that was seen just now; anything else means a look at
    /// every file.
    pub(super) seen: Option<Vec<PathBuf>>,
}

/// Commits everything that is not ignored, and returns the commit; it is the agent's own one if
/// nothing was left to commit.
pub(super) fn commit_all(
    place: &Place<'_>,
    wanted: StoryCommit<'_>,
) -> Result<Option<String>, GitError> {
    let repo = place.repo;
    let message = format!("{}\n", wanted.subject);
    let commit = |who: &[&str]| {
        let args = [who, &[COMMAND, "--quiet", "--file=-"]].concat();
        retried(MOST_TRIES, GitError::is_overtaken, || {
            repo.git().commit(&args, &message, wanted.watch)
        })
    };
    // What may be missing is looked into only once git has refused: it nearly never does.
    let made = commit_staged(place, wanted, &|| match commit(&[]) {
        Err(GitError::Failed { .. })
            if is_staged(repo, wanted.head)? && !knows_the_author(repo) =>
        {
            commit(&NOBODY)
        }
        other => other,
    })?;
    // Not simply the one that is checked out: somebody may have committed after us.
    match own_commit::just_made(repo, wanted.subject) {
        Some(commit) if made => Ok(Some(commit)),
        _ => repo.head(),
    }
}

/// Stages everything and commits it; tells whether there was anything to commit. A `git commit` of
/// somebody else's that names files reads the index before it locks it, so what we stage just then
/// is not in the index that it writes: we stage it again.
fn commit_staged(
    place: &Place<'_>,
    wanted: StoryCommit<'_>,
    commit: &dyn Fn() -> Result<(), GitError>,
) -> Result<bool, GitError> {
    stage(place, wanted)?;
    fault::point("commit.staged");
    let mut tried = commit();
    for _ in 1..MOST_TRIES {
        match tried {
            Err(GitError::Failed { .. }) if !is_staged(place.repo, wanted.head)? => {
                stage(place, wanted)?;
                if !is_staged(place.repo, wanted.head)? {
                    return Ok(false);
                }
                tried = commit();
            }
            other => return other.map(|()| true),
        }
    }
    tried.map(|()| true)
}

fn stage(place: &Place<'_>, wanted: StoryCommit<'_>) -> Result<(), GitError> {
    let repo = place.repo;
    let content = wanted.content;
    let left_out: Vec<&PathBuf> = content.left_out.iter().chain(repo.outputs()).collect();
    if left_out.is_empty() {
        if !content.seen.as_ref().is_some_and(|seen| is_staged_by_name(repo, seen)) {
            repo.git().run(&["add", "--all"])?;
        }
    } else {
        let mut all_but = b".\0".to_vec();
        all_but.extend(pathspecs(":(top,exclude,literal)", &left_out));
        repo.git().feed(&[&["add", "--all"], &FROM_STDIN[..]].concat(), &all_but)?;
        // An agent may have staged it.
        unstage(repo, &pathspecs(":(top,literal)", &left_out), wanted.head.is_some())?;
    }
    match place.state.is_hidden() {
        true => Ok(()),
        false => leave_out_state(place, wanted.head.is_some()),
    }
}

/// Git compares every file that it knows with every name, so many of them take longer than none.
const MOST_NAMES: usize = 100;

/// Stages these files, if they are few. Git refuses names of which nothing is left, of a file for
/// instance that was added and removed; then everything is to be looked at after all.
fn is_staged_by_name(repo: &Repo, files: &[PathBuf]) -> bool {
    let names = pathspecs(":(top,literal)", &files.iter().collect::<Vec<_>>());
    let add = [&["add", "--all"], &FROM_STDIN[..]].concat();
    files.len() <= MOST_NAMES && repo.git().feed(&add, &names).is_ok()
}

/// Paths of any number do not fit into a command line.
const FROM_STDIN: [&str; 2] = ["--pathspec-from-file=-", "--pathspec-file-nul"];

fn pathspecs(magic: &str, paths: &[&PathBuf]) -> Vec<u8> {
    let spec = |path: &&PathBuf| [magic.as_bytes(), path.as_os_str().as_bytes(), b"\0"].concat();
    paths.iter().flat_map(spec).collect()
}

/// Whether git said that it cannot write a commit at all: a signature that cannot be made, a disk
/// that is full. What the user's hooks refuse reads otherwise, and is for the agent to mend.
pub(super) fn is_impossible(said: &str) -> bool {
    said.lines().any(|line| {
        let line = line.trim();
        line == "fatal: failed to write commit object"
            || line.starts_with("error: gpg failed to sign")
            || line.starts_with("fatal: ") && line.contains("user.signingkey")
    })
}

fn knows_the_author(repo: &Repo) -> bool {
    repo.git().run(&["var", "GIT_AUTHOR_IDENT"]).is_ok()
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
    let patterns = StateDir::uncommitted().flat_map(|name| (pattern(name) + "\0").into_bytes());
    unstage(place.repo, &patterns.collect::<Vec<u8>>(), has_commit)
}

/// Takes what these pathspecs, each ended by NUL, name out of the index.
fn unstage(repo: &Repo, what: &[u8], has_commit: bool) -> Result<(), GitError> {
    let command: &[&str] = match has_commit {
        true => &["reset", "--quiet"],
        false => &["rm", "-r", "--cached", "--quiet", "--ignore-unmatch"],
    };
    repo.git().feed(&[command, &FROM_STDIN].concat(), what).map(drop)
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

/// The files that the second commit has and the first does not.
pub(super) fn files_added_between(
    repo: &Repo,
    from: &str,
    to: &str,
) -> Result<Vec<PathBuf>, GitError> {
    let args =
        ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A", from, to];
    let output = repo.git().run(&args)?;
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
    if let (Some(old), None) = (&attempt.head, &now.head) {
        return Ok(Some(format!(
            "the agent left a branch without commits in the place of {old:.8}"
        )));
    }
    if let (Some(old), Some(new)) = (&attempt.head, &now.head)
        && !is_ancestor(repo, old, new)?
    {
        return Ok(Some(format!("the agent left or rewrote the history after {old:.8}")));
    }
    if now.branch != attempt.branch {
        set_branch(repo, attempt)?;
    }
    Ok(None)
}

/// Whether one commit is part of the history of another.
pub(super) fn is_ancestor(repo: &Repo, old: &str, new: &str) -> Result<bool, GitError> {
    if old == new {
        return Ok(true);
    }
    match repo.git().run(&["merge-base", "--is-ancestor", old, new]) {
        Ok(_) => Ok(true),
        Err(error) if error.exit_code() == Some(1) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Puts HEAD on the branch of the attempt, without touching a file. A branch that was renamed or
/// removed is made again where it was: a commit on it would have no parent.
pub(super) fn set_branch(repo: &Repo, attempt: &Attempt) -> Result<(), GitError> {
    let reason = "ralph: return to the branch of the story";
    match (&attempt.branch, &attempt.head) {
        (Some(branch), head) => {
            let name = format!("refs/heads/{branch}");
            let is_there = ["rev-parse", "--quiet", "--verify", &name];
            if let (Some(head), Err(_)) = (head, repo.git().run(&is_there)) {
                repo.git().run(&["update-ref", "-m", reason, &name, head])?;
            }
            repo.git().run(&["symbolic-ref", "-m", reason, "HEAD", &name])
        }
        (None, Some(head)) => {
            repo.git().run(&["update-ref", "--no-deref", "-m", reason, "HEAD", head])
        }
        (None, None) => Ok(Vec::new()),
    }?;
    note_head(repo, &attempt.run);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use test_support::TestRepo;

    use super::*;
    use crate::config::Config;
    use crate::git::unstage_all;
    use crate::state::Journal;

    #[test]
    fn what_somebody_elses_commit_took_out_of_the_index_is_staged_again() {
        let test = TestRepo::new();
        let state = StateDir::of_project(test.root());
        state.prepare().unwrap();
        let (repo, config) = (Repo::open(test.root()).unwrap(), Config::default());
        let journal = Journal::new(&state, "test");
        let place = Place {
            root: test.root(),
            repo: &repo,
            state: &state,
            config: &config,
            journal: &journal,
            run: "r1",
        };
        test.write("new.txt", "new\n");
        let head = test.head();
        let watch = Watch { limit: None, stop: &|| false };
        let content = &Content { seen: Some(vec!["new.txt".into()]), ..Content::default() };
        let wanted = StoryCommit { head: Some(&head), subject: "work", content, watch };
        let is_first = Cell::new(true);
        let commit = || {
            if is_first.replace(false) {
                unstage_all(&repo)?;
            }
            let args = [&NOBODY[..], &["commit", "--quiet", "--file=-"]].concat();
            repo.git().commit(&args, "work\n", watch)
        };
        assert!(commit_staged(&place, wanted, &commit).unwrap());
        assert_eq!(test.git(["show", "HEAD:new.txt"]), "new\n");
        assert!(!commit_staged(&place, wanted, &commit).unwrap(), "nothing is left");
    }

    #[test]
    fn where_a_name_is_not_to_be_staged_everything_is_looked_at() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        test.write("new.txt", "new\n");
        assert!(is_staged_by_name(&repo, &["new.txt".into()]));
        assert_eq!(test.git(["diff", "--cached", "--name-only"]), "new.txt\n");
        assert!(!is_staged_by_name(&repo, &["new.txt".into(), "gone.txt".into()]));
        assert!(!is_staged_by_name(&repo, &vec!["new.txt".into(); MOST_NAMES + 1]));
    }
}
