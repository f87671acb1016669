//! Submodules and repositories inside the project.

use test_support::TestRepo;

use crate::stage::Stage;

const ONE: &str = "- [ ] US-001: First\n";

/// A project with the submodule `lib`.
fn with_submodule() -> (Stage, TestRepo) {
    let (stage, library) = (Stage::new("works", ONE), TestRepo::new());
    let url = library.root().as_str();
    stage.repo.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "lib"]);
    stage.repo.commit_all("submodule");
    for (key, value) in [("user.name", "Test"), ("user.email", "test@localhost")] {
        stage.repo.git_in(stage.repo.root().join("lib").as_std_path(), ["config", key, value]);
    }
    (stage, library)
}

fn in_lib(stage: &Stage, args: &[&str]) -> String {
    stage.repo.git_in(stage.repo.root().join("lib").as_std_path(), args)
}

#[test]
fn an_attempt_in_vain_is_taken_back_there_too_and_the_run_goes_on() {
    let (stage, _library) = with_submodule();
    let broken = "echo broken >lib/a.txt; git -C lib commit -qam broken; echo more >lib/new.txt; \
                  git init -q inner; git -C inner commit -q --allow-empty -m x; touch broken";
    let works = "test ! -e inner && test ! -e lib/new.txt && echo done >done.txt";
    let agent =
        format!("cat >/dev/null; if mkdir \"$AGENT_NOTES/first\"; then {broken}; else {works}; fi");
    stage.run(&["--agent", &agent, "--verify", "! test -e broken"]).ended(0);
    assert_eq!(stage.subjects()[0], "feat(US-001): First");
    assert_eq!(stage.read("lib/a.txt"), "a\n");
    assert_eq!(in_lib(&stage, &["status", "--porcelain", "--branch"]), "## main...origin/main\n");
    stage.is_clean();
    let id =
        stage.repo.git(["for-each-ref", "--format=%(refname:lstrip=3)", "refs/ralph/discarded"]);
    let shown = stage.run(&["undo", "--show", id.trim()]);
    shown.ended(0).says("in lib:").says("+broken").says("+more").says("inner: a repository");
    let head = stage.repo.head();
    let undone = stage.run(&["undo", id.trim()]);
    undone.ended(0).says("the branch stays as it is");
    assert_eq!(stage.repo.head(), head);
    assert_eq!(
        (stage.read("lib/a.txt").as_str(), stage.read("lib/new.txt").as_str()),
        ("broken\n", "more\n")
    );
    assert!(stage.exists("inner/.git"));
    let back = undone.out.trim().rsplit(' ').next().unwrap();
    stage.run(&["undo", back]).ended(0);
    assert_eq!((stage.read("lib/a.txt").as_str(), stage.exists("inner")), ("a\n", false));
    assert_eq!(in_lib(&stage, &["status", "--porcelain", "--branch"]), "## main...origin/main\n");
}

#[test]
fn commits_in_a_submodule_are_recorded() {
    let (stage, _library) = with_submodule();
    let agent = "cat >/dev/null; echo new >lib/a.txt; git -C lib commit -qam new";
    stage.run(&["--agent", agent]).ended(0);
    let recorded = stage.repo.git(["rev-parse", "HEAD:lib"]);
    assert_eq!(recorded, in_lib(&stage, &["rev-parse", "HEAD"]));
    stage.is_clean();
}

#[test]
fn work_that_no_commit_can_hold_is_not_done() {
    let (stage, _library) = with_submodule();
    let forgets = "cat >/dev/null; echo done >done.txt; echo new >lib/a.txt";
    let commits = "git -C lib commit -qam new";
    let agent = format!("{forgets}; mkdir \"$AGENT_NOTES/first\" || {commits}");
    stage.run(&["--agent", &agent]).ended(0).says("uncommitted work inside the submodule lib");
    assert_eq!((stage.subjects()[0].as_str(), stage.discarded()), ("feat(US-001): First", 1));
    stage.is_clean();

    let stage = Stage::new("works", ONE);
    let agent = "cat >/dev/null; git init -q inner; git -C inner commit -q --allow-empty -m x; \
                 mkdir \"$AGENT_NOTES/first\" || rm -rf inner/.git; echo file >inner/file";
    stage.run(&["--agent", agent]).ended(0).says("inner/ is a repository of its own");
    assert_eq!(stage.repo.git(["show", "HEAD:inner/file"]), "file\n");
}

#[test]
fn a_users_work_in_a_submodule_is_refused_or_stays_where_it_is() {
    let (stage, _library) = with_submodule();
    stage.repo.write("lib/a.txt", "mine\n");
    stage.run(&[]).ended(1).says("lib").says("submodule.<name>.ignore");
    stage.run(&["--allow-dirty"]).ended(0).says("stays where it is");
    assert_eq!(stage.read("lib/a.txt"), "mine\n");
    assert_eq!(stage.subjects()[0], "feat(US-001): First");
    in_lib(&stage, &["commit", "-qam", "mine"]);
    stage.run(&["--allow-dirty"]).ended(1).says("lib");
}

#[test]
fn a_submodule_that_the_user_wants_overlooked_is() {
    let (stage, _library) = with_submodule();
    stage.repo.write("lib/a.txt", "mine\n");
    stage.repo.git(["config", "submodule.lib.ignore", "dirty"]);
    stage.run(&[]).ended(0);
    assert_eq!(stage.read("lib/a.txt"), "mine\n");
}

#[test]
fn an_idle_agent_has_changed_nothing_whatever_is_in_a_submodule() {
    let (mut stage, _library) = with_submodule();
    stage.repo.write("lib/a.txt", "mine\n");
    stage.agent("idle");
    stage.run(&["--allow-dirty"]).ended(4);
}

#[test]
fn a_work_tree_of_the_clients_is_neither_refused_nor_committed() {
    let stage = Stage::new("works", ONE);
    stage.repo.git(["worktree", "add", "-q", ".claude/worktrees/one"]);
    stage.run(&[]).ended(0);
    let files = stage.repo.git(["log", "--format=", "--name-only"]);
    assert!(!files.contains(".claude"), "{files}");
    assert!(stage.exists(".claude/worktrees/one/a.txt"));
}
