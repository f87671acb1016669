//! Large files take as long as they take, and as little memory as small ones.

use std::time::Duration;

use ralph_core::git::{Patience, rollback, undo};
use test_support::TestRepo;

use crate::git_full_disk::noise;
use crate::git_restore::checkpoint;

/// 64 MiB: more than what goes through git in one piece, and more than it can compress and check
/// within the patience. A part that comes again is too far away to be compressed.
fn large() -> Vec<u8> {
    noise(1024 * 1024).repeat(64)
}

#[test]
fn no_deadline_ends_a_git_that_moves_on() {
    let test = TestRepo::new();
    let (repo, state) = checkpoint(&test);
    let idle = Duration::from_secs(1);
    let git = repo.git().with_patience(Patience { idle, ..Patience::default() });
    let repo = repo.using(git);
    test.write("large", large());
    let saved = rollback(&repo, &state, None, "why").unwrap().saved;
    assert!(!test.root().join("large").exists());
    undo(&repo, &state, &saved.name).unwrap();
    assert!(fs_err::read(test.root().join("large")).unwrap() == large());
}
