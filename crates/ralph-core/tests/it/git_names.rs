//! File names that git could misinterpret.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use ralph_core::git::{Checkpoint, changed_since, changes_of, rollback, undo};
use test_support::TestRepo;

use crate::git_restore::{checkpoint, contents};

const NAMES: [&[u8]; 12] = [
    b":memory:",
    b":!x",
    b":(glob)**",
    b":^y",
    b"*",
    b"-x",
    b"--",
    b"a\nb",
    b"\"quoted\"",
    b"back\\slash",
    b"n\xf6t utf8",
    b"sp ace ",
];

fn write_all(test: &TestRepo, folder: &str, content: &str) {
    for name in NAMES {
        let path = test.root().as_std_path().join(folder).join(OsStr::from_bytes(name));
        test.write(path, content);
    }
}

/// Creates files with these names in different states: committed, changed, staged, untracked.
fn prepare(test: &TestRepo) {
    for folder in ["committed", "changed", "staged"] {
        write_all(test, folder, "committed\n");
    }
    test.commit_all("odd names");
    write_all(test, "changed", "the user's\n");
    write_all(test, "staged", "staged\n");
    test.git(["add", "staged"]);
    write_all(test, ".", "the user's\n");
}

const FOLDERS: [&str; 5] = ["committed", "changed", "staged", "new", "."];

#[test]
fn files_with_odd_names_survive_checkpoint_rollback_and_undo() {
    type Attempt = fn(&TestRepo);
    let attempts: [Attempt; 3] = [
        |test| FOLDERS.iter().for_each(|folder| write_all(test, folder, "the agent's\n")),
        |test| {
            FOLDERS.iter().for_each(|folder| write_all(test, folder, "the agent's\n"));
            test.commit_all("by the agent");
        },
        |test| {
            FOLDERS.iter().take(3).for_each(|folder| test.remove(folder));
            test.git(["add", "-A"]);
        },
    ];
    for attempt in attempts {
        let test = TestRepo::new();
        prepare(&test);
        let before = test.fingerprint();
        let (repo, state) = checkpoint(&test);
        attempt(&test);
        let after = test.fingerprint();
        let target = Checkpoint::load(&state).unwrap().unwrap().target(&repo).unwrap();
        assert!(changed_since(&repo, &target).unwrap().len() >= NAMES.len() * 3);
        let saved = rollback(&repo, &state, None, "why").unwrap().saved;
        assert_eq!(test.fingerprint(), before);
        assert!(changed_since(&repo, &target).unwrap().is_empty());
        let shown = changes_of(&repo, &saved.name).unwrap();
        assert!(shown.contains("staged/:memory:") && shown.contains("committed/*"), "{shown}");
        undo(&repo, &state, &saved.name).unwrap();
        assert_eq!(contents(&test.fingerprint()), contents(&after));
    }
}

#[test]
fn files_with_odd_names_are_restored_onto_later_commits() {
    let test = TestRepo::new();
    let (repo, state) = checkpoint(&test);
    write_all(&test, "new", "the agent's\n");
    write_all(&test, ".", "the agent's\n");
    let after = test.fingerprint();
    let saved = rollback(&repo, &state, None, "why").unwrap().saved;
    test.git(["commit", "-q", "--allow-empty", "-m", "later"]);
    let count = undo(&repo, &state, &saved.name).unwrap().len();
    assert_eq!((test.files(), count), (after.files, NAMES.len() * 2));
}
