//! What differs between HEAD, the index and the work tree: one `git status`, read as data.
//!
//! Paths are bytes, relative to the top of the work tree; they need not be UTF-8.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::error::GitError;
use super::paths::as_path;
use super::repo::Repo;
use super::staged::Staged;

/// A place of HEAD.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The branch; none if HEAD is detached.
    pub branch: Option<String>,
    /// The commit; none in a repository without commits.
    pub commit: Option<String>,
}

/// The state of a work tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The commit that is checked out; none in a repository without commits.
    pub head: Option<String>,
    /// The branch that is checked out; none if HEAD is detached.
    pub branch: Option<String>,
    /// Files that differ between HEAD, index and work tree, and files that git does not know.
    pub changed: Vec<PathBuf>,
    /// Those of them that git does not know.
    pub untracked: Vec<PathBuf>,
    /// Submodules that are not as HEAD has them, and repositories inside this one: never touched.
    pub nested: Vec<PathBuf>,
    /// Files with a conflict that nobody has resolved.
    pub conflicts: Vec<PathBuf>,
    /// Where the index is not that of HEAD.
    pub(in crate::git) staged: Staged,
}

impl Status {
    /// Reads the status of a repository. What of a submodule is looked at, is the user's to set
    /// (`submodule.<name>.ignore`).
    pub fn read(repo: &Repo) -> Result<Self, GitError> {
        let args = ["status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all"];
        // How far the branch is from its upstream would take a walk through history.
        let args = [&args[..], &["--no-ahead-behind", "--no-renames"]].concat();
        let output = match repo.git().run(&args) {
            // A submodule whose git folder was removed; it must not keep us from the rest.
            Err(error) if error.names_no_repository() => {
                repo.git().run(&[&args[..], &["--ignore-submodules=dirty"]].concat())
            }
            other => other,
        };
        Ok(Self::parse(&output?))
    }

    /// Where HEAD is.
    pub fn position(&self) -> Position {
        Position { branch: self.branch.clone(), commit: self.head.clone() }
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
                // A repository that is no submodule is listed as a folder.
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

    /// `1 XY sub mH mI mW hH hI path`
    fn ordinary(&mut self, record: &[u8]) {
        let fields: Vec<&[u8]> = record.splitn(9, |byte| *byte == b' ').collect();
        let [_, states, kind, head_mode, mode, disk_mode, _, object, path] = fields.as_slice()
        else {
            return;
        };
        if states.ends_with(b"A") {
            self.staged.intend(as_path(path));
        }
        if !states.starts_with(b".") {
            self.staged.add(mode, object, path);
        }
        // Where a file became a submodule or the other way round, there is a file to look after.
        let is_file = |mode: &&&[u8]| mode.starts_with(b"1") && **mode != b"160000";
        if kind.first() != Some(&b'S') || [head_mode, mode, disk_mode].iter().any(is_file) {
            self.changed.push(as_path(path));
        }
        if kind.first() == Some(&b'S') {
            self.nested.push(as_path(path));
        }
    }

    /// `u XY sub m1 m2 m3 mW h1 h2 h3 path`
    fn conflict(&mut self, record: &[u8]) {
        let fields: Vec<&[u8]> = record.splitn(11, |byte| *byte == b' ').collect();
        let [_, _, kind, modes @ .., _, first, second, third, path] = fields.as_slice() else {
            return;
        };
        self.staged.conflict(modes, &[first, second, third], path);
        let is_submodule = kind.first() == Some(&b'S');
        let list = if is_submodule { &mut self.nested } else { &mut self.changed };
        list.push(as_path(path));
        self.conflicts.push(as_path(path));
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
        assert_eq!(status.changed, [as_path(b"a b\xff\nc"), "new file".into()]);
        assert_eq!(status.untracked, [PathBuf::from("new file")]);
        assert_eq!(status.nested, [PathBuf::from("repo")]);
        assert_eq!(status.staged, Staged::default());
    }

    #[test]
    fn staged_conflicting_and_intended_files_are_told_from_others() {
        let staged = |line: &[u8]| {
            let staged = Status::parse(line).staged;
            let (entries, intended) = staged.save();
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            (text(entries), text(intended), staged.objects().join(" "))
        };
        let expected = |entries: &str, intended: &str, objects: &str| {
            (entries.to_owned(), intended.to_owned(), objects.to_owned())
        };
        assert_eq!(
            staged(b"1 A. N... 000000 100644 100644 00 bb x\0"),
            expected("100644 bb 0\tx\0", "", "bb")
        );
        assert_eq!(
            staged(b"1 D. N... 100644 000000 000000 aa 00 x\0"),
            expected("000000 00 0\tx\0", "", "")
        );
        assert_eq!(staged(b"1 .A N... 000000 000000 100644 00 00 x\0"), expected("", "x\0", ""));
        assert_eq!(
            staged(b"1 M. SC.. 160000 160000 160000 aa bb x\0"),
            expected("160000 bb 0\tx\0", "", "")
        );
        let conflict = b"u UD N... 100644 100644 000000 100644 aa bb 00 x\0";
        assert_eq!(
            staged(conflict),
            expected("0 00 0\tx\x00100644 aa 1\tx\x00100644 bb 2\tx\0", "", "aa bb")
        );
        assert_eq!(Status::parse(conflict).conflicts, [PathBuf::from("x")]);
    }

    #[test]
    fn where_a_submodule_became_a_file_there_is_a_file_to_look_after() {
        let line = |disk: &str| {
            Status::parse(format!("1 .M SC.. 160000 160000 {disk} aa bb lib\0").as_bytes())
        };
        let lib = [PathBuf::from("lib")];
        assert_eq!((line("160000").nested.as_slice(), line("160000").changed.len()), (&lib[..], 0));
        assert_eq!(line("100644").changed, lib);
    }

    #[test]
    fn rubbish_is_passed_over() {
        assert_eq!(Status::parse(b"1 .M\0u\0\xff\xfe\0! x\0"), Status::default());
    }
}
