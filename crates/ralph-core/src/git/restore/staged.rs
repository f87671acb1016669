//! What was staged when a snapshot was taken, staged again on top of what is checked out now.
//!
//! The index as a whole belongs to the commit that was checked out then, so only the entries that
//! differed from that commit are taken, and of those only what nobody has committed since.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::git::command::{Git, GitError};
use crate::git::repo::Repo;
use crate::git::snapshot::take::{Snapshot, SnapshotError};

/// Where the index of the snapshot lies while it is looked at; nobody else writes there.
const COPY: &str = "ralph-staged-index";

/// Stages again what was staged, and returns how many entries that were.
pub fn stage_again(repo: &Repo, snapshot: &Snapshot) -> Result<usize, SnapshotError> {
    let Some(index) = snapshot.index(repo)? else { return Ok(0) };
    let Some(now) = repo.head()? else { return Ok(0) };
    let then = repo.base(snapshot.record.head.as_deref())?;
    let copy = repo.git_dir().join(COPY);
    fs_err::write(&copy, &index.content)?;
    let listed = entries_of(&repo.git().on_index(copy.clone()), &then);
    fs_err::remove_file(&copy)?;
    let (mut entries, mut intended) = listed?;
    let names = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", &then, &now];
    for name in repo.git().run(&names)?.split(|byte| *byte == 0) {
        let path = PathBuf::from(OsStr::from_bytes(name));
        entries.remove(&path);
        intended.remove(&path);
    }
    let mut input = Vec::new();
    for (path, entry) in &entries {
        input.extend_from_slice(entry.as_bytes());
        input.push(b'\t');
        input.extend_from_slice(path.as_os_str().as_bytes());
        input.push(0);
    }
    if !input.is_empty() {
        repo.git().feed(&["update-index", "-z", "--index-info"], &input)?;
    }
    Ok(entries.len() + intend_again(repo, &intended)?)
}

/// What an index holds besides a tree: entries with content, and files that were only meant to be
/// added some time (`git add -N`).
fn entries_of(
    git: &Git,
    tree: &str,
) -> Result<(BTreeMap<PathBuf, String>, BTreeSet<PathBuf>), GitError> {
    let list = |intended: &str| {
        let args = ["diff-index", "--cached", "--raw", "-z", "--no-renames", "--abbrev=64"];
        Ok::<_, GitError>(parse(&git.run(&[&args[..], &[intended, tree]].concat())?))
    };
    let mut all = list("--ita-visible-in-index")?;
    let staged = list("--ita-invisible-in-index")?;
    let intended: BTreeSet<PathBuf> =
        all.keys().filter(|path| !staged.contains_key(*path)).cloned().collect();
    all.retain(|path, _| staged.contains_key(path));
    Ok((all, intended))
}

/// Only files that are there can be meant to be added; such an entry holds nothing of its own.
fn intend_again(repo: &Repo, intended: &BTreeSet<PathBuf>) -> Result<usize, GitError> {
    let there = intended.iter().filter(|path| repo.top().join(path).symlink_metadata().is_ok());
    let mut input = Vec::new();
    let mut count = 0;
    for path in there {
        input.extend_from_slice(b":(top,literal)");
        input.extend_from_slice(path.as_os_str().as_bytes());
        input.push(0);
        count += 1;
    }
    if count > 0 {
        let args = ["add", "--intent-to-add", "--force", "--pathspec-from-file=-"];
        repo.git().feed(&[&args[..], &["--pathspec-file-nul"]].concat(), &input)?;
    }
    Ok(count)
}

/// Paths with mode and object as they were staged, from lines
/// `:<mode> <mode> <object> <object> <letter>`; conflicts are nobody's to restore.
fn parse(raw: &[u8]) -> BTreeMap<PathBuf, String> {
    let mut fields = raw.split(|byte| *byte == 0);
    let mut entries = BTreeMap::new();
    while let (Some(line), Some(path)) = (fields.next(), fields.next()) {
        let line = String::from_utf8_lossy(line);
        let words: Vec<&str> = line.split(' ').collect();
        if let [_, mode, _, object, letter] = words.as_slice()
            && *letter != "U"
        {
            entries.insert(PathBuf::from(OsStr::from_bytes(path)), format!("{mode} {object}"));
        }
    }
    entries
}
