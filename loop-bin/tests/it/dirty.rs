//! The user's own uncommitted work.

use test_support::TestRepo;

use crate::stage::Stage;

const ONE: &str = "- [ ] US-001: First\n";

#[test]
fn a_dirty_tree_is_refused_with_advice() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("a.txt", "mine\n");
    stage.run(&[]).ended(1).says("a.txt").says("--allow-dirty");
    assert_eq!((stage.read("a.txt").as_str(), stage.subjects().len()), ("mine\n", 1));
}

#[test]
fn work_that_is_kept_aside_is_neither_committed_nor_lost() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("a.txt", "mine\n");
    stage.repo.write("secret.txt", "untracked\n");
    stage.repo.chmod("secret.txt", 0o600);
    stage.repo.remove("src/lib.rs");
    stage.run(&["--allow-dirty"]).ended(0).says("uncommitted work is back: 3 files");
    let files = stage.repo.git(["show", "--format=", "--name-only", "HEAD"]);
    assert_eq!(files, ".ralph/PRD-1/plan.md\nUS-001.txt\n");
    assert_eq!(
        (stage.read("a.txt").as_str(), stage.read("secret.txt").as_str()),
        ("mine\n", "untracked\n")
    );
    assert!(!stage.exists("src/lib.rs"));
}

#[test]
fn folders_that_became_files_and_files_that_became_folders_come_back() {
    for is_staged in [false, true] {
        let stage = Stage::new("works", ONE);
        stage.repo.write("folder/file", "committed\n");
        stage.repo.write("file", "committed\n");
        stage.repo.commit_all("both");
        stage.repo.remove("folder");
        stage.repo.write("folder", "a file now\n");
        stage.repo.remove("file");
        stage.repo.write("file/inside", "a folder now\n");
        if is_staged {
            stage.repo.git(["add", "--all", "--", "folder", "file"]);
        }
        let before = stage.repo.git(["status", "--porcelain", "--", ":!.ralph"]);
        stage.run(&["--allow-dirty"]).ended(0).says("uncommitted work is back: 4 files");
        assert_eq!(stage.repo.git(["status", "--porcelain", "--", ":!.ralph"]), before);
        assert_eq!(stage.read("folder"), "a file now\n");
        assert_eq!(stage.read("file/inside"), "a folder now\n");
    }
}

#[test]
fn attributes_that_are_not_committed_change_no_commit() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("c.txt", "committed\n");
    stage.repo.commit_all("text");
    stage.repo.write(".gitattributes", "*.txt text eol=crlf\n");
    stage.repo.write("c.txt", "committed\nmine\n");
    stage.run(&["--allow-dirty"]).ended(0);
    let files = stage.repo.git(["show", "--format=", "--name-only", "HEAD"]);
    assert_eq!(files, ".ralph/PRD-1/plan.md\nUS-001.txt\n");
    assert_eq!(stage.read("c.txt"), "committed\nmine\n");
}

#[test]
fn a_file_that_both_changed_is_merged_or_kept_in_a_ref() {
    let stage = Stage::new("works", ONE);
    let lines = |first: &str, last: &str| format!("{first}\n1\n2\n3\n4\n5\n6\n{last}\n");
    stage.repo.write("merged.txt", lines("a", "z"));
    stage.repo.write("both.txt", "old\n");
    stage.repo.commit_all("files");
    stage.repo.write("merged.txt", lines("mine", "z"));
    stage.repo.write("both.txt", "mine\n");
    let agent = "sed -i 's/^z$/agent/' merged.txt; echo agent >both.txt";
    let ran = stage.run(&["--allow-dirty", "--agent", agent]);
    ran.ended(0).says("both.txt was changed by you and by the loop");
    assert_eq!(stage.read("merged.txt"), lines("mine", "agent"));
    assert_eq!(stage.read("both.txt"), "agent\n");
    let aside = stage.repo.git(["for-each-ref", "--format=%(refname)", "refs/ralph/aside"]);
    assert_eq!(stage.repo.git(["show", &format!("{}:both.txt", aside.trim())]), "mine\n");
}

