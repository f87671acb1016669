//! On a full disk, no unsaved file is removed and no temporary file is left behind.

use std::io::Write;
use std::path::PathBuf;

use camino::Utf8Path;
use ralph_base::state::StateDir;
use ralph_core::git::{Checkpoint, Repo, SnapshotError, discarded, rollback, undo};
use test_support::{Fingerprint, Scratch, TestRepo};

use crate::child;
use crate::git_restore::checkpoint;

/// The size of the disk, in KiB.
const SIZE: usize = 16 * 1024;

/// Free space for a rollback, in KiB; saving the attempt takes about 600.
const ROOM: [usize; 14] = [0, 4, 8, 16, 64, 256, 512, 580, 600, 610, 620, 640, 700, 1024];

/// Returns bytes that cannot be compressed.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(next).flatten().take(length).collect()
}

/// Fills the disk but leaves `room` KiB free.
fn fill(disk: &Utf8Path, room: usize) -> PathBuf {
    let path = disk.join("filler").into_std_path_buf();
    let mut file = fs_err::File::create(&path).unwrap();
    let mut length = 0;
    while let Ok(written) = file.write(&[0; 4096]) {
        length += written as u64;
    }
    file.set_len(length.saturating_sub(room as u64 * 1024)).unwrap();
    path
}

/// Returns the files that a failed git leaves behind.
fn garbage(test: &TestRepo) -> Vec<PathBuf> {
    let folders = [".git", ".git/objects", ".git/objects/pack", ".git/refs/ralph/discarded"];
    let entries = folders.iter().flat_map(|folder| {
        let entries = fs_err::read_dir(test.root().join(folder)).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path())
    });
    let is_garbage = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("tmp_") || name.contains("crash") || name.ends_with(".lock")
    };
    entries.filter(is_garbage).collect()
}

struct Attempt {
    test: TestRepo,
    repo: Repo,
    state: StateDir,
    before: Fingerprint,
    after: Fingerprint,
}

fn attempt() -> Attempt {
    let test = TestRepo::new();
    test.write("mine.txt", "user\n");
    let before = test.fingerprint();
    let (repo, state) = checkpoint(&test);
    test.write("mine.txt", "agent\n");
    test.write("a.txt", "agent\n");
    test.write("noise", noise(600 * 1024));
    let after = test.fingerprint();
    Attempt { test, repo, state, before, after }
}

/// Rolls back with `room` KiB of free space and checks that nothing is lost; returns whether the
/// rollback was refused.
fn check(disk: &Utf8Path, room: usize) -> bool {
    let Attempt { test, repo, state, before, after } = attempt();
    let filler = fill(disk, room);
    let rolled_back = rollback(&repo, &state, None, "why");
    let left = garbage(&test);
    fs_err::remove_file(filler).unwrap();
    let is_refused = match rolled_back {
        Ok(_) => false,
        Err(SnapshotError::Unfinished { .. }) => {
            rollback(&repo, &state, None, "again").unwrap();
            false
        }
        Err(error) => {
            assert_eq!(test.fingerprint(), after, "{room} KiB: {error}");
            assert_eq!((discarded(&repo).unwrap().len(), left), (0, Vec::new()), "{room}: {error}");
            rollback(&repo, &state, None, "again").unwrap();
            true
        }
    };
    assert_eq!(test.fingerprint(), before, "{room} KiB");
    let first = discarded(&repo).unwrap().pop().unwrap();
    undo(&repo, &state, &first.id).unwrap();
    assert_eq!(test.files(), after.files, "{room} KiB");
    test.git(["fsck", "--strict"]);
    is_refused
}

#[test]
fn a_rollback_on_a_full_disk_removes_no_unsaved_file() {
    if let Some(disk) = child::folder() {
        let refused: Vec<bool> = ROOM.into_iter().map(|room| check(&disk, room)).collect();
        assert!(refused.first() == Some(&true) && refused.last() == Some(&false), "{refused:?}");
        return;
    }
    let name = "git_full_disk::a_rollback_on_a_full_disk_removes_no_unsaved_file";
    let folder = Scratch::new();
    if let Some(ran) = child::run_on_a_small_disk(name, folder.root(), SIZE) {
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
}

#[test]
fn a_snapshot_is_flushed_to_disk_despite_user_settings() {
    if let Some(root) = child::folder() {
        let repo = Repo::open(&root).unwrap();
        let state = StateDir::of_project(root.parent().unwrap());
        Checkpoint::create(&repo, &state, "test").unwrap();
        return;
    }
    let test = TestRepo::new();
    test.git(["config", "core.fsync", "none"]);
    test.git(["config", "core.fsyncMethod", "batch"]);
    test.write("mine.txt", "user\n");
    let events = test.scratch().path("events");
    let name = "git_full_disk::a_snapshot_is_flushed_to_disk_despite_user_settings";
    let ran = child::run(name, test.root(), &[("GIT_TRACE2_EVENT", events.as_str())]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let events = test.scratch().read("events");
    // The pack, its index and the ref; `batch` would only start to write them.
    let counts = events.lines().filter_map(|line| {
        line.split_once("\"name\":\"hardware-flush\",\"count\":")?
            .1
            .trim_end_matches('}')
            .parse()
            .ok()
    });
    let counts: Vec<u32> = counts.collect();
    assert!(counts.iter().any(|count| *count >= 3), "{counts:?}");
    assert!(!events.contains("\"name\":\"writeout-only\""), "{events}");
}
