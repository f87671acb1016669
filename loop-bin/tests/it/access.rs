//! Files that may not be read and folders that may not be written: not as root, who may do all.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::unistd::geteuid;

use crate::stage::{Ran, Stage};

const ONE: &str = "- [ ] US-001: First\n";

/// Somebody who is not root on any machine.
const NOBODY: u32 = 65534;

/// A project whose owner is not root.
struct Owned(Stage);

impl Owned {
    fn new() -> Self {
        let stage = Stage::new("works", ONE);
        stage.repo.scratch().file("home/.gitconfig", "[safe]\n\tdirectory = *\n");
        Self(stage)
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.0.command(args);
        if geteuid().is_root() {
            let (id, all) = (format!("{NOBODY}:{NOBODY}"), self.0.repo.scratch().root());
            let given = Command::new("chown").args(["-R", &id, all.as_str()]).status();
            assert!(given.expect("chown runs").success());
            command.uid(NOBODY).gid(NOBODY);
        }
        command.output().expect("the loop runs").into()
    }

    fn mode(&self, name: &str) -> u32 {
        let found = fs_err::metadata(self.0.repo.root().join(name)).unwrap();
        found.permissions().mode() & 0o7777
    }
}

/// Fails once and then works.
fn fails_with(what: &str) -> String {
    format!("[ -e .git/second ] || {{ : >.git/second; {what}; exit 1; }}; echo done >done.txt")
}

#[test]
fn what_a_failed_attempt_closed_does_not_stop_its_rollback() {
    for (what, gone) in [
        ("mkdir -p mod/p/q; echo x >mod/p/f; echo y >mod/p/q/g; chmod 555 mod/p/q mod/p", "mod"),
        ("echo x >closed; chmod 000 closed", "closed"),
        ("mkdir d; echo x >d/f; chmod 000 d/f; chmod 555 d", "d"),
        ("rm a.txt; mkdir -p a.txt/in; echo x >a.txt/in/f; chmod 555 a.txt/in", "a.txt/in"),
    ] {
        let owned = Owned::new();
        let ran = owned.run(&["--agent", &fails_with(what)]);
        ran.ended(0).says("rolled back");
        assert!(!owned.0.exists(gone), "{what}");
        assert_eq!(owned.0.read("a.txt"), "a\n");
        owned.0.is_clean();
        assert_eq!(owned.0.discarded(), 1);
    }
}

#[test]
fn committed_files_that_a_failed_attempt_closed_can_be_read_again() {
    for what in [
        "chmod 000 a.txt",
        "echo x >a.txt; chmod 000 a.txt",
        "echo x >src/lib.rs; chmod 555 src",
        "rm src/lib.rs; chmod 555 src",
    ] {
        let owned = Owned::new();
        owned.run(&["--agent", &fails_with(what)]).ended(0);
        assert_eq!(owned.0.read("a.txt"), "a\n", "{what}");
        assert_eq!(owned.0.read("src/lib.rs"), "pub fn answer() -> u32 { 42 }\n", "{what}");
        assert_eq!((owned.mode("a.txt") & 0o400, owned.mode("src") & 0o500), (0o400, 0o500));
        owned.0.is_clean();
    }
}

#[test]
fn closed_files_of_the_users_are_kept_aside_and_come_back_as_they_were() {
    for (args, code) in [(["--agent", "echo done >done.txt"], 0), (["--agent", "true"], 4)] {
        let owned = Owned::new();
        owned.0.repo.write("secret.txt", "mine\n");
        owned.0.repo.chmod("secret.txt", 0o000);
        owned.0.repo.write("folder/f.txt", "mine too\n");
        owned.0.repo.chmod("folder", 0o555);
        let ran = owned.run(&[&["--allow-dirty"], &args[..]].concat());
        ran.ended(code).says("uncommitted work is back: 2 files");
        assert_eq!((owned.mode("secret.txt"), owned.mode("folder")), (0o000, 0o555));
        owned.0.repo.chmod("secret.txt", 0o600);
        assert_eq!(owned.0.read("secret.txt"), "mine\n");
        assert_eq!(owned.0.read("folder/f.txt"), "mine too\n");
        let files = owned.0.repo.git(["log", "--format=", "--name-only"]);
        assert!(!files.contains("secret") && !files.contains("folder"), "{files}");
    }
}

#[test]
fn a_file_of_another_user_is_named_with_a_remedy() {
    if !geteuid().is_root() {
        println!("passed over: only root can give files away");
        return;
    }
    let owned = Owned::new();
    owned.run(&["--dry-run"]).ended(0);
    owned.0.repo.write("theirs.txt", "not ours\n");
    owned.0.repo.chmod("theirs.txt", 0o600);
    let mut command = owned.0.command(&["--allow-dirty"]);
    let ran: Ran = command.uid(NOBODY).gid(NOBODY).output().expect("the loop runs").into();
    ran.ended(1).says("theirs.txt").says("it belongs to another user");
    assert!(!ran.err.contains("fast-import"), "{}", ran.err);
    owned.0.repo.remove("theirs.txt");
    let mut command = owned.0.command(&["--agent", "echo done >done.txt"]);
    let ran: Ran = command.uid(NOBODY).gid(NOBODY).output().expect("the loop runs").into();
    ran.ended(0);
}
