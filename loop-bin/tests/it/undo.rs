//! `ralph-loop undo`, by a person who has just lost something.

use ralph_core::git::{Checkpoint, Repo, rollback};
use ralph_core::state::{Id, StateDir};
use test_support::TestRepo;

use crate::ralph_loop;
use crate::stage::{Ran, Stage};

const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";

/// A run of one attempt that did `work` and failed; and the id of what was taken back.
fn attempt(stage: &Stage, work: &str) -> String {
    let agent = format!("cat >/dev/null; {work}; exit 1");
    let ran = stage.run(&["--agent", &agent, "--attempts", "1", "--max-iterations", "1"]);
    ran.ended(0).says("rolled back");
    ran.out.split("ralph-loop undo ").nth(1).unwrap().split('`').next().unwrap().to_owned()
}

fn id_in(ran: &Ran) -> String {
    ran.out.rsplit(' ').next().unwrap().trim().to_owned()
}

#[test]
fn what_was_discarded_is_listed_shown_and_brought_back_and_that_can_be_undone() {
    let test = TestRepo::new();
    let state = StateDir::of_project(test.root());
    state.prepare().unwrap();
    let repo = Repo::open(test.root()).unwrap();
    let (code, out, _) = ralph_loop(test.root(), &["undo"]);
    assert_eq!((code, out.as_str()), (0, "Nothing was discarded.\n"));

    Checkpoint::create(&repo, &state, "checkpoint").unwrap();
    test.write("a.txt", "an attempt\n");
    let story = Id::parse("US-001").unwrap();
    rollback(&repo, &state, Some(&story), "2 tests failed").unwrap();

    let (code, out, _) = ralph_loop(test.root(), &["undo"]);
    let id = out.split_whitespace().next().unwrap().to_owned();
    assert!(code == 0 && id.ends_with("-US-001") && out.contains("2 tests failed"), "{out}");

    let (code, out, _) = ralph_loop(test.root(), &["undo", &id, "--show"]);
    assert!(code == 0 && out.contains("+an attempt"), "{out}");
    let text = || fs_err::read_to_string(test.root().join("a.txt")).unwrap();
    assert_eq!(text(), "a\n");

    let (code, out, _) = ralph_loop(test.root(), &["undo", &id]);
    assert!(code == 0 && out.contains("1 file changed"), "{out}");
    assert_eq!(text(), "an attempt\n");
    let back = out.rsplit(' ').next().unwrap().trim();
    let (code, _, _) = ralph_loop(test.root(), &["undo", back]);
    assert_eq!((code, text().as_str()), (0, "a\n"));
}

#[test]
fn mistakes_are_explained() {
    let test = TestRepo::new();
    let (code, _, err) = ralph_loop(test.root(), &["undo", "nonsense"]);
    assert!(code == 1 && err.contains("`ralph-loop undo` lists them"), "{err}");
    let (code, _, err) = ralph_loop(test.root(), &["undo", "--shw"]);
    assert!(code == 2 && err.contains("--show"), "{err}");
    let plain = test.scratch().dir("plain");
    let (code, _, err) = ralph_loop(&plain, &["undo"]);
    assert!(code == 1 && err.contains("not in a git work tree"), "{err}");
}