#[test]
fn a_run_that_changes_nothing_gives_back_even_what_was_staged() {
    let stage = Stage::new("idle", ONE);
    stage.repo.write("a.txt", "staged\n");
    stage.repo.git(["add", "a.txt"]);
    stage.repo.write("a.txt", "and more\n");
    let before = stage.repo.git(["status", "--porcelain", "--", "a.txt"]);
    stage.run(&["--allow-dirty"]).ended(4);
    assert_eq!(stage.repo.git(["status", "--porcelain", "--", "a.txt"]), before);
    assert_eq!(stage.repo.git(["show", ":a.txt"]), "staged\n");
}

#[test]
fn links_come_back_as_links_and_nothing_is_written_through_one() {
    let stage = Stage::new("works", ONE);
    let outside = stage.repo.scratch().file("outside.txt", "not ours\n");
    stage.repo.symlink("tracked", "a.txt");
    stage.repo.write("kind.txt", "a file\n");
    stage.repo.write("folder/inside.txt", "old\n");
    stage.repo.commit_all("a link");
    stage.repo.symlink("new-link", "no/such/place");
    stage.repo.symlink("to-a-folder", "src");
    stage.repo.symlink("leads-out", &outside);
    stage.repo.remove("tracked");
    stage.repo.symlink("tracked", "src/lib.rs");
    stage.repo.remove("kind.txt");
    stage.repo.symlink("kind.txt", "a.txt");
    stage.repo.write("folder/inside.txt", "mine\n");
    let agent = "echo done >done.txt; rm -r folder; ln -s /tmp folder; git add -A";
    let ran = stage.run(&["--allow-dirty", "--agent", agent]);
    ran.ended(0).says("folder/inside.txt was changed by you and by the loop");
    let target = |name: &str| fs_err::read_link(stage.repo.root().join(name)).unwrap();
    assert_eq!(target("new-link").to_str(), Some("no/such/place"));
    assert_eq!(target("to-a-folder").to_str(), Some("src"));
    assert_eq!(target("leads-out"), outside);
    assert_eq!(target("tracked").to_str(), Some("src/lib.rs"));
    assert_eq!(target("kind.txt").to_str(), Some("a.txt"));
    assert_eq!(stage.read("a.txt"), "a\n");
    assert_eq!(fs_err::read_to_string(outside).unwrap(), "not ours\n");
}

#[test]
fn links_modes_and_staged_changes_come_back_on_top_of_new_commits() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("tool.sh", "#!/bin/sh\n");
    stage.repo.write("gone.txt", "g\n");
    stage.repo.commit_all("files");
    stage.repo.chmod("tool.sh", 0o755);
    stage.repo.symlink("link", "a.txt");
    stage.repo.git(["rm", "-q", "--cached", "gone.txt"]);
    stage.repo.write("a.txt", "staged\n");
    stage.repo.git(["add", "a.txt"]);
    stage.repo.write("a.txt", "and more\n");
    let status = ["status", "--porcelain", "--", ":!.ralph"];
    let before = stage.repo.git(status);
    stage.run(&["--allow-dirty"]).ended(0);
    assert_eq!(stage.repo.git(status), before);
    assert_eq!(stage.repo.git(["show", ":a.txt"]), "staged\n");
    let link = fs_err::read_link(stage.repo.root().join("link")).unwrap();
    assert_eq!(link.to_str(), Some("a.txt"));
}

#[test]
fn work_before_the_first_commit_comes_back_staged_or_not() {
    for (agent, code) in [("works", 0), ("idle", 4)] {
        let stage = Stage::with(TestRepo::empty(), agent, ONE);
        stage.repo.write("staged.txt", "staged\n");
        stage.repo.write("intended.txt", "intended\n");
        stage.repo.git(["add", "staged.txt"]);
        stage.repo.git(["add", "-N", "intended.txt"]);
        stage.repo.write("staged.txt", "and more\n");
        stage.repo.write("new.txt", "new\n");
        let status = ["status", "--porcelain", "--", ":!.ralph"];
        let before = stage.repo.git(status);
        stage.run(&[]).ended(1).says("staged.txt").says("--allow-dirty");
        stage.run(&["--allow-dirty"]).ended(code).says("uncommitted work is back: 3 files");
        assert_eq!(stage.repo.git(status), before, "{agent}");
        assert_eq!(stage.repo.git(["show", ":staged.txt"]), "staged\n");
        assert_eq!(stage.read("staged.txt"), "and more\n");
        let log = stage.repo.try_git(stage.repo.root().as_std_path(), ["log", "--name-only"]);
        assert!(!String::from_utf8_lossy(&log.stdout).contains("staged.txt"));
    }
}

