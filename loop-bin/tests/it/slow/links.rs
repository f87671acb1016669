//! Symbolic links made by an agent: neither the loop nor its git reads or writes through them.

use camino::{Utf8Path, Utf8PathBuf};

use crate::stage::{Stage, TWO};

/// The user's files that the links point to.
fn precious(stage: &Stage) -> Utf8PathBuf {
    for name in ["a.key", "settings.json", "plan.md", "exclude", "pre-commit", "config.toml"] {
        stage.repo.scratch().file(&format!("home/precious/{name}"), "precious\n");
    }
    stage.repo.scratch().path("home/precious")
}

fn is_untouched(folder: &Utf8Path) {
    let entries: Vec<_> = folder.read_dir_utf8().unwrap().flatten().collect();
    assert_eq!(entries.len(), 6, "{entries:?}");
    for entry in entries {
        let text = fs_err::read_to_string(entry.path()).unwrap();
        assert_eq!(text, "precious\n", "{}", entry.path());
    }
}

#[test]
fn folders_replaced_by_links_are_not_followed() {
    let stage = Stage::new("works", TWO);
    stage.repo.write(".gitignore", ".env\n*.key\n.claude/\n.ralph/\n");
    stage.repo.write(".worktreeinclude", "*.key\n");
    stage.repo.git(["rm", "-qr", "--cached", "--ignore-unmatch", ".ralph"]);
    stage.repo.commit_all("rules");
    stage.repo.write("conf/a.key", "key\n");
    stage.repo.write(".claude/settings.json", "{}\n");
    let precious = precious(&stage);
    let agent = format!(
        "cat >/dev/null; cat conf/a.key >>\"$AGENT_NOTES/keys\"; rm -rf conf .claude .ralph/PRD-1 .git/index; \
         ln -s {precious} conf; ln -s {precious} .claude; ln -s {precious} .ralph/PRD-1; \
         ln -s {precious}/a.key .git/index; echo x >>x.txt"
    );
    let check = format!("rm -f .git/index; ln -s {precious}/a.key .git/index");
    stage.repo.scratch().script("repo/.git/hooks/pre-commit", "#!/bin/sh\ntrue\n");
    let args = ["--agent", &agent, "--verify", &check, "--prove", "off", "--attempts", "1"];
    // The attempt may write there in these tests, so what checks see there is in no commit.
    stage.run(&args).ended(8).says("conf is a link to a place that is no part of the commit");
    assert_eq!(stage.note("keys"), "key\nkey\n");
    is_untouched(&precious);
}

/// Entries left in the state folder are not followed, and do not block the next attempt.
#[test]
fn odd_entries_in_the_state_folder_are_ignored() {
    let stage = Stage::new("works", TWO);
    stage.repo.write("question.json", "mine\n");
    stage.repo.commit_all("a question");
    stage.repo.write("question.json", "uncommitted\n");
    let agent = "cat >/dev/null; echo x >>x.txt; cd \"$RALPH_STATE_DIR\"; rm -rf mailbox* .checkpoint state \
                 current-story merge-requests; ln -s \"$RALPH_ROOT\" mailbox; \
                 mkdir -p mailbox-question.json/d .checkpoint/d current-story/d state/working-session/d; \
                 mkfifo mailbox-answer.json; echo x >merge-requests; ln -s \"$RALPH_ROOT\" lessons";
    stage.run(&["--agent", agent]).ended(0).says("2 stories landed");
    assert_eq!(stage.read("question.json"), "uncommitted\n");
}

/// An agent cannot land scripts that the loop runs outside, or links to settings of the client.
#[test]
fn scripts_and_settings_cannot_land_through_other_paths() {
    let stage = Stage::new("works", TWO);
    let agent = "cat >/dev/null; echo x >>x.txt; mkdir -p .fresher/hooks cfg; echo '{}' >cfg/settings.json; \
                 rm -rf .claude; ln -s cfg .claude; \
                 printf '#!/bin/sh\\ntouch \"$AGENT_NOTES/ran\"\\n' >.fresher/hooks/post_iteration; \
                 chmod +x .fresher/hooks/post_iteration";
    let ran = stage.run(&["--agent", agent]);
    ran.ended(0).says("2 stories landed").says("left out of the commit");
    assert!(!stage.note_path("ran").exists() && !stage.exists(".fresher"));
    assert!(!stage.repo.root().join(".claude").is_symlink() && stage.exists("cfg/settings.json"));
}

