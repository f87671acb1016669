//! Uncommitted work that the loop changed as well: told, listed, and brought back when it can be.

use std::os::unix::fs::PermissionsExt;

use crate::stage::Stage;

const ONE: &str = "- [ ] US-001: First\n";
const AGENT: &str = "echo agent >both.txt; echo agent >gone.txt; echo agent >new.txt";

/// A run whose agent changed the same files as the user; and the id that undo lists.
fn in_conflict() -> (Stage, String) {
    let stage = Stage::new("works", ONE);
    stage.repo.write("both.txt", "old\n");
    stage.repo.write("gone.txt", "old\n");
    stage.repo.commit_all("files");
    stage.repo.write("both.txt", "mine\n");
    stage.repo.chmod("both.txt", 0o600);
    stage.repo.remove("gone.txt");
    stage.repo.write("new.txt", "mine\n");
    stage.repo.write("other.txt", "mine\n");
    let ran = stage.run(&["--allow-dirty", "--agent", AGENT]);
    ran.ended(0).says("uncommitted work is back: 1 file").says("git show refs/ralph/aside/");
    ran.says("gone.txt was removed by you and changed by the loop");
    let id =
        stage.repo.git(["for-each-ref", "--format=%(refname:lstrip=3)", "refs/ralph/discarded"]);
    ran.says(&format!("`ralph-loop undo {}` brings back", id.trim()));
    (stage, id.trim().to_owned())
}

fn as_before_the_run(stage: &Stage) {
    stage.repo.git(["checkout", "HEAD~1", "--", "both.txt", "gone.txt"]);
    stage.repo.git(["rm", "-q", "new.txt"]);
    stage.repo.git(["commit", "-qm", "as it was"]);
}

fn forgotten(stage: &Stage) {
    let ran = stage.run(&["status"]);
    assert!(!ran.ended(0).out.contains("did not come back"), "{}", ran.out);
}

#[test]
fn it_is_journaled_waits_in_the_status_and_is_listed_and_shown() {
    let (stage, id) = in_conflict();
    let journal = stage.read(".ralph/events.jsonl");
    let line = journal.lines().find(|line| line.contains("\"work_not_returned\"")).unwrap();
    assert!(line.contains(&format!("\"kept_as\":\"refs/ralph/discarded/{id}\"")), "{line}");
    assert!(line.contains(r#""files":["gone.txt","both.txt","new.txt"]"#), "{line}");
    let told = "For you   uncommitted work of yours did not come back";
    stage.run(&["status"]).ended(0).says(told).says("both.txt, gone.txt, new.txt").says(&id);
    stage.run(&["undo"]).ended(0).says(&id).says("uncommitted work of yours");
    let shown = stage.run(&["undo", &id, "--show"]);
    shown.ended(0).says("+mine").says("deleted file");
    assert!(!shown.out.contains("other.txt"), "that came back: {}", shown.out);
}

#[test]
fn it_never_overwrites_what_is_there_and_the_advice_works() {
    let (stage, id) = in_conflict();
    let before = stage.repo.fingerprint();
    let ran = stage.run(&["undo", &id]);
    ran.ended(1).says("both.txt, gone.txt, new.txt; nothing was changed");
    ran.says("gone.txt had been removed, and `git rm -- <file>` does that again");
    let after = stage.repo.fingerprint();
    assert_eq!((after.index, after.status), (before.index, before.status));
    assert_eq!(stage.read("both.txt"), "agent\n");
    let name = format!("refs/ralph/discarded/{id}");
    stage.repo.git(["checkout", &name, "--", "both.txt", "new.txt"]);
    stage.repo.git(["rm", "-q", "--", "gone.txt"]);
    assert_eq!((stage.read("both.txt").as_str(), stage.exists("gone.txt")), ("mine\n", false));
    forgotten(&stage);
    stage.run(&["undo", &id]).ended(1).says("in the tree already");
}

#[test]
fn it_comes_back_exactly_where_the_loops_changes_are_gone_and_that_can_be_undone() {
    let (stage, id) = in_conflict();
    as_before_the_run(&stage);
    stage.repo.write("other.txt", "mine, and more\n");
    let status = ["status", "--porcelain", "--", ":!.ralph"];
    let before = stage.repo.git(status);
    let ran = stage.run(&["undo", &id]);
    ran.ended(0).says("3 files");
    assert_eq!(
        (stage.read("both.txt").as_str(), stage.read("new.txt").as_str()),
        ("mine\n", "mine\n")
    );
    assert!(!stage.exists("gone.txt"));
    assert_eq!(stage.read("other.txt"), "mine, and more\n");
    let mode = fs_err::metadata(stage.repo.root().join("both.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    stage.repo.write("both.txt", "mine, and more\n");
    forgotten(&stage);
    stage.repo.write("both.txt", "mine\n");
    let back = ran.out.rsplit(' ').next().unwrap().trim().to_owned();
    stage.run(&["undo", &back]).ended(0);
    assert_eq!(stage.repo.git(status), before);
    stage.run(&["status"]).says("did not come back");
}

#[test]
fn work_that_the_user_has_no_need_of_any_more_is_forgotten() {
    let (stage, id) = in_conflict();
    stage.repo.git(["update-ref", "-d", &format!("refs/ralph/discarded/{id}")]);
    forgotten(&stage);
}
