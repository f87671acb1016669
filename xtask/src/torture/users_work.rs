//! The user's work when the loop starts, and whether it is still there.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use test_support::TestRepo;

/// A name that contains a newline and is not UTF-8.
const ODD: &[u8] = b"odd \"name\"\n\xff.txt";

/// Paths of the user's work: changed, removed, staged, new, ignored.
const NAMES: [&str; 10] = [
    "a.txt",
    "gone.txt",
    "twice.txt",
    "tool.sh",
    "new-staged.txt",
    "notes/private.txt",
    "notes/link",
    "app.log",
    "build/out.bin",
    "removed-staged.txt",
];

/// The state of the user's work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct UsersWork {
    files: BTreeMap<PathBuf, Option<(u32, Vec<u8>)>>,
    staged: String,
    /// What is staged relative to the commit of an interrupted landing.
    staged_after: Option<String>,
    stash: String,
}

impl UsersWork {
    /// Leaves work of every kind in a repository, after committing what is there.
    pub(super) fn make(repo: &TestRepo) -> Self {
        for name in ["gone.txt", "twice.txt", "tool.sh", "removed-staged.txt", "shared.txt"] {
            repo.write(name, format!("{name}, as committed\n"));
        }
        repo.commit_all("what the user has");
        repo.write("src/lib.rs", "// an idea, put away\n");
        repo.git(["stash", "push", "-q", "-m", "an idea"]);

        repo.write("a.txt", "changed\r\nwithout a newline at the end");
        repo.remove("gone.txt");
        repo.chmod("tool.sh", 0o755);
        repo.write("twice.txt", "staged\n");
        repo.write("new-staged.txt", "new and staged\n");
        repo.git(["add", "twice.txt", "new-staged.txt"]);
        repo.git(["rm", "-q", "--cached", "removed-staged.txt"]);
        repo.write("twice.txt", "changed after it was staged\n");
        repo.write("notes/private.txt", "new\n");
        repo.chmod("notes/private.txt", 0o600);
        repo.symlink("notes/link", "../a.txt");
        repo.write(OsStr::from_bytes(ODD), "new as well\n");
        repo.write("app.log", "ignored\n");
        repo.write("build/out.bin", [0, 159, 146, 150]);
        Self::read(repo)
    }

    /// Reads the current state of the work.
    pub(super) fn read(repo: &TestRepo) -> Self {
        let names = NAMES.iter().map(PathBuf::from).chain([PathBuf::from(OsStr::from_bytes(ODD))]);
        let content = |name: PathBuf| {
            let found = read(&repo.root().as_std_path().join(&name));
            (name, found)
        };
        // A kill may come after the index was written and before the branch is moved: the index is
        // then that of the commit that lands, until the next start.
        let note = fs_err::read(repo.root().join(".git/ralph-following.json")).unwrap_or_default();
        let note: serde_json::Value = serde_json::from_slice(&note).unwrap_or_default();
        let staged = |base: &str| {
            let diff = ["diff", "--cached", "--raw", "--no-renames", "--abbrev=40", base, "--"];
            repo.git(diff.into_iter().chain([":!.ralph"]))
        };
        Self {
            files: names.map(content).collect(),
            staged: staged("HEAD"),
            staged_after: note.get("new").and_then(|new| new.as_str()).map(staged),
            stash: repo.git(["stash", "list", "--format=%H %gs"]),
        }
    }

    /// Returns what has changed; empty if nothing has.
    pub(super) fn differences(&self, now: &Self) -> Vec<String> {
        let mut found = Vec::new();
        for (name, before) in &self.files {
            let now = now.files.get(name).unwrap_or(&None);
            if now != before {
                found.push(format!("the user's {name:?} was {before:?} and is {now:?}"));
            }
        }
        let is_ahead = now.staged_after.as_ref() == Some(&self.staged);
        if now.staged != self.staged && !is_ahead {
            let (before, now) = (&self.staged, &now.staged);
            found.push(format!("the user had staged\n{before}and now it is\n{now}"));
        }
        if now.stash != self.stash {
            found.push(format!("the stash was {} and is {}", self.stash, now.stash));
        }
        found
    }

    /// Whether a path in a commit of the loop is a file of the user's.
    pub(super) fn is_users(path: &str) -> bool {
        NAMES.contains(&path) || path.starts_with("\"odd") || path.starts_with("notes/")
    }
}

fn read(path: &Path) -> Option<(u32, Vec<u8>)> {
    let metadata = fs_err::symlink_metadata(path).ok()?;
    if metadata.is_symlink() {
        let target = fs_err::read_link(path).ok()?;
        return Some((0o120_000, target.into_os_string().as_bytes().to_vec()));
    }
    Some((metadata.mode() & 0o7777, fs_err::read(path).ok()?))
}
