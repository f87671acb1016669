//! Damaged objects and refs are reported before any file is changed.

use std::path::PathBuf;

use ralph_base::state::StateDir;
use ralph_core::git::{Repo, discarded, rollback, undo};
use test_support::TestRepo;

use crate::git_restore::checkpoint;

/// Creates a checkpoint with work of the user, and an attempt on top of it.
fn attempt(test: &TestRepo) -> (Repo, StateDir) {
    test.write("mine.txt", "the user's, and long enough to be found in a pack\n".repeat(50));
    let made = checkpoint(test);
    test.write("mine.txt", "the agent's\n");
    made
}

/// Returns the packs, newest last.
fn packs(test: &TestRepo) -> Vec<PathBuf> {
    let folder = test.root().join(".git/objects/pack");
    let entries = fs_err::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut packs: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "pack")).collect();
    packs.sort_by_key(|path| fs_err::metadata(path).unwrap().modified().unwrap());
    packs
}

fn object(test: &TestRepo, name: &str) -> String {
    test.git(["rev-parse", name]).trim().to_owned()
}

#[test]
fn a_flipped_bit_in_a_checkpoint_is_detected() {
    let test = TestRepo::new();
    let (repo, state) = attempt(&test);
    let before = test.fingerprint();
    let pack = packs(&test).pop().unwrap();
    let whole = fs_err::read(&pack).unwrap();
    let list = ["cat-file", "--batch-all-objects", "--batch"];
    let objects = || test.try_git(test.root().as_std_path(), list);
    let intact = objects();
    test.chmod(&pack, 0o644);
    // The last twenty bytes are the checksum of the pack, which git reads only to verify the pack.
    for at in (12..whole.len() - 20).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs_err::write(&pack, &bytes).unwrap();
        // Padding bits at the end of a compressed object do not change what git reads.
        if objects() == intact {
            continue;
        }
        let error = rollback(&repo, &state, None, "why").unwrap_err().to_string();
        assert!(error.contains("failed in") && error.len() > 60, "{at}: {error}");
        assert_eq!(test.fingerprint(), before, "{at}");
        assert_eq!(discarded(&repo).unwrap(), [], "{at}");
    }
    fs_err::write(&pack, &whole).unwrap();
    rollback(&repo, &state, None, "why").unwrap();
}

#[test]
fn a_missing_object_is_named_in_the_error() {
    let test = TestRepo::new();
    let (repo, state) = attempt(&test);
    let name = test.git(["for-each-ref", "--format=%(refname)", "refs/ralph"]);
    let (name, blob) = (name.trim(), object(&test, &format!("{}:mine.txt", name.trim())));
    let before = test.fingerprint();
    let pack = packs(&test).pop().unwrap();
    let kept = test.scratch().path("pack");
    fs_err::rename(&pack, &kept).unwrap();
    let error = rollback(&repo, &state, None, "why").unwrap_err().to_string();
    assert!(error.contains(name), "{error}");
    // Restore every object except one.
    fs_err::remove_file(pack.with_extension("idx")).unwrap();
    let unpack = format!("git unpack-objects -q < '{kept}'");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &unpack]).current_dir(test.root()).env_clear().envs(test.isolation());
    assert!(shell.status().unwrap().success());
    test.remove(format!(".git/objects/{}/{}", &blob[..2], &blob[2..]));
    let error = rollback(&repo, &state, None, "why").unwrap_err().to_string();
    assert!(error.contains(&blob), "{error}");
    assert_eq!(test.fingerprint(), before);
}

#[test]
fn a_damaged_ref_is_named_in_the_error() {
    let test = TestRepo::new();
    let (repo, state) = attempt(&test);
    let before = test.fingerprint();
    let name = test.git(["for-each-ref", "--format=%(refname)", "refs/ralph"]);
    let name = name.trim();
    for content in ["", "rubbish\n", &"0".repeat(40), &"a".repeat(40)] {
        test.write(format!(".git/{name}"), content);
        let error = rollback(&repo, &state, None, "why").unwrap_err().to_string();
        assert!(error.contains(name), "{content:?}: {error}");
        assert_eq!(test.fingerprint(), before);
    }
    test.write(format!(".git/{name}"), format!("{}\n", test.head()));
    let error = rollback(&repo, &state, None, "why").unwrap_err().to_string();
    assert!(error.contains(name) && error.contains("not a snapshot"), "{error}");
}

#[test]
fn a_damaged_attempt_is_not_partially_restored() {
    let test = TestRepo::new();
    let (repo, state) = attempt(&test);
    test.write("new.txt", "new\n".repeat(500));
    let saved = rollback(&repo, &state, None, "why").unwrap().saved.name;
    let before = test.fingerprint();
    let pack = packs(&test).pop().unwrap();
    test.chmod(&pack, 0o644);
    let mut bytes = fs_err::read(&pack).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs_err::write(&pack, bytes).unwrap();
    assert!(!undo(&repo, &state, &saved).unwrap_err().to_string().is_empty());
    assert_eq!(test.fingerprint(), before);
}
