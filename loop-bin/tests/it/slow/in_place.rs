//! `--in-place`: the agent works in the project's own tree, and a failed attempt is rolled back.

use crate::stage::{ONE, PLAN, Stage, TWO};

fn committed() -> Stage {
    Stage::committed("works", TWO)
}

#[test]
fn several_stories_are_done_without_a_copy() {
    for agent in ["works", "commits"] {
        let mut stage = committed();
        stage.agent(agent);
        stage.run(&["--in-place", "--verify", "ls *.txt"]).ended(0).says("2 stories landed");
        assert!(stage.copy().is_none() && stage.exists("US-002.txt"), "{agent}");
        let subjects = stage.subjects();
        let landed = ["feat(US-002): Second", "feat(US-001): First", "the plan", "first"];
        assert_eq!(subjects[subjects.len() - 4..], landed, "{agent}");
        assert_eq!(stage.repo.git(["symbolic-ref", "--short", "HEAD"]), "main\n");
        assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
        assert_eq!(stage.repo.git(["status", "--porcelain"]), "", "{agent}");
    }
}

#[test]
fn a_failed_attempt_is_saved_and_rolled_back() {
    let stage = committed();
    stage.repo.write("kept.log", "ignored\n");
    let before = stage.repo.files();
    let agent = "cat >/dev/null; echo tried >a.txt; echo new >new.txt; rm src/lib.rs; git add -A; \
                 git commit -qm mine; git checkout -q -b topic; echo more >>new.txt; exit 1";
    let args = ["--in-place", "--agent", agent, "--attempts", "1", "--max-iterations", "1"];
    stage.run(&args).ended(0).says("attempt saved");
    let after = stage.repo.files();
    for (path, file) in before.iter().filter(|(path, _)| !path.starts_with(".ralph")) {
        assert_eq!(after.get(path), Some(file), "{}", path.display());
    }
    assert_eq!((stage.exists("new.txt"), stage.discarded()), (false, 1));
    assert_eq!(stage.repo.git(["symbolic-ref", "--short", "HEAD"]), "main\n");
    stage.is_clean();
    stage.run(&["attempts", "US-001/1"]).ended(0).says("+more").says("+tried");
}

#[test]
fn a_dirty_tree_is_refused_by_name() {
    let stage = committed();
    stage.repo.write("mine.txt", "mine\n");
    stage.run(&["--in-place"]).ended(1).says("uncommitted changes: mine.txt");
    stage.repo.remove("mine.txt");
    for flag in ["--skip-worktree", "--assume-unchanged"] {
        stage.repo.git(["update-index", flag, "a.txt"]);
        stage.run(&["--in-place"]).ended(1).says("a.txt").says("--no-skip-worktree");
        stage.repo.git(["update-index", &flag.replace("--", "--no-"), "a.txt"]);
    }
    stage.run(&["--in-place"]).ended(0);
}