#[test]
fn in_place_replaced_git_and_ralph_files_are_restored() {
    let stage = Stage::new("works", &format!("{TWO}- [ ] US-003: Third\n"));
    stage.repo.git(["config", "extensions.worktreeConfig", "true"]);
    stage.repo.commit_all("the plan");
    stage.repo.git(["branch", "mine"]);
    let other = stage.repo.scratch().dir("other");
    let pipes = "cd .git; rm HEAD index; mkfifo HEAD index ../.ralph/failure-context.log; cd ..";
    for (act, run) in [
        ("rm -rf .git/refs; ln -s {other} .git/refs", "US-001"),
        ("rm -rf .ralph; ln -s {other} .ralph", "US-002"),
        (pipes, "US-003"),
    ] {
        let act = act.replace("{other}", other.as_str());
        let agent = format!(
            "cat >/dev/null; echo x >>x.txt; {act}; printf '[core]\\n\\tfsmonitor = touch \
             \"'$AGENT_NOTES'/ran\"; false\\n' >.git/config.worktree"
        );
        let args = ["--in-place", "--agent", &agent, "--max-iterations", "1"];
        stage.run(&args).ended(0).says(&format!("{run} done"));
        assert_eq!(other.read_dir_utf8().unwrap().count(), 0, "{act}");
        assert!(!stage.exists(".git/config.worktree") && !stage.note_path("ran").exists());
        assert_eq!(stage.repo.git(["log", "-1", "--format=%s", "mine"]), "the plan\n");
    }
}

#[test]
fn in_place_protected_paths_replaced_by_links_are_restored() {
    let stage = Stage::new("works", TWO);
    stage.repo.write(".ralph/config.toml", "[limits]\nattempts_per_story = 2\n");
    stage.repo.scratch().script("repo/.git/hooks/pre-push", "#!/bin/sh\ntrue\n");
    stage.repo.commit_all("settings");
    let precious = precious(&stage);
    let agent = format!(
        "cat >/dev/null; rm -rf .git/hooks .git/info .ralph/config.toml; ln -s {precious} .git/hooks; \
         ln -s {precious} .git/info; ln -s {precious}/config.toml .ralph/config.toml; \
         ln -sf {precious}/config.toml .git/HEAD; echo x >>x.txt"
    );
    let ran = stage.run(&["--in-place", "--agent", &agent]);
    ran.ended(0).says("2 stories landed");
    is_untouched(&precious);
    assert_eq!(stage.read(".git/hooks/pre-push"), "#!/bin/sh\ntrue\n");
    assert!(!stage.repo.root().join(".git/info").is_symlink());
    assert_eq!(stage.read(".ralph/config.toml"), "[limits]\nattempts_per_story = 2\n");
}

/// The user's link is kept, and its target is restored.
#[test]
fn in_place_user_links_and_their_targets_are_restored() {
    let stage = Stage::new("works", TWO);
    stage.repo.write(".gitignore", ".claude\n.ralph/config.toml\n");
    stage.repo.commit_all("rules");
    let home = stage.repo.scratch().file("home/dots/settings.json", "{}\n");
    let settings =
        stage.repo.scratch().file("home/ralph.toml", "[limits]\nattempts_per_story = 2\n");
    let dots = home.parent().unwrap();
    fs_err::os::unix::fs::symlink(dots, stage.repo.root().join(".claude")).unwrap();
    let link = stage.repo.root().join(".ralph/config.toml");
    fs_err::os::unix::fs::symlink(&settings, &link).unwrap();
    let agent = "cat >/dev/null; rm .claude; mkdir .claude; echo theirs >.claude/settings.json; \
                 echo '[verify]' >.ralph/config.toml; echo x >>x.txt";
    stage.run(&["--in-place", "--agent", agent]).ended(0).says("2 stories landed");
    assert_eq!(stage.repo.root().join(".claude").read_link_utf8().unwrap(), dots);
    assert_eq!(fs_err::read_to_string(home).unwrap(), "{}\n");
    assert_eq!(link.read_link_utf8().unwrap(), settings);
    assert_eq!(stage.read(".ralph/config.toml"), "[limits]\nattempts_per_story = 2\n");
}

#[test]
fn in_place_changes_by_a_check_or_git_hook_are_restored() {
    let stage = Stage::new("works", TWO);
    stage.script("post_iteration", "echo mine");
    stage.repo.commit_all("a script");
    let change = "echo 'echo theirs' >.ralph/hooks/post_iteration; git config alias.x y; \
                  mkdir -p .ralph/hooks/custom; echo theirs >.ralph/hooks/custom/date; \
                  git config core.fsmonitor \"touch $AGENT_NOTES/ran; false\"";
    let hook = format!("#!/bin/sh\n{change}\n");
    stage.repo.scratch().script("repo/.git/hooks/pre-commit", &hook);
    let before = fs_err::read(stage.repo.root().join(".git/config")).unwrap();
    for check in [change, "true"] {
        let ran = stage.run(&["--in-place", "--verify", check, "--max-iterations", "1"]);
        ran.ended(0).says("[post_iteration] mine");
        assert!(!format!("{}{}", ran.out, ran.err).contains("[post_iteration] theirs"));
        assert_eq!(fs_err::read(stage.repo.root().join(".git/config")).unwrap(), before);
        assert!(!stage.note_path("ran").exists() && !stage.exists(".ralph/hooks/custom/date"));
        assert_eq!(format!("{}{}", ran.out, ran.err).contains("restored "), check == change);
    }
}

