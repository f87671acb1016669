//! Large files are saved and restored without a time limit.

use std::time::Duration;

use ralph_core::git::{Patience, rollback, undo};
use test_support::TestRepo;

use crate::git_full_disk::noise;
use crate::git_restore::checkpoint;

/// Returns 64 MiB: more than git handles in one piece, and more than it can compress and check
/// within the idle limit. The repetitions are too far apart to be compressed.
fn large() -> Vec<u8> {
    noise(1024 * 1024).repeat(64)
}

#[test]
fn a_git_that_makes_progress_is_not_killed() {
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
