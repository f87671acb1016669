//! Parsing git's output and formatting its input: lists of paths, differences, texts of files.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use ralph_core::git::{Git, GitError};
pub use run_history::saved::base_of;

/// The mode of an entry that does not exist.
const ABSENT: &str = "000000";

/// The mode of a submodule: a repository inside another one.
const LINK: &str = "160000";

/// The arguments that make a command print differences in the format that [`differences`] parses.
pub const RAW: [&str; 4] = ["--raw", "-z", "--no-renames", "--no-abbrev"];

/// Lists the files that differ from the index; `ls-files --modified` takes twice as long.
pub const EDITED: [&str; 6] =
    ["diff", "-z", "--no-ext-diff", "--ignore-submodules=dirty", "--no-renames", "--name-only"];

/// Returns new files and files that differ from the index. Each search takes long in a large copy,
/// so they run in parallel. `git diff` takes a pipe or socket for an empty file.
pub fn changed_files(git: &Git, has_pipes: bool) -> Result<Vec<PathBuf>, GitError> {
    let list_edited = if has_pipes { &["ls-files", "-z", "--modified"][..] } else { &EDITED };
    let (edited, new) = thread::scope(|scope| {
        let list_new = || git.run(&["ls-files", "-z", "--others", "--exclude-standard"]);
        let new = thread::Builder::new().spawn_scoped(scope, list_new);
        let edited = git.run(list_edited);
        // A full machine has no room for a thread.
        let joined = new.map(|new| new.join().unwrap_or_else(|bug| resume_unwind(bug)));
        (edited, joined.unwrap_or_else(|_| list_new()))
    });
    Ok([paths(&new?), paths(&edited?)].concat())
}

/// Returns the paths at which two trees differ. Skips the index, which git would read for nothing.
pub fn differences_between(git: &Git, from: &str, to: &str) -> Result<Vec<Difference>, GitError> {
    let git = git.on_index("/nonexistent/index".into());
    Ok(differences(&git.run(&[&["diff-tree", "-r"], &RAW[..], &[from, to]].concat())?))
}

/// A path at which two trees differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The path.
    pub path: PathBuf,
    /// The entry in the first tree.
    pub old: FileEntry,
    /// The entry in the second tree.
    pub new: FileEntry,
}

/// The entry of a tree or an index for a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// The mode, in octal.
    pub mode: String,
    /// The id of the object.
    pub id: String,
}

impl FileEntry {
    /// Returns an entry for a missing file, with an id of the same length as the other's.
    pub fn absent_like(other: &Self) -> Self {
        Self { mode: ABSENT.to_owned(), id: "0".repeat(other.id.len()) }
    }

    /// Whether there is no file.
    pub fn is_absent(&self) -> bool {
        self.mode == ABSENT
    }

    /// Whether it is a submodule.
    pub fn is_link(&self) -> bool {
        self.mode == LINK
    }

    /// Formats it as a line for `update-index -z --index-info`.
    pub fn line(&self, path: &Path) -> Vec<u8> {
        let mode = if self.is_absent() { "0" } else { &self.mode };
        let head = format!("{mode} {}\t", self.id);
        [head.as_bytes(), path.as_os_str().as_bytes(), b"\0"].concat()
    }
}

/// Parses entries `:<old mode> <new mode> <old id> <new id> <state>NUL<path>NUL`.
pub fn differences(output: &[u8]) -> Vec<Difference> {
    let mut parts = output.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let (Some(head), Some(path)) = (parts.next(), parts.next()) {
        let head = String::from_utf8_lossy(head);
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old_id, new_id, ..] = words.as_slice() else { continue };
        let entry = |mode: &str, id: &str| FileEntry { mode: mode.to_owned(), id: id.to_owned() };
        found.push(Difference {
            path: PathBuf::from(OsStr::from_bytes(path)),
            old: entry(old_mode, old_id),
            new: entry(new_mode, new_id),
        });
    }
    found
}