/// An attempt has no access to the user's terminal, where it could type.
#[test]
fn processes_of_an_attempt_run_in_another_session() {
    let stage = Stage::new("works", TWO);
    let look = "ps -o sid= -p $$ >>\"$AGENT_NOTES/sessions\"";
    stage.repo.scratch().script("repo/.git/hooks/pre-commit", &format!("#!/bin/sh\n{look}\n"));
    let agent = format!("cat >/dev/null; echo x >x.txt; {look}");
    let args = ["--agent", &agent, "--verify", look, "--setup", look, "--max-iterations", "1"];
    stage.run(&args).ended(0).says("US-001 done");
    let own = std::process::id().to_string();
    let own = std::process::Command::new("ps").args(["-o", "sid=", "-p", &own]).output().unwrap();
    let own = String::from_utf8(own.stdout).unwrap();
    let sessions = stage.note("sessions");
    assert_eq!(sessions.lines().count(), 4, "{sessions}");
    assert!(sessions.lines().all(|session| session.trim() != own.trim()), "{own}: {sessions}");
}

/// A folder that no attempt may write, attributes for a filter `z`, and a filter that writes there.
fn outside(stage: &Stage) -> (Utf8PathBuf, Utf8PathBuf, String) {
    let outside = stage.repo.scratch().path("outside");
    fs_err::create_dir_all(&outside).unwrap();
    let attributes = stage.repo.scratch().file("home/attributes", "* filter=z\n");
    let filter = format!("'touch {outside}/escaped; cat'");
    (outside, attributes, filter)
}

/// Both stories land with only the notes additionally writable, and nothing escapes.
#[track_caller]
fn lands_inside(stage: &Stage, args: &[&str], outside: &Utf8Path) {
    let ran = stage.run_env(&[("RALPH_SANDBOX_WRITE", stage.note_path(".").as_str())], args);
    ran.ended(0).says("2 stories landed");
    assert_eq!(outside.read_dir_utf8().unwrap().count(), 0);
}

/// A user's hook that runs the agent's code may change the settings and folders of the copy's git.
#[test]
fn changes_of_a_git_hook_to_the_copys_repository_stay_inside() {
    let stage = Stage::new("works", TWO);
    let (outside, attributes, filter) = outside(&stage);
    stage.repo.write("lint.sh", "exit 0\n");
    stage.repo.write("b.txt", "b\n");
    stage.repo.commit_all("a linter");
    stage.repo.scratch().script("repo/.git/hooks/pre-commit", "#!/bin/sh\nexec sh ./lint.sh\n");
    let lint = format!(
        "git config filter.z.clean {filter}\ngit config filter.z.smudge {filter}\n\
         git config core.attributesFile {attributes}\necho formatted >>b.txt\n\
         rm -rf .git/refs/ralph\nln -s {outside} .git/refs/ralph\n"
    );
    let agent = format!("cat >/dev/null; echo $$ >>x.txt; cat >lint.sh <<'END'\n{lint}END\n");
    lands_inside(&stage, &["--agent", &agent], &outside);
}

#[test]
fn processes_left_by_a_check_are_ended_with_it() {
    // Also a process that has cleared its environment.
    for setsid in ["setsid", "setsid env -i PATH=\"$PATH\" F=\"$F\" HOME=\"$HOME\""] {
        let stage = Stage::new("works", TWO);
        let (outside, attributes, filter) = outside(&stage);
        let daemons = stage.note_path("daemons");
        let check = format!(
            "F={filter}; export F; {setsid} sh -c 'echo $$ >>{daemons}; while :; do \
             git config filter.z.clean \"$F\"; git config core.attributesFile {attributes}; sleep 0.02; \
             done' >/dev/null 2>&1 </dev/null & sleep 0.1"
        );
        let agent = format!(
            "cat >/dev/null; echo $$ >>x.txt; for pid in $(cat {daemons} 2>/dev/null); do \
             kill -0 $pid 2>/dev/null && echo $pid >>{daemons}-alive; done; true"
        );
        lands_inside(&stage, &["--agent", &agent, "--verify", &check], &outside);
        assert!(!stage.note("daemons").is_empty() && !stage.note_path("daemons-alive").exists());
    }
}
