//! Submodules and repositories inside the project.

use test_support::TestRepo;

use crate::stage::{ONE, Stage};

/// A project with the submodule `lib`.
fn with_submodule() -> (Stage, TestRepo) {
    let stage = Stage::new("works", ONE);
    let library = stage.submodule("lib");
    stage.repo.commit_all("the plan");
    (stage, library)
}

fn in_lib(stage: &Stage, args: &[&str]) -> String {
    stage.repo.git_in(stage.repo.root().join("lib").as_std_path(), args)
}

#[test]
fn a_failed_attempt_in_a_submodule_does_not_affect_the_next() {
    let (stage, _library) = with_submodule();
    let broken = "echo broken >lib/a.txt; git -C lib commit -qam broken; echo more >lib/new.txt; \
                  git init -q inner; git -C inner commit -q --allow-empty -m x; touch broken";
    let works =
        "grep -qx a lib/a.txt && test ! -e inner && test ! -e lib/new.txt && echo done >done.txt";
    let agent =
        format!("cat >/dev/null; if mkdir \"$AGENT_NOTES/first\"; then {broken}; else {works}; fi");
    stage.run(&["--agent", &agent, "--verify", "! test -e broken"]).ended(0);
    assert_eq!(stage.subjects()[1], "feat(US-001): First");
    assert_eq!(stage.read("lib/a.txt"), "a\n");
    assert_eq!(in_lib(&stage, &["status", "--porcelain", "--branch"]), "## main...origin/main\n");
    stage.is_clean();
}

