//! Files that may not be read and folders that may not be written: not as root, who may do all.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::unistd::geteuid;

use crate::stage::{Ran, Stage};

const ONE: &str = "- [ ] US-001: First\n";

/// A user who is not root on any machine.
const NOBODY: u32 = 65534;

/// A project whose owner is not root.
struct Owned(Stage);

impl Owned {
    fn new() -> Self {
        Self::of(Stage::new("works", ONE))
    }

    fn of(stage: Stage) -> Self {
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

#[test]
fn files_that_an_agent_closes_in_its_copy_cost_at_most_that_attempt() {
    let acts = [
        "chmod -R 000 .",
        "chmod 555 .; exit 1",
        "chmod -R 000 .git",
        "mkdir -p mod/p/q; echo x >mod/p/f; echo y >mod/p/q/g; chmod 555 mod/p/q mod/p; exit 1",
        "echo x >closed; chmod 000 closed; exit 1",
        "mkdir d; echo x >d/f; chmod 000 d/f; chmod 555 d; exit 1",
        "rm a.txt; mkdir -p a.txt/in; echo x >a.txt/in/f; chmod 555 a.txt/in; exit 1",
        "echo x >src/lib.rs; chmod 555 src; exit 1",
        "rm src/lib.rs; chmod 000 src; exit 1",
    ];
    let owned = Owned::of(Stage::acting(&acts));
    owned.run(&["--attempts", "2"]).ended(0);
    owned.0.has_landed(acts.len());
    assert_eq!(owned.0.read("a.txt"), "a\n");
}

#[test]
fn files_of_the_users_that_nobody_may_read_are_in_nobodys_way() {
    let owned = Owned::new();
    owned.0.repo.write("secret.txt", "mine\n");
    owned.0.repo.chmod("secret.txt", 0o000);
    owned.0.repo.write("folder/f.txt", "mine too\n");
    owned.0.repo.chmod("folder", 0o555);
    owned.run(&["--agent", "echo done >done.txt"]).ended(0).says("US-001 done");
    assert_eq!((owned.mode("secret.txt"), owned.mode("folder")), (0o000, 0o555));
    let files = owned.0.repo.git(["log", "--format=", "--name-only"]);
    assert!(!files.contains("secret") && !files.contains("folder"), "{files}");
}

#[test]
fn a_cache_folder_that_may_not_be_written_is_named_with_a_remedy() {
    let owned = Owned::new();
    let cache = owned.0.repo.scratch().dir("home/.cache");
    fs_err::set_permissions(&cache, std::fs::Permissions::from_mode(0o555)).unwrap();
    let ran = owned.run(&[]);
    ran.ended(1).says("cannot create the copy in").says("--workspace-folder");
    assert_eq!(owned.0.plan(), ONE);
}
