//! What differs between HEAD, the index and the work tree: one `git status`, read as data.
//!
//! Paths are bytes, relative to the top of the work tree; they need not be UTF-8.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::command::GitError;
use super::position::Position;
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
    /// Those of them that HEAD does not have.
    pub new: Vec<PathBuf>,
    /// Submodules and repositories inside this one: seen, but never touched.
    pub nested: Vec<PathBuf>,
    /// Those of them with work that no commit of this repository can hold: uncommitted work in a
    /// submodule, or a repository that is no submodule.
    pub unsettled: Vec<PathBuf>,
    /// Submodules with uncommitted work that are at the commit which is recorded here.
    pub at_commit: Vec<PathBuf>,
    /// Files with a conflict that nobody has resolved.
    pub conflicts: Vec<PathBuf>,
    /// Whether the index is anything but that of HEAD: staged, conflicting or intended changes.
    pub staged: bool,
    /// The objects that only the index holds, so that a snapshot can keep them alive.
    pub staged_objects: Vec<String>,
}

impl Status {
    /// Reads the status of a repository. What of a submodule is looked at, is the user's to set
    /// (`submodule.<name>.ignore`).
    pub fn read(repo: &Repo) -> Result<Self, GitError> {
        let args = ["status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all"];
        // How far the branch is from its upstream would take a walk through history.
        let read =
            |more: &[&str]| repo.git().run(&[&args[..], &["--no-ahead-behind"], more].concat());
        let output = match read(&["--no-renames"]) {
            // A submodule whose git folder was removed; it must not keep us from the rest.
            Err(error) if error.names_no_repository() => {
                read(&["--no-renames", "--ignore-submodules=dirty"])
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
                [b'?', b' ', path @ ..] => {
                    status.note(path, b"N...");
                    if !path.ends_with(b"/") {
                        status.new.push(as_path(path));
                    }
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
        let [_, states, kind, head_mode, index_mode, disk_mode, _, index_object, path] =
            fields.as_slice()
        else {
            return;
        };
        // A file that HEAD does not have is in the index: added, or only intended to be. Of one that
        // was intended and is gone from disk, git says that HEAD has it, empty.
        let intended = *states == b".D" && EMPTY_BLOBS.contains(index_object);
        if states.first() != Some(&b'.') || *head_mode == b"000000" || intended {
            self.staged = true;
            if ![b"000000".as_slice(), b"160000"].contains(index_mode) {
                self.staged_objects.push(String::from_utf8_lossy(index_object).into_owned());
            }
        }
        self.note(path, kind);
        if *head_mode == b"000000" && kind.first() != Some(&b'S') {
            self.new.push(as_path(path));
        }
        if *states == b".M" && kind.starts_with(b"S.") && *disk_mode == b"160000" {
            self.at_commit.push(as_path(path));
        }
        // Where a file became a repository or the other way round, there is a file to look after.
        let is_file = |mode: &&[u8]| mode.starts_with(b"1") && *mode != b"160000";
        if kind.first() == Some(&b'S')
            && [head_mode, index_mode, disk_mode].into_iter().any(is_file)
        {
            self.changed.push(as_path(path));
        }
    }

    /// `u XY sub m1 m2 m3 mW h1 h2 h3 path`
    fn conflict(&mut self, record: &[u8]) {
        let fields: Vec<&[u8]> = record.splitn(11, |byte| *byte == b' ').collect();
        let [_, _, kind, _, _, _, _, first, second, third, path] = fields.as_slice() else {
            return;
        };
        self.staged = true;
        if kind.first() != Some(&b'S') {
            let stages =
                [first, second, third].into_iter().filter(|id| id.iter().any(|b| *b != b'0'));
            self.staged_objects.extend(stages.map(|id| String::from_utf8_lossy(id).into_owned()));
        }
        self.note(path, kind);
        self.conflicts.push(as_path(path));
    }

    /// A repository that git does not know as a submodule is listed as a folder. Of a submodule
    /// the kind is `S<commit><modified><untracked>`.
    fn note(&mut self, path: &[u8], kind: &[u8]) {
        let is_folder = path.ends_with(b"/");
        let path = as_path(path);
        let is_submodule = kind.first() == Some(&b'S');
        let list = if is_submodule || is_folder { &mut self.nested } else { &mut self.changed };
        if list.last() == Some(&path) {
            return;
        }
        if is_folder || (is_submodule && (kind.contains(&b'M') || kind.contains(&b'U'))) {
            self.unsettled.push(path.clone());
        }
        list.push(path);
    }
}

fn as_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
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
        assert_eq!(status.new, [PathBuf::from("new file")]);
        assert_eq!(status.nested, [PathBuf::from("repo/")]);
        assert_eq!(status.unsettled, status.nested);
        assert!(!status.staged);
    }

    #[test]
    fn staged_conflicting_and_intended_files_make_the_index_special() {
        let staged = Status::parse(b"1 A. N... 000000 100644 100644 00 bb x\0");
        assert!(staged.staged);
        assert_eq!(staged.staged_objects, ["bb"]);
        assert_eq!(staged.new, [PathBuf::from("x")]);
        assert!(Status::parse(b"1 .A N... 000000 000000 100644 00 00 x\0").staged);
        let conflict = Status::parse(b"u UU N... 100644 100644 100644 100644 aa bb 00 x\0");
        assert_eq!(conflict.staged_objects, ["aa", "bb"]);
        assert!(conflict.staged);
        assert_eq!(conflict.conflicts, [PathBuf::from("x")]);
    }

    #[test]
    fn work_in_a_submodule_is_told_from_a_new_commit_of_it() {
        let line = |kind: &str, disk: &str| {
            Status::parse(format!("1 .M {kind} 160000 160000 {disk} aa bb lib\0").as_bytes())
        };
        let lib = [PathBuf::from("lib")];
        let moved = line("SC..", "160000");
        assert_eq!((moved.nested.as_slice(), moved.unsettled.len()), (&lib[..], 0));
        assert_eq!(line("S.M.", "160000").unsettled, lib);
        assert_eq!(line("SC.U", "160000").unsettled, lib);
        let file = line("S...", "100644");
        assert_eq!((file.nested.as_slice(), file.changed.as_slice()), (&lib[..], &lib[..]));
    }

    #[test]
    fn rubbish_is_passed_over() {
        assert_eq!(Status::parse(b"1 .M\0u\0\xff\xfe\0! x\0"), Status::default());
    }
}