#[test]
fn a_file_that_is_only_meant_to_be_added_comes_back_as_such() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("meant [x].txt", "later\n");
    stage.repo.write("gone.txt", "");
    stage.repo.write("app.log", "ignored\n");
    stage.repo.git(["add", "-N", "--force", "meant [x].txt", "gone.txt", "app.log"]);
    let status = ["status", "--porcelain", "--ignored", "--", ":!.ralph"];
    let before = stage.repo.git(status);
    stage.run(&["--allow-dirty"]).ended(0);
    assert_eq!(stage.repo.git(status), before);
    assert_eq!(stage.repo.git(["diff", "--cached", "--name-only"]), "");
    assert_eq!(stage.read("meant [x].txt"), "later\n");
}

#[test]
fn unresolved_conflicts_are_refused_with_advice() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("a.txt", "stashed\n");
    stage.repo.git(["stash", "-q"]);
    stage.repo.write("a.txt", "committed\n");
    stage.repo.commit_all("changed");
    let root = stage.repo.root().as_std_path();
    assert!(!stage.repo.try_git(root, ["stash", "pop"]).status.success());
    let before = stage.repo.fingerprint();
    for flags in [&[][..], &["--allow-dirty"]] {
        stage.run(flags).ended(1).says("unresolved conflicts: a.txt").says("git add");
    }
    let after = stage.repo.fingerprint();
    assert_eq!(
        (after.index, after.status, after.stash),
        (before.index, before.status, before.stash)
    );
}

#[test]
fn one_file_that_cannot_come_back_does_not_keep_the_others_away() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("notes/one.txt", "mine\n");
    stage.repo.write("z.txt", "mine too\n");
    let ran = stage.run(&["--allow-dirty", "--agent", "rm -rf notes; echo a file >notes"]);
    ran.ended(0).says("notes/one.txt was changed by you and by the loop");
    assert_eq!(
        (stage.read("z.txt").as_str(), stage.read("notes").as_str()),
        ("mine too\n", "a file\n")
    );
}

#[test]
fn a_log_folder_that_leads_elsewhere_is_not_written_to() {
    let stage = Stage::new("works", ONE);
    let outside = stage.repo.scratch().dir("outside");
    stage.repo.symlink(".ralph/logs", &outside);
    stage.run(&[]).ended(1).says("is a symlink");
    assert_eq!(fs_err::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn a_folder_of_ours_that_an_agent_made_a_link_is_put_back_without_following_it() {
    let stage = Stage::new("works", ONE);
    stage.script("post_iteration", "exit 0");
    let outside = stage.repo.scratch().dir("outside");
    stage.repo.scratch().file("outside/post_iteration/precious", "p");
    let agent =
        format!("echo done >d.txt; mv .ralph/hooks h && ln -s {outside} .ralph/hooks; rm -r h");
    stage.run(&["--agent", &agent]).ended(0).says("put back");
    assert!(stage.repo.scratch().path("outside/post_iteration/precious").exists());
    let hooks = stage.repo.root().join(".ralph/hooks");
    assert!(!hooks.is_symlink() && hooks.join("post_iteration").is_file());
}

#[test]
fn repositories_inside_with_work_of_their_own_are_not_swept_in() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("nested/file.txt", "theirs\n");
    let nested = stage.repo.root().join("nested");
    for args in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "theirs"]] {
        stage.repo.git_in(nested.as_std_path(), args);
    }
    for flags in [&[][..], &["--allow-dirty"]] {
        stage.run(flags).ended(1).says("nested").says(".gitignore");
    }
    stage.repo.write(".gitignore", "nested/\n");
    stage.repo.commit_all("ignored");
    stage.run(&[]).ended(0);
}

#[test]
fn a_plan_behind_a_link_is_refused_before_any_agent_runs() {
    let stage = Stage::new("works", ONE);
    let real = stage.repo.scratch().file("real.md", ONE);
    stage.repo.remove(".ralph/PRD-1/plan.md");
    stage.repo.symlink(".ralph/PRD-1/plan.md", &real);
    stage.repo.commit_all("a link");
    stage.run(&[]).ended(2).says("symlink").says("--plan");
    assert_eq!(fs_err::read_to_string(real).unwrap(), ONE);
}
