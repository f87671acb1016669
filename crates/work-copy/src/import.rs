//! What an agent left in the repository of its copy: commits, and what hooks rolled back. The copy's
//! own git packs it in the sandbox, and the project's git checks each object before adding it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use camino::Utf8Path;
use ralph_base::state::{self, Id, read_beneath};
use ralph_core::git::{Git, GitError};

use super::repository::lent_refs;
use super::{STRICTLY, Start, Workspace};
use crate::git_output::{base_of, paths};

/// The refs under which hooks keep what they roll back.
const DISCARDED: &str = "refs/ralph/discarded/";

/// How many commits are taken at most: an agent can make any number of refs.
const MOST_COMMITS: usize = 300;

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
    /// How many more commits there were than are taken.
    pub not_taken: usize,
}

/// Brings what the agent left into the project; `run` becomes part of the names of refs. A damaged
/// repository yields nothing; if git was interrupted, the next start tries again.
pub fn import(copy: &mut Workspace, start: Start<'_>, run: &str) -> Result<Imported, GitError> {
    copy.known.pipes.remove(&copy.top, false);
    let theirs = copy.git_inside();
    if !copy.top.join(".git").is_dir() {
        return Ok(Imported::default());
    }
    let forced = forced(copy, &theirs, start.tip).unwrap_or_default();
    let listed = theirs.line(&["show-ref", "--head"]).unwrap_or_default();
    let lent = if copy.is_in_place { String::new() } else { lent_refs(copy) };
    let lent: BTreeSet<&str> = lent.lines().collect();
    let refs = listed.lines().filter(|line| !lent.contains(line));
    let refs = refs.filter_map(|line| line.split_once(' '));
    let is_new = |id: &str| Some(id) != start.tip && !copy.taken.contains(id);
    let refs: Vec<(&str, &str)> = refs.filter(|(id, _)| is_new(id)).collect();
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
    // What hooks rolled back comes first: the report names it.
    let mut discarded = named(DISCARDED);
    let mut others = ["refs/heads/", "refs/stash", "refs/tags/"].map(named).concat();
    let log = read_beneath(copy.top.as_std_path(), Path::new(".git/logs/HEAD")).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let left = log.lines().filter_map(left_without_branch).filter(|id| is_new(id));
    others.extend(left.map(|id| (id, "")));
    let room = MOST_COMMITS.saturating_sub(discarded.len());
    imported.not_taken = (discarded.len() + others.len()).saturating_sub(MOST_COMMITS);
    discarded.truncate(MOST_COMMITS);
    others.truncate(room);
    let found = head.iter().map(String::as_str).chain(others.iter().map(|(id, _)| *id));
    let found: Vec<&str> = found.chain(discarded.iter().map(|(id, _)| *id)).collect();
    if found.is_empty() {
        return Ok(imported);
    }
    match bring(copy, &found, start.tip) {
        Err(error) if error.is_transient() => return Err(error),
        Err(error) => {
            log::warn!("could not take the agent's commits: {error}");
            return Ok(imported);
        }
        Ok(()) => {}
    }
    let taken: Vec<String> = found.iter().map(|&id| id.to_owned()).collect();
    let ours = copy.source.git();
    discarded.iter().try_for_each(|(id, name)| keep_discarded(&ours, (name, id), run))?;
    let is_new = |id: &&str| {
        let mut missing = vec!["rev-list", "-1", id, "--not", "--branches", "--remotes", "--tags"];
        missing.extend(head.as_deref());
        ours.line(&missing).is_ok_and(|found| !found.is_empty())
    };
    imported.others = others.iter().map(|(id, _)| *id).filter(is_new).map(str::to_owned).collect();
    copy.taken.extend(taken);
    Ok(Imported { head, ..imported })
}

/// Returns the ref in the project for what a hook of this run rolled back in a copy; `None` if the
/// name there is not one of a hook's.
pub fn name_of_discarded(in_copy: &str, run: &str) -> Option<String> {
    let id = Id::parse(in_copy.strip_prefix(DISCARDED)?).ok()?;
    Some(format!("{DISCARDED}{}-{run}", id.as_str()))
}

/// Creates a ref for what a hook rolled back; one that exists is never overwritten.
fn keep_discarded(ours: &Git, (name, id): (&str, &str), run: &str) -> Result<(), GitError> {
    let Some(name) = name_of_discarded(name, run) else { return Ok(()) };
    for number in 1..=MOST_COMMITS {
        let name = if number == 1 { name.clone() } else { format!("{name}-{number}") };
        let known = ours.line(&["rev-parse", "--quiet", "--verify", &name]);
        match known {
            Ok(known) if known == id => return Ok(()),
            Ok(_) => {}
            Err(_) => return ours.run(&["update-ref", &name, id, ""]).map(drop),
        }
    }
    Ok(())
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
    let lent = format!("{}\n", copy.own.git.join("objects"));
    let is_only = borrowed.is_ok_and(|borrowed| borrowed == lent.as_bytes());
    let local = if is_only { &["--local"][..] } else { &[] };
    bring_pack(&copy.git_inside(), &copy.source.git(), &list, local)
}

/// Packs what is listed in one repository, and adds it to another one after checking each object.
pub(super) fn bring_pack(from: &Git, to: &Git, list: &str, more: &[&str]) -> Result<(), GitError> {
    let pack = ["pack-objects", "--quiet", "--stdout", "--revs"];
    from.pipe(&[&pack[..], more].concat(), list.as_bytes(), (to, &STRICTLY[..]))
}

/// Returns files that the agent added to its index although git ignores them.
fn forced(copy: &Workspace, theirs: &Git, tip: Option<&str>) -> Result<Vec<PathBuf>, GitError> {
    // An index that is unchanged since it was lent has no files added by the agent.
    let lent = state::read(copy.own.index());
    let now = read_beneath(copy.top.as_std_path(), Path::new(".git/index"));
    if lent.is_ok_and(|lent| now.is_ok_and(|now| now == lent)) {
        return Ok(Vec::new());
    }
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
