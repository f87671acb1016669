//! What differs between HEAD, the index and the work tree: one `git status`, read as data.
//!
//! Paths are bytes, relative to the top of the work tree; they need not be UTF-8.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::command::GitError;
use super::repo::Repo;

/// The id of an empty file, in the two kinds of repositories.
const EMPTY_BLOBS: [&[u8]; 2] = [
    b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

/// The state of a work tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The commit that is checked out; none in a repository without commits.
    pub head: Option<String>,
    /// The branch that is checked out; none if HEAD is detached.
    pub branch: Option<String>,
    /// Files that differ between HEAD, index and work tree, and files that git does not know.
    pub changed: Vec<PathBuf>,
    /// Whether some of them are files that git does not know.
    pub untracked: bool,
    /// Submodules and repositories inside this one: seen, but never touched.
    pub nested: Vec<PathBuf>,
    /// Whether the index is anything but that of HEAD: staged, conflicting or intended changes.
    pub staged: bool,
    /// The objects that only the index holds, so that a snapshot can keep them alive.
    pub staged_objects: Vec<String>,
}

impl Status {
    /// Reads the status of a repository.
    pub fn read(repo: &Repo) -> Result<Self, GitError> {
        let output = repo.git().run(&[
            "status",
            "--porcelain=v2",
            "-z",
            "--branch",
            // How far the branch is from its upstream takes a walk through history.
            "--no-ahead-behind",
            "--untracked-files=all",
            "--no-renames",
            // Only what the superproject records of a submodule is ours to see.
            "--ignore-submodules=dirty",
        ])?;
        Ok(Self::parse(&output))
    }

    /// Whether anything of the user's or the agent's is uncommitted, our own folders aside.
    pub fn is_clean(&self, repo: &Repo) -> bool {
        self.changed.iter().all(|path| repo.is_untouched(path))
    }

    /// Lines of a form that we do not know are passed over: newer versions of git may add some.
    fn parse(output: &[u8]) -> Self {
        let mut status = Self::default();
        for record in output.split(|byte| *byte == 0) {
            match record {
                [b'#', ..] => status.header(record),
                [b'1', ..] => status.ordinary(record),
                [b'u', ..] => status.conflict(record),
                [b'?', b' ', path @ ..] => {
                    status.untracked = true;
                    status.note(path, false);
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

    /// `1 XY sub mH mI mW hH hI path`
    fn ordinary(&mut self, record: &[u8]) {
        let fields: Vec<&[u8]> = record.splitn(9, |byte| *byte == b' ').collect();
        let [_, states, kind, head_mode, index_mode, _, _, index_object, path] = fields.as_slice()
        else {
            return;
        };
        // A file that HEAD does not have is in the index: added, or only intended to be. Of one that
        // was intended and is gone from disk, git says that HEAD has it, empty.
        let intended = *states == b".D" && EMPTY_BLOBS.contains(index_object);
        if states.first() != Some(&b'.') || *head_mode == b"000000" || intended {
            self.staged = true;
            let index_mode = std::str::from_utf8(index_mode).unwrap_or_default();
            if !matches!(index_mode, "000000" | "160000") {
                self.staged_objects.push(String::from_utf8_lossy(index_object).into_owned());
            }
        }
        self.note(path, kind.first() == Some(&b'S'));
    }

    /// `u XY sub m1 m2 m3 mW h1 h2 h3 path`
    fn conflict(&mut self, record: &[u8]) {
        let fields: Vec<&[u8]> = record.splitn(11, |byte| *byte == b' ').collect();
        let [_, _, kind, _, _, _, _, first, second, third, path] = fields.as_slice() else {
            return;
        };
        self.staged = true;
        let submodule = kind.first() == Some(&b'S');
        if !submodule {
            let stages =
                [first, second, third].into_iter().filter(|id| id.iter().any(|b| *b != b'0'));
            self.staged_objects.extend(stages.map(|id| String::from_utf8_lossy(id).into_owned()));
        }
        self.note(path, submodule);
    }

    /// A repository that git does not know as a submodule is listed as a folder.
    fn note(&mut self, path: &[u8], submodule: bool) {
        let nested = submodule || path.ends_with(b"/");
        let path = PathBuf::from(OsStr::from_bytes(path));
        let list = if nested { &mut self.nested } else { &mut self.changed };
        if list.last() != Some(&path) {
            list.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_repository_without_commits() {
        let status = Status::parse(b"# branch.oid (initial)\0# branch.head main\0");
        assert_eq!(status, Status { branch: Some("main".into()), ..Status::default() });
    }

    #[test]
    fn names_may_hold_spaces_newlines_and_any_bytes() {
        let output = b"1 .M N... 100644 100644 100644 aa bb a b\xff\nc\0? new file\0? repo/\0";
        let status = Status::parse(output);
        let odd = PathBuf::from(OsStr::from_bytes(b"a b\xff\nc"));
        assert_eq!(status.changed, [odd, PathBuf::from("new file")]);
        assert_eq!(status.nested, [PathBuf::from("repo/")]);
        assert!(!status.staged);
    }

    #[test]
    fn staged_conflicting_and_intended_files_make_the_index_special() {
        let staged = Status::parse(b"1 A. N... 000000 100644 100644 00 bb x\0");
        assert!(staged.staged);
        assert_eq!(staged.staged_objects, ["bb"]);
        assert!(Status::parse(b"1 .A N... 000000 000000 100644 00 00 x\0").staged);
        let conflict = Status::parse(b"u UU N... 100644 100644 100644 100644 aa bb 00 x\0");
        assert_eq!(conflict.staged_objects, ["aa", "bb"]);
        assert!(conflict.staged);
    }

    #[test]
    fn rubbish_is_passed_over() {
        assert_eq!(Status::parse(b"1 .M\0u\0\xff\xfe\0! x\0"), Status::default());
    }
}
