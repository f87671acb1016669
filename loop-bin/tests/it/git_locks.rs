//! Locks of git's: those that a dead agent left, and those that somebody holds.

use std::process::Command;
use std::time::Instant;

use crate::stage::{Ran, Stage};

const ONE: &str = "- [ ] US-001: First\n";

#[test]
fn locks_that_an_agent_left_are_removed_with_a_warning() {
    for (lock, code) in [
        ("index.lock", "exit 0"),
        ("HEAD.lock", "exit 0"),
        ("index.lock", "[ -e .git/2 ] || { : >.git/2; exit 1; }"),
    ] {
        let stage = Stage::new("works", ONE);
        let agent = format!("echo done >done.txt; : >.git/{lock}; {code}");
        let ran = stage.run(&["--agent", &agent]);
        ran.ended(0).says(&format!("{lock}, which the agent left and nobody holds"));
        assert_eq!(stage.subjects(), ["feat(US-001): First", "first"]);
        assert!(!stage.exists(&format!(".git/{lock}")));
        stage.is_clean();
    }
}

#[test]
fn a_dead_lock_that_was_there_before_is_removed_before_an_agent_works() {
    for lock in ["index.lock", "refs/heads/main.lock"] {
        let stage = Stage::new("works", ONE);
        stage.repo.write(format!(".git/{lock}"), "");
        let ran = stage.run(&["--agent", "[ ! -e .git/index.lock ] && echo done >done.txt"]);
        ran.ended(0).says(&format!("{lock}, which was there before and nobody holds"));
        ran.says("1 story committed in 1 iteration");
        assert!(!stage.exists(&format!(".git/{lock}")));
    }
}

#[test]
fn a_lock_that_somebody_holds_is_waited_for_and_then_an_error_before_any_agent_works() {
    let stage = Stage::new("works", ONE);
    let lock = stage.repo.root().join(".git/index.lock");
    let (over, begun) = (stage.note_path("over"), stage.note_path("begun"));
    let hold = "exec 9>\"$1\"; until [ -e \"$2\" ]; do sleep 0.02; done; rm \"$1\"";
    let mut holder = Command::new("sh")
        .args(["-c", hold, "sh", lock.as_str(), over.as_str()])
        .spawn()
        .expect("a holder");
    crate::stage::until("the lock is held", || lock.exists());
    let agent = format!("touch '{begun}'; echo done >done.txt");
    let waited = Instant::now();
    let ran = stage.run(&["--agent", &agent]);
    let waited = waited.elapsed().as_secs();
    ran.ended(1).says(".git/index.lock and kept it for 1").says("wait for that git to end");
    assert!((10..20).contains(&waited), "it took {waited} seconds");
    assert!(!begun.exists() && lock.exists(), "no agent was started, and the lock is theirs");
    fs_err::write(over, "").unwrap();
    holder.wait().unwrap();
    stage.run(&["--agent", &agent]).ended(0).says("1 story committed in 1 iteration");
}

#[test]
fn a_lock_that_somebody_has_open_is_not_removed() {
    let stage = Stage::new("works", ONE);
    // Somebody else's program takes the lock while the agent works, and keeps it.
    let lock = stage.repo.root().join(".git/index.lock");
    let wait = "until [ -e \"$1\" ]; do sleep 0.02; done; exec 9>\"$2\"; until [ -e \"$3\" ]; do sleep 0.02; done";
    let (begun, over) = (stage.note_path("begun"), stage.note_path("over"));
    let mut holder = Command::new("sh")
        .args(["-c", wait, "sh", begun.as_str(), lock.as_str(), over.as_str()])
        .spawn()
        .expect("a holder");
    let agent = format!("touch '{begun}'; until [ -e '{lock}' ]; do sleep 0.02; done; echo x >x");
    let ran: Ran = stage.run(&["--agent", &agent]);
    fs_err::write(over, "").unwrap();
    holder.wait().unwrap();
    ran.ended(1).says("index.lock and kept it for");
    assert!(lock.exists());
}