/// Parses `ls-files -z -v --stage`: `<tag> <mode> <id> <stage>TAB<path>NUL`. Returns the entry and
/// tag of each path.
pub fn index_entries(output: &[u8]) -> BTreeMap<PathBuf, (FileEntry, char)> {
    let mut found = BTreeMap::new();
    for line in output.split(|byte| *byte == 0) {
        let Some(tab) = line.iter().position(|byte| *byte == b'\t') else { continue };
        let (head, path) = line.split_at(tab);
        let head = String::from_utf8_lossy(head);
        let words: Vec<&str> = head.split(' ').collect();
        let [tag, mode, id, _] = words.as_slice() else { continue };
        let path = PathBuf::from(OsStr::from_bytes(path.get(1..).unwrap_or_default()));
        let entry = FileEntry { mode: (*mode).to_owned(), id: (*id).to_owned() };
        found.insert(path, (entry, tag.chars().next().unwrap_or_default()));
    }
    found
}

/// Parses a list of paths that each end with a NUL.
pub fn paths(listed: &[u8]) -> Vec<PathBuf> {
    let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect()
}

/// How many paths git is given at most. It compares each one with every file that it tracks, so
/// beyond that it is cheaper to check all files.
const MOST_NAMED: usize = 100;

/// Returns the arguments of a command on these paths, or on all files if there are too many.
pub fn naming<'a>(
    command: &'a [&str],
    paths: impl IntoIterator<Item = &'a PathBuf>,
) -> Vec<&'a OsStr> {
    let mut args: Vec<&OsStr> = command.iter().map(OsStr::new).chain([OsStr::new("--")]).collect();
    args.extend(paths.into_iter().map(|path| path.as_os_str()));
    let most = command.len() + 1 + MOST_NAMED;
    args.truncate(if args.len() > most { command.len() } else { most });
    args
}

/// Formats a list of paths that each end with a NUL.
pub fn listed<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<u8> {
    paths.into_iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect()
}

/// Returns the text of a file in a commit, from the top; `None` if it does not exist.
pub fn text_at(git: &Git, commit: &str, path: &Path) -> Option<Vec<u8>> {
    git.run(&["cat-file", "blob", &format!("{commit}:{}", path.to_string_lossy())]).ok()
}

/// Writes a text to git's object store, and returns its entry as an ordinary file.
pub fn file_of(git: &Git, text: &[u8]) -> Result<FileEntry, GitError> {
    let id = git.feed(&["hash-object", "-w", "--stdin"], text)?;
    let id = String::from_utf8_lossy(&id).trim().to_owned();
    Ok(FileEntry { mode: "100644".to_owned(), id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_entries_keep_the_tags_of_git_ls_files() {
        let output = b"H 100644 aa 0\ta\0S 100644 bb 0\tb\n\xff\0h 100644 cc 0\tc\0";
        let found = index_entries(output);
        let seen: Vec<_> = found.iter().map(|(path, (_, tag))| (path, *tag)).collect();
        let name = |bytes| PathBuf::from(OsStr::from_bytes(bytes));
        let names = [name(b"a"), name(b"b\n\xff"), name(b"c")];
        let [a, b, c] = &names;
        assert_eq!(seen, [(a, 'H'), (b, 'S'), (c, 'h')]);
    }

    #[test]
    fn differences_are_parsed_with_any_file_names() {
        let output = b":100644 100644 aa bb M\0a b\n\xff\0:000000 160000 00 cc A\0sub\0";
        let found = differences(output);
        let [file, link] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(file.path.as_os_str().as_bytes(), b"a b\n\xff");
        assert_eq!(file.old.line(&file.path), b"100644 aa\ta b\n\xff\0");
        assert_eq!(link.old.line(&link.path), b"0 00\tsub\0");
        assert!(link.new.is_link() && link.old.is_absent());
    }
}
