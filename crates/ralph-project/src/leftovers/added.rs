//! Finds the lines that were added since the checkpoint, or else since HEAD.
//!
//! A line counts as added if the new files contain it more often than the old ones. That is coarser
//! than a diff, and more lenient: a line that was indented, or moved within its file or to another,
//! is an old one.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ralph_core::git::{Checkpoint, GitError, Repo, content_now, contents_at};

/// The most changed files that are read: a task of its own does not change more.
const MOST_FILES: usize = 2000;

/// The added lines of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// The file, relative to the top of the work tree.
    pub path: String,
    /// The lines with their numbers, counted from one.
    pub lines: Vec<(usize, String)>,
}

/// Returns the lines that were added since the checkpoint, else since HEAD, including new files.
pub fn added_lines(repo: &Repo, checkpoint: Option<&Checkpoint>) -> Result<Vec<Added>, GitError> {
    let base = base(repo, checkpoint);
    let mut paths = listed(repo, &["ls-files", "--others", "--exclude-standard", "-z"])?;
    match &base {
        Some(base) => {
            let args = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff"];
            let args: Vec<&str> = args.into_iter().chain([base.as_str(), "--"]).collect();
            paths.extend(listed(repo, &args)?);
        }
        None => paths.extend(listed(repo, &["ls-files", "-z"])?),
    }
    paths.retain(|path| !repo.is_untouched(Path::new(OsStr::from_bytes(path))));
    // A path with a newline cannot be requested below.
    paths.retain(|path| !path.contains(&b'\n'));
    paths.truncate(MOST_FILES);
    let before = match base {
        Some(base) => contents_at(repo, &base, &paths)?,
        None => HashMap::new(),
    };
    Ok(lines_added(paths.iter().map(|path| {
        let now = content_now(&repo.top().join(OsStr::from_bytes(path)));
        let old = before.get(path.as_slice()).map(Vec::as_slice).unwrap_or_default();
        (String::from_utf8_lossy(path).into_owned(), old, now.unwrap_or_default())
    })))
}

/// Returns the lines that were added to files, each with its path, its old and its new content.
pub fn lines_added<'a>(files: impl Iterator<Item = (String, &'a [u8], Vec<u8>)>) -> Vec<Added> {
    let mut gone = HashMap::new();
    let mut added = Vec::new();
    for (path, old, now) in files {
        let lines = new_lines(old, &now, &mut gone);
        added.push(Added { path, lines });
    }
    for file in &mut added {
        file.lines.retain(|(_, line)| !take_one(&mut gone, line.as_bytes()));
    }
    added.retain(|file| !file.lines.is_empty());
    added
}

/// Returns what to compare with: the checkpoint's snapshot, its commit or HEAD, whichever exists.
fn base(repo: &Repo, checkpoint: Option<&Checkpoint>) -> Option<String> {
    let names = checkpoint.map(|checkpoint| [&checkpoint.snapshot, &checkpoint.commit]);
    let mut names = names.into_iter().flatten().flatten();
    let commit = |name: &str| {
        let name = format!("{name}^{{commit}}");
        repo.git().line(&["rev-parse", "--quiet", "--verify", &name]).ok()
    };
    names.find_map(|name| commit(name)).or_else(|| commit("HEAD"))
}

fn listed(repo: &Repo, args: &[&str]) -> Result<Vec<Vec<u8>>, GitError> {
    let output = repo.git().run(args)?;
    let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(<[u8]>::to_vec).collect())
}

/// How often each line occurs.
type Lines = HashMap<Vec<u8>, usize>;

/// Returns the lines that the old file did not contain, and adds those that only it has to `gone`.
fn new_lines(old: &[u8], new: &[u8], gone: &mut Lines) -> Vec<(usize, String)> {
    let mut known = Lines::new();
    for line in old.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        *known.entry(line.to_vec()).or_default() += 1;
    }
    let mut added = Vec::new();
    for (at, line) in new.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).enumerate() {
        if !take_one(&mut known, line) && !line.is_empty() {
            added.push((at + 1, String::from_utf8_lossy(line).into_owned()));
        }
    }
    for (line, count) in known {
        *gone.entry(line).or_default() += count;
    }
    added
}

/// Takes one occurrence of a line; returns whether there was one left.
fn take_one(lines: &mut Lines, line: &[u8]) -> bool {
    match lines.get_mut(line) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    }
}