#[test]
fn commits_in_a_submodule_reach_the_projects_submodule() {
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
fn work_that_cannot_be_committed_is_not_done_and_is_kept() {
    let (stage, _library) = with_submodule();
    let agent = "cat >/dev/null; echo done >done.txt; \
                 mkdir \"$AGENT_NOTES/first\" && echo new >lib/a.txt && echo more >lib/b.txt; true";
    let ran = stage.run(&["--agent", agent]);
    ran.ended(0).says("uncommitted work in submodules, which a commit here cannot include: lib");
    assert_eq!((stage.subjects()[1].as_str(), stage.discarded()), ("feat(US-001): First", 1));
    for (file, text) in [("a.txt", "new\n"), ("b.txt", "more\n")] {
        let kept = format!("refs/ralph/attempts/PRD-1/US-001/1^2:lib/{file}");
        assert_eq!(stage.repo.git(["show", &kept]), text);
    }
    stage.is_clean();

    let stage = Stage::new("works", ONE);
    let agent = "cat >/dev/null; git init -q inner; git -C inner commit -q --allow-empty -m x; \
                 mkdir \"$AGENT_NOTES/first\" || rm -rf inner/.git; echo file >inner/file";
    stage.run(&["--agent", agent]).ended(0).says("all of the work is in a git").says("inner");
    assert_eq!(stage.repo.git(["show", "HEAD:inner/file"]), "file\n");
    stage.run(&["attempts", "US-001/1"]).ended(0).says("+file");
}

#[test]
fn worktrees_and_repositories_of_the_agent_are_not_committed() {
    let add = "git worktree add -q -b side .claude/worktrees/side";
    let clone = "git clone -q . inner; rm inner/.git/objects/info/alternates; git init -q empty; \
                 echo x >empty/x";
    for (acts, left_out) in [
        (add.to_owned(), ""),
        (format!("{add}; echo b >.claude/worktrees/side/b.txt"), ".claude/worktrees/side"),
        (clone.to_owned(), "empty, inner"),
        (format!("{add}; rm -rf .git"), ""),
    ] {
        let stage = Stage::new("works", ONE);
        let agent = format!("cat >/dev/null; {acts}; echo new >new.txt");
        let ran = stage.run(&["--agent", &agent]);
        ran.ended(0).says("US-001 done").says(left_out);
        let files = stage.repo.git(["show", "--format=", "--name-only", "HEAD"]);
        assert_eq!(files, "new.txt\n", "{acts}");
        stage.is_clean();
    }
}

#[test]
fn work_left_out_of_a_commit_is_kept_if_the_target_moved() {
    let stage = Stage::committed("works", ONE);
    let aside = "git worktree add -q -b side .claude/worktrees/side; \
                 echo aside >.claude/worktrees/side/b.txt; echo new >new.txt";
    let theirs = "cd $RALPH_ROOT && echo theirs >theirs.txt && git add theirs.txt && \
                  git commit -qm theirs";
    let agent = format!("cat >/dev/null; {aside}; {theirs}");
    let ran = stage.run(&["--agent", &agent, "--verify", "true"]);
    ran.ended(0).says("the target moved").says("US-001 done");
    let log = ["log", "-p", "--format=%s", "-m", "--glob=refs/ralph/attempts"];
    let kept = stage.repo.git(log);
    assert!(kept.contains("+aside\n"), "{kept}");
}

#[test]
fn a_story_whose_work_is_in_another_work_tree_is_not_done() {
    let add = "git worktree add -q -b side .claude/worktrees/side; cd .claude/worktrees/side";
    for (ignored, acts) in [
        ("", "echo done >done.txt"),
        (".claude/\n", "echo done >done.txt"),
        ("", "echo done >done.txt; git add -A; git commit -qm side"),
    ] {
        let stage = Stage::new("works", ONE);
        stage.repo.write(".gitignore", ignored);
        stage.repo.commit_all("ignored");
        let claim = "ralph-loop complete US-001 --status success --summary done";
        let agent =
            format!("cat >/dev/null; {add}; {acts}; cd \"$RALPH_WORKSPACE\"; {claim}; true");
        let ran = stage.run(&["--agent", &agent, "--verify", "true", "--attempts", "1"]);
        ran.ended(8).says("all of the work is in a git repository or work tree");
        stage.run(&["attempts", "US-001/1"]).ended(0).says("done.txt").says("+done");
    }
}

#[test]
fn user_changes_in_a_submodule_are_kept() {
    let (stage, _library) = with_submodule();
    stage.repo.write("lib/a.txt", "mine\n");
    stage.run(&[]).ended(0);
    assert_eq!(stage.read("lib/a.txt"), "mine\n");
    assert_eq!(stage.subjects()[1], "feat(US-001): First");
}

#[test]
fn a_worktree_of_the_client_is_neither_refused_nor_committed() {
    let stage = Stage::new("works", ONE);
    stage.repo.git(["worktree", "add", "-q", ".claude/worktrees/one"]);
    stage.run(&[]).ended(0);
    let files = stage.repo.git(["log", "--format=", "--name-only"]);
    assert!(!files.contains(".claude"), "{files}");
    assert!(stage.exists(".claude/worktrees/one/a.txt"));
}

/// The copy gets another repository, and the submodules are moved from the old one to the new one.
#[test]
fn a_crash_while_the_copys_repository_is_replaced_loses_nothing() {
    for are_moved in [false, true] {
        let (mut stage, _library) = with_submodule();
        stage.agent("hangs");
        stage.killed_when(&[], "the agent works", || stage.in_copy("half.txt"));
        let copy = stage.copy().unwrap();
        let [old, new] = ["git-1.old", "git-1.new"].map(|name| copy.with_file_name(name));
        fs_err::rename(copy.join(".git"), &old).unwrap();
        if are_moved {
            fs_err::create_dir(&new).unwrap();
            fs_err::rename(old.join("modules"), new.join("modules")).unwrap();
        }
        stage.agent("works");
        stage.run(&[]).ended(0).says("continuing from attempt US-001/1").says("US-001 done");
        stage.has(&[("half.txt", "half\n"), ("lib/a.txt", "a\n")]);
        stage.is_clean();
    }
}

#[test]
fn checks_do_not_see_repositories_left_out_of_the_commit() {
    let stage = Stage::new("works", ONE);
    let agent = "cat >/dev/null; echo done >done.txt; git init -q inner; echo file >inner/file";
    stage.run(&["--agent", agent, "--verify", "! test -e done.txt || test -e inner/file"]).ended(8);
    stage.run(&["retry", "US-001"]).ended(0);
    stage.run(&["--agent", agent, "--verify", "test ! -e inner"]).ended(0).says("US-001 done");
    stage.run(&["attempts", "US-001"]).ended(0).says("left out of the commit: inner");
    let kept =
        stage.repo.git(["log", "--all", "--full-history", "--format=%H", "--", "inner/file"]);
    assert!(kept.lines().count() >= 2, "{kept}");
}

#[test]
fn an_unmerged_branch_of_a_landed_story_is_kept() {
    let stage = Stage::new("works", ONE);
    let commit = "git -c user.name=x -c user.email=x@x commit -qam";
    let agent = format!(
        "cat >/dev/null; git checkout -qb side; echo side >a.txt; {commit} side; git checkout -qb in main; \
         echo in >in.txt; git add in.txt; {commit} in; git checkout -q main; git merge -q --no-ff -m merge in"
    );
    stage.run(&["--agent", &agent]).ended(0).says("US-001 done");
    assert_eq!(stage.discarded(), 1);
    stage.run(&["attempts"]).ended(0).says("other branches and stashes of the agent");
    assert_eq!(stage.repo.git(["show", "refs/ralph/attempts/PRD-1/US-001/2:a.txt"]), "side\n");
}

#[test]
fn a_work_tree_outside_of_the_copy_is_never_removed() {
    let stage = Stage::new("works", ONE);
    std::fs::create_dir_all(stage.note_path("mine")).unwrap();
    std::fs::write(stage.note_path("mine/file"), "mine").unwrap();
    let agent = "cat >/dev/null; echo done >done.txt; git worktree add -q -b side \"$AGENT_NOTES/side\"; \
                 git worktree add -q -b other inner; \
                 echo \"$AGENT_NOTES/mine/.git\" >.git/worktrees/inner/gitdir";
    stage.run(&["--agent", agent]).ended(0).says("US-001 done");
    assert!(stage.note_path("side").is_dir());
    assert_eq!(stage.note("mine/file"), "mine");
}
