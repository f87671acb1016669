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
    (stage, library)
}

fn in_lib(stage: &Stage, args: &[&str]) -> String {
    stage.repo.git_in(stage.repo.root().join("lib").as_std_path(), args)
}

#[test]
fn a_failed_attempt_in_a_submodule_is_out_of_the_way_of_the_next() {
    let (stage, _library) = with_submodule();
    let broken = "echo broken >lib/a.txt; git -C lib commit -qam broken; echo more >lib/new.txt; \
                  git init -q inner; git -C inner commit -q --allow-empty -m x; touch broken";
    let works =
        "grep -qx a lib/a.txt && test ! -e inner && test ! -e lib/new.txt && echo done >done.txt";
    let agent =
        format!("cat >/dev/null; if mkdir \"$AGENT_NOTES/first\"; then {broken}; else {works}; fi");
    stage.run(&["--agent", &agent, "--verify", "! test -e broken"]).ended(0);
    assert_eq!(stage.subjects()[1], "feat(US-001): first");
    assert_eq!(stage.read("lib/a.txt"), "a\n");
    assert_eq!(in_lib(&stage, &["status", "--porcelain", "--branch"]), "## main...origin/main\n");
    stage.is_clean();
}

#[test]
fn what_a_story_commits_in_a_submodule_is_in_that_of_the_project() {
    let (stage, _library) = with_submodule();
    let agent = "cat >/dev/null; cd lib && echo new >new.txt && git add -A && \
                 git -c user.name=x -c user.email=x@x commit -qm new";
    stage.run(&["--agent", agent]).ended(0).says("US-001 done");
    stage.run(&["clean"]).ended(0);
    stage.repo.git(["submodule", "--quiet", "update", "--no-fetch"]);
    assert_eq!(stage.read("lib/new.txt"), "new\n");
    stage.is_clean();
}

#[test]
fn work_that_no_commit_can_hold_is_not_done() {
    let (stage, _library) = with_submodule();
    let agent = "cat >/dev/null; echo done >done.txt; \
                 mkdir \"$AGENT_NOTES/first\" && echo new >lib/a.txt; true";
    let ran = stage.run(&["--agent", agent]);
    ran.ended(0).says("uncommitted work in submodules, which a commit here cannot include: lib");
    assert_eq!((stage.subjects()[1].as_str(), stage.discarded()), ("feat(US-001): first", 1));
    stage.is_clean();

    let stage = Stage::new("works", ONE);
    let agent = "cat >/dev/null; git init -q inner; git -C inner commit -q --allow-empty -m x; \
                 mkdir \"$AGENT_NOTES/first\" || rm -rf inner/.git; echo file >inner/file";
    stage.run(&["--agent", agent]).ended(0).says("created a git repository").says("inner");
    assert_eq!(stage.repo.git(["show", "HEAD:inner/file"]), "file\n");
    stage.run(&["attempts", "US-001/1"]).ended(0).says("+file");
}

#[test]
fn a_users_work_in_a_submodule_stays_where_it_is() {
    let (stage, _library) = with_submodule();
    stage.repo.write("lib/a.txt", "mine\n");
    stage.run(&[]).ended(0);
    assert_eq!(stage.read("lib/a.txt"), "mine\n");
    assert_eq!(stage.subjects()[1], "feat(US-001): first");
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

/// The repository of the copy is made anew beside the old one, which its submodules leave last.
#[test]
fn a_crash_while_the_copys_repository_is_made_anew_costs_neither_submodules_nor_work() {
    for is_old_gone in [false, true] {
        let (mut stage, _library) = with_submodule();
        stage.agent("hangs");
        stage.killed_when(&[], "the agent works", || stage.in_copy("half.txt"));
        let copy = stage.copy().unwrap();
        let (old, new) = (copy.join(".git"), copy.with_extension("new").join(".git"));
        fs_err::create_dir_all(&new).unwrap();
        fs_err::rename(old.join("modules"), new.join("modules")).unwrap();
        if is_old_gone {
            fs_err::remove_dir_all(old).unwrap();
        }
        stage.agent("works");
        stage.run(&[]).ended(0).says("continuing from attempt US-001/1").says("US-001 done");
        assert_eq!(
            (stage.read("half.txt").as_str(), stage.read("lib/a.txt").as_str()),
            ("half\n", "a\n")
        );
        stage.is_clean();
    }
}
