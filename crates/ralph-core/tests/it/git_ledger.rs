//! Refs of saved states that somebody removes, and those that only look removed.

use ralph_core::git::{
    Checkpoint, PutBack, Repo, SnapshotError, Target, forget_removed, put_back_removed, rollback,
};
use ralph_core::state::StateDir;
use test_support::TestRepo;

/// A checkpoint, and an attempt that was discarded; returns the refs of the two.
fn saved(test: &TestRepo) -> (Repo, StateDir, [String; 2]) {
    let repo = Repo::open(test.root()).unwrap();
    let state = StateDir::of_project(test.root());
    // Without uncommitted work a checkpoint would have no commit of its own.
    test.write("mine.txt", "mine\n");
    let checkpoint = Checkpoint::create(&repo, &state, "before").unwrap();
    test.write("a.txt", "attempt\n");
    let discarded = rollback(&repo, &state, None, "failed").unwrap().saved.name;
    (repo, state, [checkpoint.snapshot.unwrap(), discarded])
}

fn remove(test: &TestRepo, names: &[String]) {
    names.iter().for_each(|name| drop(test.git(["update-ref", "-d", name])));
}

#[test]
fn removed_refs_are_made_again_packed_or_not() {
    for pack in [false, true] {
        let test = TestRepo::new();
        let (repo, _, names) = saved(&test);
        if pack {
            test.git(["pack-refs", "--all"]);
        }
        assert_eq!(put_back_removed(&repo).unwrap(), PutBack::default(), "nothing is missing");
        let before = test.git(["for-each-ref", "refs/ralph"]);
        remove(&test, &names);
        let put = put_back_removed(&repo).unwrap();
        assert_eq!((put.back.as_slice(), put.gone.len()), (names.as_slice(), 0));
        assert_eq!(test.git(["for-each-ref", "refs/ralph"]), before);
    }
}

#[test]
fn one_that_is_asked_for_is_made_again_without_further_ado() {
    let test = TestRepo::new();
    let (repo, state, names) = saved(&test);
    remove(&test, &names);
    test.write("a.txt", "another\n");
    rollback(&repo, &state, None, "failed again").unwrap();
    assert_eq!(fs_err::read(test.root().join("a.txt")).unwrap(), b"a\n");
    assert!(Target::load(&repo, &names[1]).is_ok());
}

#[test]
fn what_its_owner_removed_is_forgotten() {
    let test = TestRepo::new();
    let (repo, _, names) = saved(&test);
    remove(&test, &names[1..]);
    forget_removed(&repo).unwrap();
    assert_eq!(put_back_removed(&repo).unwrap(), PutBack::default());
    let gone = Target::load(&repo, &names[1]).unwrap_err();
    assert!(matches!(gone, SnapshotError::Gone { .. }), "{gone}");
}

#[test]
fn a_commit_that_is_gone_is_told_once() {
    let test = TestRepo::new();
    let (repo, state, names) = saved(&test);
    remove(&test, &names);
    test.git(["gc", "--quiet", "--prune=now"]);
    let put = put_back_removed(&repo).unwrap();
    assert_eq!((put.back.len(), put.gone.as_slice()), (0, names.as_slice()));
    assert_eq!(put_back_removed(&repo).unwrap(), PutBack::default());
    // The commit of the checkpoint is still there to return to.
    test.write("a.txt", "another\n");
    rollback(&repo, &state, None, "failed again").unwrap();
    assert_eq!(fs_err::read(test.root().join("a.txt")).unwrap(), b"a\n");
}

#[test]
fn a_linked_work_tree_has_a_ledger_of_its_own() {
    let test = TestRepo::new();
    let linked = test.scratch().path("linked");
    test.git(["worktree", "add", "--quiet", linked.as_str()]);
    let repo = Repo::open(&linked).unwrap();
    let name = Checkpoint::create(&repo, &StateDir::of_project(&linked), "x").unwrap().snapshot;
    assert_eq!(put_back_removed(&repo).unwrap(), PutBack::default());
    remove(&test, name.as_slice());
    assert_eq!(put_back_removed(&Repo::open(test.root()).unwrap()).unwrap(), PutBack::default());
    assert_eq!(put_back_removed(&repo).unwrap().back, name.into_iter().collect::<Vec<_>>());
}
