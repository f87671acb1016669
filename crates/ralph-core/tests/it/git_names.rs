//! Names that git could take for something else than names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use ralph_core::git::{Checkpoint, changed_since, changes_of, find, rollback, undo};
use test_support::TestRepo;

use crate::git_restore::checkpoint;

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

/// In each folder the names are in another state: committed, changed, staged, intended, untracked.
fn prepare(test: &TestRepo) {
    for folder in ["committed", "changed", "staged"] {
        write_all(test, folder, "committed\n");
    }
    test.commit_all("odd names");
    write_all(test, "changed", "the user's\n");
    write_all(test, "staged", "staged\n");
    test.git(["add", "staged"]);
    write_all(test, "intended", "the user's\n");
    test.git(["add", "--intent-to-add", "intended"]);
    write_all(test, ".", "the user's\n");
}

const FOLDERS: [&str; 6] = ["committed", "changed", "staged", "intended", "new", "."];

#[test]
fn files_with_odd_names_survive_checkpoint_change_rollback_and_undo() {
    type Attempt = fn(&TestRepo);
    let attempts: [Attempt; 3] = [
        |test| FOLDERS.iter().for_each(|folder| write_all(test, folder, "the agent's\n")),
        |test| {
            FOLDERS.iter().for_each(|folder| write_all(test, folder, "the agent's\n"));
            test.commit_all("by the agent");
        },
        |test| {
            FOLDERS.iter().take(4).for_each(|folder| test.remove(folder));
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
        assert!(changed_since(&repo, &target).unwrap().len() >= NAMES.len() * 4);
        let saved = rollback(&repo, &state, None, "why").unwrap().saved;
        assert_eq!(test.fingerprint(), before);
        assert!(changed_since(&repo, &target).unwrap().is_empty());
        let shown = changes_of(&repo, &find(&repo, &saved.name).unwrap()).unwrap();
        assert!(shown.contains("staged/:memory:") && shown.contains("committed/*"), "{shown}");
        undo(&repo, &state, &saved.name).unwrap();
        assert_eq!(test.fingerprint(), after);
    }
}

#[test]
fn files_with_odd_names_come_back_on_top_of_later_work() {
    let test = TestRepo::new();
    let (repo, state) = checkpoint(&test);
    write_all(&test, "new", "the agent's\n");
    write_all(&test, ".", "the agent's\n");
    let after = test.fingerprint();
    let saved = rollback(&repo, &state, None, "why").unwrap().saved;
    test.git(["commit", "-q", "--allow-empty", "-m", "later"]);
    let later = test.fingerprint();
    let undone = undo(&repo, &state, &saved.name).unwrap();
    assert!(undone.as_files);
    assert_eq!((test.fingerprint().files, undone.touched.len()), (after.files, NAMES.len() * 2));
    let shown = changes_of(&repo, &find(&repo, &undone.saved.name).unwrap()).unwrap();
    assert!(shown.contains("new/:memory:"), "{shown}");
    undo(&repo, &state, &undone.saved.name).unwrap();
    assert_eq!(test.fingerprint(), later);
}