#[test]
fn files_that_control_the_run_are_restored() {
    let stage = committed();
    stage.script("finished", "echo mine");
    let settings = "[limits]\nattempts_per_story = 2\n";
    stage.repo.write(".ralph/config.toml", settings);
    stage.repo.write(".claude/settings.json", "{}\n");
    stage.repo.commit_all("settings");
    let agent = format!(
        "cat >/dev/null; echo x >$(cat .ralph/current-story).txt; echo '[verify]' >.ralph/config.toml; \
         echo 'echo theirs' >.ralph/hooks/finished; echo x >.ralph/hooks/started; \
         rm .claude/settings.json; sed -i 's/\\[ \\]/[x]/' {PLAN}"
    );
    let ran = stage.run(&["--in-place", "--agent", &agent]);
    ran.ended(0).says("[finished] mine").says("2 stories landed");
    ran.says("which changed during the run; the other version is ");
    assert_eq!(stage.read(".ralph/config.toml"), settings);
    assert_eq!(stage.read(".claude/settings.json"), "{}\n");
    assert!(!stage.exists(".ralph/hooks/started"));
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn an_interrupted_attempt_is_continued_only_in_place() {
    let stage = committed();
    let agent = "cat >/dev/null; echo half >>half.txt; touch \"$AGENT_NOTES/begun\"; sleep 600";
    for signal in ["TERM", "KILL"] {
        let mut child = stage.start(&["--in-place", "--grace", "1", "--agent", agent]);
        crate::stage::until("the agent works", || stage.note_path("begun").exists());
        crate::stage::signal(signal, child.id());
        child.wait().unwrap();
        fs_err::remove_file(stage.note_path("begun")).unwrap();
    }
    let elsewhere = "an attempt at US-001 was interrupted in";
    stage.run(&[]).ended(1).says(elsewhere).says("--in-place");
    stage.run(&["--in-place"]).ended(0).says("continuing from attempt");
    assert_eq!(stage.read("half.txt"), "half\nhalf\n");
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn git_clean_by_the_agent_does_not_expose_state_files() {
    let stage = committed();
    let agent = "cat >/dev/null; git clean -xfdq; echo x >>x.txt; git clean -xfdq -e x.txt";
    stage.run(&["--in-place", "--agent", agent]).ended(0).says("2 stories landed");
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
}

#[test]
fn checkpoints_do_not_pile_up_in_the_users_repository() {
    let stage = committed();
    for number in 100..200 {
        stage.repo.git(["update-ref", &format!("refs/ralph/checkpoint/{number}"), "HEAD"]);
    }
    stage.run(&["--in-place"]).ended(0).says("2 stories landed");
    let left = stage.repo.git(["for-each-ref", "refs/ralph/checkpoint"]);
    assert_eq!(left.lines().count(), 100, "{left}");
}

#[test]
fn work_interrupted_during_checks_lands_with_the_next_start() {
    for (signal, is_clean) in [("INT", true), ("KILL", false)] {
        let stage = committed();
        let check = "echo $$ >\"$AGENT_NOTES/begun\"; sleep 600";
        let mut child = stage.start(&["--in-place", "--verify", check]);
        crate::stage::until("the check runs", || !stage.note("begun").is_empty());
        crate::stage::signal(signal, child.id());
        child.wait().unwrap();
        let status = stage.repo.git(["status", "--porcelain"]);
        assert_eq!(status.is_empty(), is_clean, "{status}");
        let fails = ["--agent", "echo x >x.txt; exit 1", "--attempts", "1"];
        let ran = stage.run(&[&["--in-place", "--verify", "ls US-001.txt"], &fails[..]].concat());
        ran.ended(8).says("US-001 done").says("US-002 is blocked");
        assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
        let files = stage.repo.git(["log", "--format=", "--name-only", "--grep=First", "-1"]);
        assert!(files.contains("US-001.txt"), "{files}");
    }
}

/// Committed files of the loop and the client, with uncommitted edits.
const EDITED: [(&str, &str); 6] = [
    (".ralph/config.toml", "[limits]\nattempts_per_story = 2\n"),
    (".ralph/guardrails.md", "- mine\n"),
    (".ralph/PRD-1/progress.md", "# Progress Log\n\nmine\n"),
    (".ralph/hooks/started", "#!/bin/sh\necho mine\n"),
    (".claude/settings.json", "{\"model\":\"x\"}\n"),
    (PLAN, "- [ ] US-001: First, as I said\n- [ ] US-002: Second\n"),
];

#[test]
fn uncommitted_edits_of_control_files_survive() {
    let failing = "cat >/dev/null; echo x >x.txt; exit 1";
    for agent in ["", failing] {
        let stage = Stage::new("works", TWO);
        for (path, _) in EDITED {
            stage.repo.write(path, if path == PLAN { TWO } else { "" });
        }
        stage.repo.git(["add", "--all", "--force"]);
        stage.repo.commit_all("settings");
        for (path, text) in EDITED {
            stage.repo.write(path, text);
        }
        stage.repo.chmod(".ralph/hooks/started", 0o755);
        if agent.is_empty() {
            stage.run(&["doctor", "--in-place", "--verify", "true"]).ended(0);
        } else {
            stage.run(&["--in-place", "--agent", agent, "--attempts", "1"]).ended(8);
        }
        assert!(!stage.exists("x.txt"));
        for (path, text) in EDITED {
            let now = stage.read(path).replace("[!]", "[ ]");
            assert!(now.starts_with(text), "{path}: {now}");
        }
    }
}

#[test]
fn an_untracked_plan_is_kept() {
    for plan in [PLAN, "PLAN.md"] {
        let stage = Stage::new("works", TWO);
        stage.repo.remove(PLAN);
        stage.repo.write(plan, TWO);
        let args = ["--in-place", "--plan", plan];
        stage.run(&[&["doctor", "--verify", "true"], &args[..]].concat()).ended(0);
        assert_eq!(stage.read(plan), TWO);
        let fails = ["--agent", "cat >/dev/null; echo x >x.txt; exit 1", "--attempts", "1"];
        stage.run(&[&args[..], &fails].concat()).ended(8).says("attempt saved");
        assert_eq!(stage.read(plan), TWO.replace("[ ]", "[!]"));
        stage.run(&["retry", "US-001", "--plan", plan]).ended(0);
        stage.run(&args).ended(8).says("US-001 done");
        assert_eq!(stage.read(plan), "- [x] US-001: First\n- [!] US-002: Second\n");
    }
}

#[test]
fn user_work_begun_between_two_attempts_is_saved() {
    let stage = committed();
    let agent = "cat >/dev/null; echo x >x.txt; exit 1";
    stage.script("post_iteration", "echo mine >mine.txt");
    let args = ["--in-place", "--agent", agent, "--attempts", "2", "--max-iterations", "2"];
    stage.run(&args).ended(0);
    let kept = stage.repo.git(["log", "-p", "--format=", "--glob=refs/ralph/discarded", "-m"]);
    assert!(kept.contains("+mine"), "{kept}");
}

#[test]
fn a_plan_that_the_agent_emptied_before_a_kill_is_restored() {
    for act in [format!(": >{PLAN}"), format!("rm {PLAN}")] {
        let stage = committed();
        let agent = format!("cat >/dev/null; {act}; touch \"$AGENT_NOTES/begun\"; sleep 600");
        let args = ["--in-place", "--agent", &agent];
        stage.killed_when(&args, "the agent works", || stage.note_path("begun").exists());
        stage.run(&["--in-place"]).ended(0).says("2 stories landed");
        assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"), "{act}");
    }
}

#[test]
fn a_hook_that_formats_the_progress_does_not_duplicate_entries() {
    let stage = committed();
    let hook = "#!/bin/sh\nf=.ralph/PRD-1/progress.md\n\
                [ -e $f ] && sed -i 's/$/ /' $f && git add $f\ntrue\n";
    stage.repo.scratch().script("repo/.git/hooks/pre-commit", hook);
    stage.run(&["--in-place"]).ended(0).says("2 stories landed");
    for story in ["US-001", "US-002"] {
        let times = stage.progress().matches(&format!(" - {story}")).count();
        assert_eq!(times, 1, "{}", stage.progress());
    }
}

#[test]
fn the_users_uncommitted_progress_survives_whatever_the_agent_does() {
    const PROGRESS: &str = ".ralph/PRD-1/progress.md";
    for act in ["git reset -q --hard", "git checkout -q .", "git stash -q", "rm -rf .ralph"] {
        for end in ["", "; exit 1", "; touch \"$AGENT_NOTES/begun\"; sleep 600"] {
            let stage = committed();
            stage.repo.write(PROGRESS, "# Progress Log\n");
            stage.repo.git(["add", "--all", "--force"]);
            stage.repo.commit_all("progress");
            stage.repo.write(PROGRESS, "# Progress Log\n\nmine\n");
            let write = format!("mkdir -p .ralph/PRD-1; echo theirs >>{PROGRESS}");
            let agent = format!("cat >/dev/null; {act}; echo x >x.txt; {write}{end}");
            let limits = ["--attempts", "1", "--max-iterations", "1"];
            let args = [&["--in-place", "--agent", &agent][..], &limits].concat();
            if end.contains("sleep") {
                stage.killed_when(&args, "the agent works", || stage.note_path("begun").exists());
                stage.run(&["--in-place"]).ended(0).says("2 stories landed");
            } else {
                stage.run(&args).ended(0);
            }
            let now = stage.read(PROGRESS);
            assert!(now.starts_with("# Progress Log\n\nmine\n"), "{act}{end}: {now}");
            let theirs = if end.is_empty() { 1 } else { 0 };
            assert_eq!(now.matches("theirs").count(), theirs, "{act}{end}: {now}");
        }
    }
}

#[test]
fn an_interrupted_rollback_does_not_overwrite_the_saved_attempt() {
    let stage = committed();
    let agent = "cat >/dev/null; echo tried >>a.txt; echo new >new.txt; exit 1";
    let args = ["--in-place", "--agent", agent, "--attempts", "2", "--max-iterations", "1"];
    stage.run_env(&[(super::FAULT, "restore.checked-out")], &args);
    let kept = || stage.repo.git(["rev-parse", "refs/ralph/attempts/PRD-1/US-001/1^{tree}"]);
    let (before, is_half) = (kept(), stage.exists("new.txt") && stage.read("a.txt") == "a\n");
    assert!(is_half, "the files were checked out, and none was removed");
    stage.run(&["--in-place"]).ended(0).says("2 stories landed");
    assert_eq!(kept(), before);
}

#[test]
fn a_project_moved_after_a_kill_continues_its_attempt() {
    let mut stage = committed();
    stage.repo.write(".ralph/config.toml", "[limits]\nattempts_per_story = 2\n");
    stage.repo.commit_all("settings");
    let agent = format!(
        "cat >/dev/null; echo half >half.txt; git add half.txt; git commit -qm theirs; rm {PLAN}; \
         echo more >more.txt; rm .ralph/config.toml; touch \"$AGENT_NOTES/begun\"; sleep 600"
    );
    let (args, tip) = (["--in-place", "--agent", &agent], stage.repo.head());
    stage.killed_when(&args, "the agent works", || stage.note_path("begun").exists());
    let before = stage.repo.root().to_owned();
    stage.repo.move_to("elsewhere");
    let ran = stage.run(&["--in-place"]);
    ran.ended(0).says("continuing from attempt").says("2 stories landed");
    assert!(!before.exists(), "nothing is written where the project was");
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
    let subjects = stage.repo.git(["log", "--format=%s", &format!("{tip}..")]);
    assert!(!subjects.contains("theirs") && subjects.contains("feat(US-001)"), "{subjects}");
    assert!(stage.exists("more.txt") && stage.exists(".ralph/config.toml"));
}

#[test]
fn refs_and_stashes_that_the_agent_changes_are_restored() {
    for end in ["", "exit 1", "touch \"$AGENT_NOTES/begun\"; sleep 600"] {
        let stage = committed();
        let git = |command: &str| stage.repo.git(command.split(' '));
        git("branch topic");
        git("branch other");
        git("tag -a -m release v1");
        for text in ["one", "two"] {
            stage.repo.write("a.txt", text);
            git(&format!("stash push -q -m {text}"));
        }
        git("symbolic-ref refs/remotes/origin/HEAD refs/heads/topic");
        let list = "for-each-ref --format=%(objectname)%(symref)%(refname) refs/heads/topic \
                    refs/heads/other refs/heads/new refs/tags refs/notes/mine refs/remotes refs/stash";
        let before = [git(list), git("stash list")];
        let agent = format!(
            "cat >/dev/null; git branch -qD topic; git tag -d v1; git stash clear; echo x >x.txt; \
             git symbolic-ref refs/remotes/origin/HEAD refs/heads/main; git checkout -q other; \
             git commit -q --allow-empty -m mine; git tag theirs; git notes --ref=mine add -m x; \
             git symbolic-ref refs/tags/main refs/heads/main; git update-ref --no-deref HEAD HEAD; \
             git checkout -q -b new; printf '%s\\n' $(git rev-parse HEAD) >.git/shallow; {end}"
        );
        let limits = ["--attempts", "1", "--max-iterations", "1"];
        let args = [&["--in-place", "--agent", &agent][..], &limits].concat();
        let ran = if end.contains("sleep") {
            stage.killed_when(&args, "the agent works", || stage.note_path("begun").exists());
            stage.run(&["--in-place"])
        } else {
            stage.run(&args)
        };
        ran.ended(0).says("restored refs/heads/topic at ").says("restored refs/heads/other at ");
        ran.says("; that is kept as refs/ralph/discarded/");
        let kept = git("log --format=%s --glob=refs/ralph/discarded");
        assert!(kept.contains("mine\n"), "{kept}");
        assert!(!stage.exists(".git/shallow"), "{end}");
        assert_eq!([git(list), git("stash list")], before, "{end}");
        assert_eq!(git("symbolic-ref --short HEAD"), "main\n");
    }
}

#[test]
fn a_git_folder_that_the_agent_replaces_is_put_back() {
    for end in ["", "touch \"$AGENT_NOTES/begun\"; sleep 600"] {
        let stage = committed();
        let (hook, tip) = ("#!/bin/sh\nexit 1\n", stage.repo.head());
        let agent = format!(
            "cat >/dev/null; mkdir -p deep/er; mv .git deep/er/hidden; git init -q theirs; \
             printf '{hook}' >theirs/.git/hooks/pre-commit; chmod +x theirs/.git/hooks/pre-commit; \
             ln -s theirs/.git .git; {end}"
        );
        let args = ["--in-place", "--agent", &agent, "--attempts", "1", "--max-iterations", "1"];
        let ran = if end.is_empty() {
            stage.run(&args)
        } else {
            stage.killed_when(&args, "the agent works", || stage.note_path("begun").exists());
            stage.run(&["--in-place", "--max-iterations", "1"])
        };
        ran.says("restored ").says(".git, which was replaced during the run");
        let git = stage.repo.root().join(".git");
        assert!(git.symlink_metadata().unwrap().is_dir() && git.join("ralph").is_symlink());
        stage.repo.git(["merge-base", "--is-ancestor", &tip, "HEAD"]);
        assert!(!git.join("hooks/pre-commit").exists(), "{end}");
    }
}

#[test]
fn what_an_agent_puts_in_place_of_a_lost_git_folder_is_not_used() {
    let stage = committed();
    let copied = "cat >/dev/null; cp -r .git theirs; rm -rf .git; ln -s theirs .git; \
                  printf '#!/bin/sh\nexit 1\n' >theirs/hooks/pre-commit; chmod +x theirs/hooks/*";
    let ran = stage.run(&["--in-place", "--agent", copied, "--max-iterations", "1"]);
    ran.says(".git, which was replaced during the run");
    let git = stage.repo.root().join(".git");
    assert!(git.symlink_metadata().unwrap().is_dir() && !git.join("hooks/pre-commit").exists());
    let agent = "cat >/dev/null; git init -q theirs; rm -rf .git; ln -s theirs/.git .git";
    let ran = stage.run(&["--in-place", "--agent", agent, "--max-iterations", "1"]);
    ran.ended(1).says("is not the git folder that it was").says("it is now ");
    assert!(!stage.exists(".git"));
}

#[test]
fn checks_and_setup_cannot_change_files_that_control_the_run() {
    let stage = Stage::new("works", ONE);
    let set = "printf '[sandbox]\\nmode = \"off\"\\n' >>.ralph/config.toml; echo x >.git/hooks/post-commit";
    stage.repo.write("package-lock.json", "{}\n");
    stage.repo.write(".ralph/config.toml", format!("[workspace]\nsetup = ['''{set}''']\n"));
    stage.repo.commit_all("settings");
    let before = stage.read(".ralph/config.toml");
    let said = "config.toml, which changed during the run";
    let args = ["--in-place", "--verify", &format!("{set}; true")];
    let ran = stage.run(&args);
    ran.ended(0).says(said);
    assert_eq!(stage.read(".ralph/config.toml"), before);
    assert!(!stage.exists(".git/hooks/post-commit"));
}

#[test]
fn the_run_record_cannot_be_redirected() {
    let stage = Stage::new("works", TWO);
    let away = stage.repo.scratch().dir("away");
    for act in [
        format!("rm -rf .git/ralph; ln -s {away} .git/ralph"),
        "rm .git/ralph; mkdir .git/ralph".into(),
    ] {
        let agent = format!("cat >/dev/null; echo x >>$(cat .ralph/current-story).txt; {act}");
        stage.run(&["--in-place", "--agent", &agent, "--max-iterations", "1"]).ended(0);
        let leads = stage.repo.root().join(".git/ralph").read_link_utf8().unwrap();
        assert!(leads.starts_with(stage.repo.scratch().path("home")), "{leads}");
    }
    stage.run(&["status"]).ended(0);
    assert_eq!(away.read_dir_utf8().unwrap().count(), 0);
}