#[test]
fn variables_that_point_git_elsewhere_do_not_mislead_us() {
    let test = TestRepo::new();
    let other = TestRepo::new();
    let output = test_support::program(crate::BINARY, test.root())
        .args(["undo"])
        .current_dir(test.root())
        .env("GIT_DIR", other.root().join(".git"))
        .env("GIT_WORK_TREE", other.root())
        .env("GIT_INDEX_FILE", "/nonexistent")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn an_undo_can_be_undone_on_another_branch() {
    let stage = Stage::new("works", TWO);
    let id = attempt(&stage, "echo attempt >a.txt; echo new >new.txt; rm src/lib.rs");
    stage.repo.commit_all("work went on");
    let first = stage.run(&["undo", &id]);
    first.ended(0).says("3 files brought back on top");
    stage.repo.git(["switch", "-q", "-c", "other"]);
    stage.repo.write("b.txt", "b\n");
    stage.repo.git(["add", "b.txt"]);
    stage.repo.git(["commit", "-qm", "on another branch", "--", "b.txt"]);
    let shown = stage.run(&["undo", &id_in(&first), "--show"]);
    shown.ended(0).says("-attempt").says("3 files changed");
    let second = stage.run(&["undo", &id_in(&first)]);
    second.ended(0).says("3 files brought back on top");
    stage.is_clean();
    assert_eq!((stage.read("a.txt").as_str(), stage.read("b.txt").as_str()), ("a\n", "b\n"));
    stage.run(&["undo", &id_in(&second)]).ended(0);
    assert_eq!((stage.read("a.txt").as_str(), stage.exists("src/lib.rs")), ("attempt\n", false));
    stage.run(&["undo", &id]).ended(1).says("in the tree already");
}

#[test]
fn folders_that_became_files_and_files_that_became_folders_are_no_conflict() {
    let stage = Stage::new("works", TWO);
    stage.repo.write("folder/file", "committed\n");
    stage.repo.write("file", "committed\n");
    stage.repo.commit_all("both");
    let id = attempt(
        &stage,
        "rm -r folder file; echo a file now >folder; mkdir file; echo inside >file/inside",
    );
    stage.repo.commit_all("work went on");
    let ran = stage.run(&["undo", &id]);
    ran.ended(0).says("4 files brought back on top");
    assert_eq!(
        (stage.read("folder").as_str(), stage.read("file/inside").as_str()),
        ("a file now\n", "inside\n")
    );
    stage.repo.git(["commit", "-qm", "more", "--allow-empty"]);
    stage.run(&["undo", &id_in(&ran)]).ended(0);
    stage.is_clean();
    stage.repo.write("folder/mine", "in the way\n");
    stage.run(&["undo", &id]).ended(1).says("not as they were: folder/mine; nothing was changed");
    assert_eq!(stage.read("folder/mine"), "in the way\n");
}

#[test]
fn files_that_have_nothing_to_do_with_an_attempt_stay_and_others_are_named() {
    let stage = Stage::new("works", TWO);
    stage.repo.write("tracked.txt", "committed\n");
    stage.repo.commit_all("files");
    let commits = "git add a.txt; git -c user.name=A -c user.email=a@localhost commit -qm mine";
    for work in ["true", commits] {
        let id = attempt(&stage, &format!("echo attempt >a.txt; echo new >new.txt; {work}"));
        stage.repo.write("mine.txt", "mine\n");
        stage.repo.write("tracked.txt", "mine\n");
        stage.repo.write("new.txt", "another\n");
        let ran = stage.run(&["undo", &id]);
        ran.ended(0).says("Brought back; 2 files changed");
        ran.says("Changed since that attempt, and replaced by it: new.txt\n");
        let both = || (stage.read("mine.txt"), stage.read("tracked.txt"));
        assert_eq!(both(), ("mine\n".into(), "mine\n".into()));
        assert_eq!(
            (stage.read("a.txt"), stage.read("new.txt")),
            ("attempt\n".into(), "new\n".into())
        );
        stage.repo.write("tracked.txt", "mine, and more\n");
        stage.run(&["undo", &id_in(&ran)]).ended(0);
        assert_eq!(both(), ("mine\n".into(), "mine, and more\n".into()));
        assert_eq!(
            (stage.read("a.txt"), stage.read("new.txt")),
            ("a\n".into(), "another\n".into())
        );
        stage.repo.git(["checkout", "-q", "--", "."]);
        for name in ["mine.txt", "new.txt"] {
            stage.repo.remove(name);
        }
    }
}

#[test]
fn in_another_work_tree_nothing_of_ours_is_left_for_git_to_see() {
    let test = TestRepo::new();
    test.write(".ralph/PRD-1/plan.md", "- [ ] US-001: First\n");
    test.commit_all("the plan");
    let state = StateDir::of_project(test.root());
    state.prepare().unwrap();
    let repo = Repo::open(test.root()).unwrap();
    Checkpoint::create(&repo, &state, "checkpoint").unwrap();
    test.write("a.txt", "an attempt\n");
    rollback(&repo, &state, None, "2 tests failed").unwrap();
    let other = test.scratch().path("other");
    test.git(["worktree", "add", "-q", "-b", "side", other.as_str()]);
    let (_, out, _) = ralph_loop(&other, &["undo"]);
    let (code, out, err) = ralph_loop(&other, &["undo", out.split_whitespace().next().unwrap()]);
    assert_eq!(code, 0, "{out}{err}");
    let status = test.git_in(other.as_std_path(), ["status", "--porcelain"]);
    assert_eq!(status, " M a.txt\n");
}
