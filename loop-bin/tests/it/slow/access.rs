//! Unreadable files and unwritable folders. Root can access all, so the loop runs as another user.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::unistd::geteuid;

use crate::stage::{ONE, PLAN, Ran, Stage};

/// The id of an unprivileged user.
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

    /// A project with a file in a folder, and a file for the agent to remove.
    fn with_vendor() -> Self {
        let owned = Self::new();
        owned.0.repo.write("vendor/v.txt", "v\n");
        owned.0.repo.write("b.txt", "b\n");
        owned.0.repo.commit_all("vendor");
        owned
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, "")
    }

    fn run_with(&self, args: &[&str], fault: &str) -> Ran {
        let mut command = self.0.command(args);
        if geteuid().is_root() {
            let (id, all) = (format!("{NOBODY}:{NOBODY}"), self.0.repo.scratch().root());
            let given = Command::new("chown").args(["-R", &id, all.as_str()]).status();
            assert!(given.expect("chown runs").success());
            command.uid(NOBODY).gid(NOBODY);
        }
        command.env("RALPH_INTERNAL__FAULT", fault).output().expect("the loop runs").into()
    }

    fn mode(&self, name: &str) -> u32 {
        let found = fs_err::metadata(self.0.repo.root().join(name)).unwrap();
        found.permissions().mode() & 0o7777
    }
}

#[test]
fn unreadable_files_in_the_copy_cost_at_most_one_attempt() {
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
fn unreadable_files_in_place_are_saved_and_rolled_back() {
    for act in [
        "mkdir aa dro; echo w >aa/work.txt; echo x >dro/f; chmod 555 dro",
        "echo w >closed; chmod 000 closed",
        "echo w >src/lib.rs; chmod 555 src",
        "mkdir -p d/e; echo w >d/e/f; chmod 000 d/e d",
    ] {
        let owned = Owned::new();
        owned.0.repo.commit_all("the plan");
        let agent = format!("cat >/dev/null; {act}; exit 1");
        owned.run(&["--in-place", "--agent", &agent, "--attempts", "1"]).ended(8);
        assert_eq!(owned.0.repo.git(["status", "--porcelain", "-uall"]), "", "{act}");
        owned.run(&["attempts", "US-001/1"]).ended(0).says("+w");
        owned.run(&["retry", "US-001"]).ended(0);
        owned.run(&["--in-place", "--agent", "echo y >y.txt"]).ended(0).says("US-001 done");
    }
}

#[test]
fn unreadable_user_files_do_not_affect_the_run() {
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

const VENDOR: [&str; 2] =
    ["--agent", "echo more >>a.txt; echo more >>vendor/v.txt; rm b.txt; mkdir d; echo d >d/d"];

/// The checkout has the changes of the story, and no others.
#[track_caller]
fn has_followed(owned: &Owned, what: &str) {
    let stage = &owned.0;
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "", "{what}");
    stage.has(&[("a.txt", "a\nmore\n"), ("vendor/v.txt", "v\nmore\n")]);
    assert!(!stage.exists("b.txt") && stage.exists("d/d"), "{what}");
    assert_eq!(stage.plan(), ONE.replace("[ ]", "[x]"), "{what}");
    assert_eq!(stage.repo.git(["branch", "--format=%(refname:short)"]), "main\n", "{what}");
    assert!(!stage.exists(".git/ralph-following.json"), "{what}");
}

#[test]
fn work_waits_while_a_folder_is_not_writable_and_no_file_changes() {
    let owned = Owned::with_vendor();
    owned.0.repo.chmod("vendor", 0o555);
    let head = owned.0.repo.head();
    let folder = owned.0.repo.root().join("vendor");
    let why = format!("your checkout is unchanged: {folder} cannot be written (Permission denied)");
    owned.run(&VENDOR).ended(8).says(&why).says("make it writable");
    let status = owned.0.repo.git(["status", "--porcelain"]);
    assert_eq!((owned.0.repo.head(), status), (head, String::new()));
    owned.run(&["status"]).ended(0).says("vendor cannot be written");
    owned.0.repo.chmod("vendor", 0o755);
    owned.run(&VENDOR).ended(0).says("the waiting work is now on main");
    has_followed(&owned, "waited");
}

#[test]
fn a_stuck_landing_is_finished_once_its_cause_is_fixed() {
    // Git removes the old files before it runs the filter.
    let owned = Owned::with_vendor();
    let root = owned.0.repo.root();
    let filter = format!("[ \"$PWD\" = {root} ] || exec cat; chmod 555 {root}/vendor; false");
    owned.0.repo.git(["config", "filter.f.smudge", &filter]);
    owned.0.repo.git(["config", "filter.f.clean", "cat"]);
    owned.0.repo.git(["config", "filter.f.required", "true"]);
    owned.0.repo.write(".git/info/attributes", "a.txt filter=f\n");
    let ran = owned.run(&VENDOR);
    ran.ended(8).says("not all of your files could be restored: main cannot be updated");
    let said = format!("{}{}", ran.out, ran.err);
    assert!(!said.contains("another process"), "{said}");
    assert_eq!(owned.0.repo.git(["status", "--porcelain"]), " D vendor/v.txt\n");
    owned.run(&["status"]).ended(0).says("a landing was interrupted");
    // The plan is restored before it is looked for.
    owned.0.repo.remove(PLAN);
    owned.run(&VENDOR).ended(1).says("your files cannot be restored").says("vendor/v.txt");
    assert_eq!(owned.0.plan(), ONE);
    owned.0.repo.git(["config", "--remove-section", "filter.f"]);
    owned.0.repo.chmod("vendor", 0o755);
    owned.run(&VENDOR).ended(0).says("the waiting work is now on main");
    has_followed(&owned, "filter");
}

#[test]
fn an_unwritable_folder_does_not_block_restoring_other_files() {
    for point in ["locked", "noted", "prepared", "files", "texts", "index", "moved"] {
        let owned = Owned::with_vendor();
        owned.run_with(&VENDOR, &format!("follow.{point}"));
        assert!(owned.0.exists(".git/index.lock"), "{point}");
        owned.0.repo.chmod("vendor", 0o555);
        let ran = owned.run(&VENDOR);
        if ["files", "texts", "index"].contains(&point) {
            ran.ended(1).says("your files cannot be restored").says("vendor/v.txt");
            assert_eq!(owned.0.repo.git(["status", "--porcelain"]), " M vendor/v.txt\n", "{point}");
            assert_eq!(owned.0.plan(), ONE, "{point}");
        } else {
            ran.ended(if point == "moved" { 0 } else { 8 });
            assert_eq!(owned.0.repo.git(["status", "--porcelain"]), "", "{point}");
        }
        owned.0.repo.chmod("vendor", 0o755);
        owned.run(&VENDOR).ended(0);
        has_followed(&owned, point);
    }
}
