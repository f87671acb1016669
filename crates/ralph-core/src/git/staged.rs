//! What was staged when a snapshot was taken, staged again on top of what is checked out now.
//!
//! The index as a whole belongs to the commit that was checked out then, so only the entries that
//! differed from that commit are taken, and of those only what nobody has committed since.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::repo::Repo;
use super::snapshot::{Snapshot, SnapshotError};
use super::status::Status;

/// Where the index of the snapshot lies while it is looked at; nobody else writes there.
const COPY: &str = "ralph-staged-index";

/// Stages again what was staged, and returns how many entries that were.
pub fn stage_again(repo: &Repo, snapshot: &Snapshot) -> Result<usize, SnapshotError> {
    let Some(index) = snapshot.index(repo)? else { return Ok(0) };
    let (Some(then), Some(now)) = (&snapshot.record.head, Status::read(repo)?.head) else {
        return Ok(0);
    };
    let copy = repo.git_dir().join(COPY);
    fs_err::write(&copy, &index.content)?;
    let compare = ["diff-index", "--cached", "--raw", "-z", "--no-renames", "--abbrev=64", then];
    let entries = repo.git().on_index(copy.clone()).run(&compare);
    fs_err::remove_file(&copy)?;
    let mut entries = parse(&entries?);
    let names = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", then, &now];
    for name in repo.git().run(&names)?.split(|byte| *byte == 0) {
        entries.remove(&PathBuf::from(OsStr::from_bytes(name)));
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
    Ok(entries.len())
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
