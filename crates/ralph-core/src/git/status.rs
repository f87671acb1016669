//! Differences between HEAD, the index and the work tree, from one `git status`.
//!
//! Paths are bytes, relative to the top of the work tree; they need not be UTF-8.

use std::path::PathBuf;

use super::diff::{Change, as_path};
use super::{GitError, Repo};

/// The state of a work tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The checked-out commit; `None` in a repository without commits.
    pub head: Option<String>,
    /// The checked-out branch; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// Files that differ between HEAD, index and work tree, and untracked files.
    pub changed: Vec<PathBuf>,
    /// The untracked ones among them.
    pub untracked: Vec<PathBuf>,
    /// Changed submodules and untracked nested repositories; never touched.
    pub nested: Vec<PathBuf>,
    /// Differences between HEAD and the index, except files in conflict and intent-to-add entries.
    pub(super) staged: Vec<Change>,
}

impl Status {
    /// Returns the status of a tree without uncommitted changes.
    pub fn clean(head: Option<&str>, branch: &str) -> Self {
        let (head, branch) = (head.map(str::to_owned), Some(branch.to_owned()));
        Self { head, branch, ..Self::default() }
    }

    /// Reads the status of a repository. The user's setting `submodule.<name>.ignore` decides how
    /// submodules are checked.
    pub fn read(repo: &Repo) -> Result<Self, GitError> {
        let args = ["status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all"];
        // Counting commits ahead of the upstream would require walking the history.
        let args = [&args[..], &["--no-ahead-behind", "--no-renames"]].concat();
        let output = match repo.git().run(&args) {
            // A submodule's git folder was removed; the rest must still be readable.
            Err(error) if error.names_no_repository() => {
                repo.git().run(&[&args[..], &["--ignore-submodules=dirty"]].concat())
            }
            other => other,
        };
        Ok(Self::parse(&output?))
    }

    /// Returns whether nothing is uncommitted, except in our own folders.
    pub fn is_clean(&self, repo: &Repo) -> bool {
        self.changed.iter().all(|path| repo.is_untouched(path))
    }

    /// Parses the output, skipping unknown kinds of lines: newer versions of git may add some.
    fn parse(output: &[u8]) -> Self {
        let mut status = Self::default();
        for record in output.split(|byte| *byte == 0) {
            match record {
                [b'#', ..] => status.header(record),
                [b'1', ..] => status.ordinary(record),
                [b'u', ..] => status.conflict(record),
                // A nested repository that is not a submodule is listed as a folder.
                [b'?', b' ', path @ .., b'/'] => status.nested.push(as_path(path)),
                [b'?', b' ', path @ ..] => {
                    status.changed.push(as_path(path));
                    status.untracked.push(as_path(path));
                }
                _ => {}
            }
        }
        status
    }

    fn header(&mut self, record: &[u8]) {
        let record = String::from_utf8_lossy(record);
        if let Some(head) = record.strip_prefix("# branch.oid ") {
            self.head = (head != "(initial)").then(|| head.to_owned());
        } else if let Some(branch) = record.strip_prefix("# branch.head ") {
            self.branch = (branch != "(detached)").then(|| branch.to_owned());
        }
    }

    /// Parses `1 XY sub mH mI mW hH hI path`.
    fn ordinary(&mut self, record: &[u8]) {
        let fields: Vec<&[u8]> = record.splitn(9, |byte| *byte == b' ').collect();
        let [_, states, kind, _, mode, _, _, object, path] = fields.as_slice() else {
            return;
        };
        let is_inner = kind.first() == Some(&b'S');
        if !states.starts_with(b".") {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (mode, object) = (text(mode), text(object));
            self.staged.push(Change { path: as_path(path), mode, object, is_inner });
        }
        self.note(kind, path);
    }

    fn note(&mut self, kind: &[u8], path: &[u8]) {
        let list = if kind.first() == Some(&b'S') { &mut self.nested } else { &mut self.changed };
        list.push(as_path(path));
    }

    /// Parses `u XY sub m1 m2 m3 mW h1 h2 h3 path`.
    fn conflict(&mut self, record: &[u8]) {
        let fields: Vec<&[u8]> = record.splitn(11, |byte| *byte == b' ').collect();
        if let [_, _, kind, .., path] = fields.as_slice() {
            self.note(kind, path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_may_contain_any_bytes_and_invalid_entries_are_ignored() {
        let output = b"1 .M N... 100644 100644 100644 aa bb a b\xff\nc\0? new file\0? repo/\0";
        let status = Status::parse(output);
        assert_eq!(status.changed, [as_path(b"a b\xff\nc"), "new file".into()]);
        assert_eq!(status.untracked, [PathBuf::from("new file")]);
        assert_eq!(status.nested, [PathBuf::from("repo")]);
        assert_eq!(status.staged, []);
        assert_eq!(Status::parse(b"1 .M\0u\0\xff\xfe\0! x\0"), Status::default());
    }

    #[test]
    fn staged_files_are_distinguished_from_others() {
        let staged = |line: &[u8]| {
            let staged = Status::parse(line).staged;
            staged.iter().map(|c| format!("{} {}", c.mode, c.object)).collect::<String>()
        };
        assert_eq!(staged(b"1 A. N... 000000 100644 100644 00 bb x\0"), "100644 bb");
        assert_eq!(staged(b"1 D. N... 100644 000000 000000 aa 00 x\0"), "000000 00");
        assert_eq!(staged(b"1 .A N... 000000 000000 100644 00 00 x\0"), "");
        assert_eq!(staged(b"1 M. SC.. 160000 160000 160000 aa bb x\0"), "160000 bb");
        let conflict = b"u UD N... 100644 100644 000000 100644 aa bb 00 x\0";
        assert_eq!(staged(conflict), "");
        assert_eq!(Status::parse(conflict).changed, [PathBuf::from("x")]);
    }
}
