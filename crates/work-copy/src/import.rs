//! What an agent left in the repository of its copy: commits, and what hooks rolled back. It is
//! fetched into the project, as far as it can be read, before that repository is recreated.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use camino::Utf8Path;
use ralph_base::state::{self, read_beneath};
use ralph_core::git::{Git, GitError};

use super::{Start, Workspace};
use crate::git_output::{base_of, paths};

/// The refs under which hooks keep what they roll back.
const DISCARDED: &str = "refs/ralph/discarded";

/// What the agent left in its repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// The commit that it had checked out, if that differs from the one it began with.
    pub head: Option<String>,
    /// Whether it made its checkout sparse: missing files are then not deletions.
    pub is_sparse: bool,
    /// Files that it added to the index although git ignores them.
    pub forced: Vec<PathBuf>,
    /// The commits of other branches, stashes and tags that it left, and commits without a branch.
    pub others: Vec<String>,
    /// Additional work trees of its repository, from the top.
    pub work_trees: Vec<PathBuf>,
}

/// Fetches what the agent left. A damaged repository yields nothing; if git was interrupted, the
/// next start tries again.
pub fn import(copy: &mut Workspace, start: Start<'_>) -> Result<Imported, GitError> {
    copy.known.pipes.remove(&copy.top, false);
    let theirs = copy.git_inside();
    if !copy.top.join(".git").is_dir() {
        return Ok(Imported::default());
    }
    // An index that is unchanged since it was lent has no files added by the agent.
    let [lent, theirs_now] = [&copy.own.index, &copy.source_index()].map(state::read);
    let is_lent = lent.is_ok_and(|lent| theirs_now.is_ok_and(|now| now == lent));
    let forced = if is_lent { Ok(Vec::new()) } else { forced(&theirs, start.tip) };
    let forced = forced.unwrap_or_default();
    let listed = theirs.line(&["show-ref", "--head"]).unwrap_or_default();
    let refs = listed.lines().filter_map(|line| line.split_once(' '));
    let refs: Vec<(&str, &str)> = refs.filter(|(id, _)| Some(*id) != start.tip).collect();
    let named = |prefix: &str| {
        let found = refs.iter().filter(|(_, name)| name.starts_with(prefix)).copied();
        found.collect::<Vec<_>>()
    };
    let head = named("HEAD").first().map(|(id, _)| (*id).to_owned());
    let mut imported = Imported { forced, ..Imported::default() };
    if copy.is_in_place {
        return Ok(Imported { head, ..imported });
    }
    imported.is_sparse = copy.top.join(".git/info/sparse-checkout").exists();
    imported.work_trees = work_trees(&theirs, &copy.top);
    let mut others = ["refs/heads/", "refs/stash", "refs/tags/"].map(named).concat();
    let log = read_beneath(copy.top.as_std_path(), Path::new(".git/logs/HEAD")).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    others.extend(log.lines().filter_map(left_without_branch).map(|id| (id, "")));
    let discarded = named(DISCARDED);
    let found = head.iter().map(String::as_str).chain(others.iter().map(|(id, _)| *id));
    let found: Vec<&str> = found.chain(discarded.iter().map(|(id, _)| *id)).collect();
    if found.is_empty() {
        return Ok(imported);
    }
    let ours = copy.source.git();
    let refs = discarded.iter().map(|(id, name)| format!("update {name} {id}\n"));
    let refs: String = refs.collect();
    let brought = bring(copy, &found, start.tip);
    let brought = brought.and_then(|()| ours.feed(&["update-ref", "--stdin"], refs.as_bytes()));
    match brought {
        Err(error) if error.is_transient() => return Err(error),
        Err(error) => {
            log::warn!("could not fetch the agent's commits: {error}");
            return Ok(imported);
        }
        Ok(_) => {}
    }
    let is_new = |id: &&str| {
        let mut missing = vec!["rev-list", "-1", id, "--not", "--branches", "--remotes", "--tags"];
        missing.extend(head.as_deref());
        ours.line(&missing).is_ok_and(|found| !found.is_empty())
    };
    imported.others = others.iter().map(|(id, _)| *id).filter(is_new).map(str::to_owned).collect();
    Ok(Imported { head, ..imported })
}

/// Returns the commit that a line of git's reflog shows the agent to have left without a branch.
fn left_without_branch(line: &str) -> Option<&str> {
    let (id, _) = line.split_once("\tcheckout: moving from ")?.1.split_once(' ')?;
    (id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

/// Copies commits that were made in the copy into the project, as a pack: the project's git never
/// reads the settings of an agent's repository.
pub fn bring(copy: &Workspace, commits: &[&str], base: Option<&str>) -> Result<(), GitError> {
    if copy.is_in_place || commits.is_empty() {
        return Ok(());
    }
    let base = base.map(|base| format!("^{base}\n"));
    let list: String = commits.iter().map(|commit| format!("{commit}\n")).chain(base).collect();
    // All borrowed objects are the project's, unless the agent borrows from elsewhere as well.
    let borrowed = read_beneath(copy.top.as_std_path(), Path::new(".git/objects/info/alternates"));
    let project = format!("{}\n", copy.source.shared.join("objects").display());
    let is_only = borrowed.is_ok_and(|borrowed| borrowed == project.as_bytes());
    let local = if is_only { &["--local"][..] } else { &[] };
    let pack = ["pack-objects", "--quiet", "--stdout", "--revs"];
    let pack = copy.git_inside().feed(&[&pack[..], local].concat(), list.as_bytes())?;
    copy.source.git().feed(&["unpack-objects", "-q"], &pack).map(drop)
}

/// Returns files that the agent added to its index although git ignores them.
fn forced(theirs: &Git, tip: Option<&str>) -> Result<Vec<PathBuf>, GitError> {
    let base = base_of(theirs, tip)?;
    // Much faster than listing which of all files are ignored.
    if theirs.run(&["diff-index", "--cached", "--diff-filter=A", &base])?.is_empty() {
        return Ok(Vec::new());
    }
    let ignored = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"];
    Ok(paths(&theirs.run(&ignored)?))
}

/// Returns the work trees that the agent added to its repository, wherever they are.
fn work_trees(theirs: &Git, top: &Utf8Path) -> Vec<PathBuf> {
    let listed = theirs.run(&["worktree", "list", "--porcelain", "-z"]).unwrap_or_default();
    let named = paths(&listed).into_iter().filter_map(|line| {
        let path = line.as_os_str().as_bytes().strip_prefix(b"worktree ")?;
        Some(PathBuf::from(OsStr::from_bytes(path)))
    });
    // The first one is the copy itself.
    let added = named.skip(1).filter(|path| path.is_dir());
    added.map(|path| path.strip_prefix(top).map(Path::to_owned).unwrap_or(path)).collect()
}
