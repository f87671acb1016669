//! The user's own git hooks: heard, and never waited for without an end.

use crate::stage::{Stage, is_alive, signal, until};

const ONE: &str = "- [ ] US-001: First\n";

/// A hook that says who it is and then hangs, the first time it is called.
fn hangs(stage: &Stage, hook: &str) {
    let path = format!(".git/hooks/{hook}");
    let once = "mkdir \"$AGENT_NOTES/hung\" 2>/dev/null || exit 0";
    stage
        .repo
        .write(&path, format!("#!/bin/sh\n{once}\necho $$ >\"$AGENT_NOTES/hook\"\nsleep 600\n"));
    stage.repo.chmod(&path, 0o755);
}

#[test]
fn one_that_hangs_costs_an_attempt_and_is_ended() {
    for hook in ["pre-commit", "commit-msg"] {
        let stage = Stage::new("works", ONE);
        hangs(&stage, hook);
        let ran = stage.run(&["--verify-timeout", "1"]);
        ran.ended(0).says("did not end within 1 second").says("hook");
        assert!(!is_alive(&stage.note("hook")), "{hook}");
        assert_eq!(stage.subjects(), ["feat(US-001): first", "first"], "{hook}");
        assert_eq!((stage.discarded(), stage.plan()), (1, ONE.replace("[ ]", "[x]")), "{hook}");
        stage.is_clean();
    }
}

#[test]
fn one_that_hangs_after_the_commit_does_not_undo_it() {
    let stage = Stage::new("works", ONE);
    hangs(&stage, "post-commit");
    stage.run(&["--verify-timeout", "1"]).ended(0);
    assert!(!is_alive(&stage.note("hook")));
    assert_eq!(stage.subjects(), ["feat(US-001): first", "first"]);
    assert_eq!((stage.discarded(), stage.plan()), (0, ONE.replace("[ ]", "[x]")));
    stage.is_clean();
}

#[test]
fn a_signal_ends_one_that_hangs() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let stage = Stage::new("works", ONE);
        hangs(&stage, "pre-commit");
        let mut child = stage.start(&[]);
        until("git commits", || !stage.note("hook").is_empty());
        signal(name, child.id());
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert!(!is_alive(&stage.note("hook")));
        assert_eq!((stage.plan().as_str(), stage.discarded()), (ONE, 1));
        stage.is_clean();
        stage.run(&[]).ended(0);
        assert_eq!(stage.subjects(), ["feat(US-001): first", "first"]);
    }
}

#[test]
fn one_that_outlived_its_loop_is_named_and_ended_by_the_next_start() {
    let stage = Stage::new("works", ONE);
    hangs(&stage, "pre-commit");
    let mut child = stage.start(&[]);
    until("git commits", || !stage.note("hook").is_empty());
    signal("KILL", child.id());
    child.wait().unwrap();
    assert!(is_alive(&stage.note("hook")), "the hook outlives a loop that is killed");
    stage.run(&[]).ended(0).says("git hooks outlived a run that was killed");
    assert!(!is_alive(&stage.note("hook")));
    assert_eq!(stage.subjects(), ["feat(US-001): first", "first"]);
    stage.is_clean();
}

#[test]
fn a_daemon_that_one_leaves_does_not_hold_us_up() {
    let stage = Stage::new("works", ONE);
    let hook = ".git/hooks/post-commit";
    stage.repo.write(hook, "#!/bin/sh\nsetsid sleep 600 &\n");
    stage.repo.chmod(hook, 0o755);
    let begun = std::time::Instant::now();
    stage.run(&[]).ended(0);
    assert!(begun.elapsed().as_secs() < 60);
}

/// What an agent does to add a hook with this body.
fn adds(body: &str) -> String {
    format!(
        "cat >/dev/null; echo new >new.txt; printf '#!/bin/sh\\n{body}\\n' >.git/hooks/pre-commit; \
         chmod +x .git/hooks/pre-commit"
    )
}

#[test]
fn one_that_a_failed_attempt_added_goes_with_it_and_is_kept() {
    let stage = Stage::new("works", ONE);
    let agent = format!(
        "[ -e \"$AGENT_NOTES/twice\" ] && echo ok >ok.txt && exit; {}; touch \"$AGENT_NOTES/twice\"",
        adds("exit 1")
    );
    let ran = stage.run(&["--agent", &agent]);
    ran.ended(0).says("took out the git hook").says("it is kept as").says("US-001 done");
    assert!(!stage.exists(".git/hooks/pre-commit"));
    assert_eq!(stage.subjects(), ["feat(US-001): first", "first"]);
    stage.is_clean();
}

#[test]
fn one_that_a_story_added_stays_and_is_told() {
    let stage = Stage::new("works", ONE);
    let ran = stage.run(&["--agent", &adds("exit 0")]);
    ran.ended(0).says("the agent added git hooks").says("pre-commit");
    assert!(stage.exists(".git/hooks/pre-commit"));
}

fn pre_commit(stage: &Stage, body: &str) {
    stage.repo.write(".git/hooks/pre-commit", format!("#!/bin/sh\n{body}\n"));
    stage.repo.chmod(".git/hooks/pre-commit", 0o755);
}

#[test]
fn one_that_puts_files_in_order_and_refuses_gets_them_checked_and_committed_so() {
    let stage = Stage::new("works", ONE);
    pre_commit(&stage, "grep -q tidy work.py && exit; echo '# tidy' >>work.py; exit 1");
    let check = "echo checked >>\"$AGENT_NOTES/checks\"; test -s work.py";
    let ran = stage.run(&["--agent", "cat >/dev/null; echo 1 >work.py", "--verify", check]);
    ran.ended(0).says("US-001 done");
    assert_eq!(stage.repo.git(["show", "HEAD:work.py"]), "1\n# tidy\n");
    assert_eq!((stage.note("checks").as_str(), stage.discarded()), ("checked\nchecked\n", 0));
    stage.is_clean();
}

#[test]
fn one_that_changes_files_for_ever_costs_attempts_and_ends() {
    let stage = Stage::new("works", ONE);
    pre_commit(&stage, "date +%N >>work.py; echo called >>\"$AGENT_NOTES/calls\"; exit 1");
    let ran = stage.run(&["--agent", "cat >/dev/null; echo 1 >work.py", "--attempts", "1"]);
    ran.ended(1).says("the commit was refused");
    assert_eq!((stage.note("calls").lines().count(), stage.discarded()), (3, 1));
}

#[test]
fn what_one_keeps_out_of_the_commit_is_told() {
    let stage = Stage::new("works", ONE);
    pre_commit(&stage, "git reset -q -- new.txt");
    let ran = stage.run(&["--agent", "cat >/dev/null; echo 1 >a.txt; echo 1 >new.txt"]);
    ran.ended(0).says("a check or a git hook left new.txt uncommitted");
}

#[test]
fn what_one_rewrites_after_the_checks_is_told() {
    let stage = Stage::new("works", ONE);
    pre_commit(&stage, "git checkout -q HEAD -- a.txt");
    let agent = "cat >/dev/null; echo more >>a.txt; echo 1 >new.txt";
    let ran = stage.run(&["--agent", agent, "--verify", "grep -q more a.txt"]);
    ran.ended(0).says("changed a.txt while the commit was made; no check has seen that");
}

#[test]
fn one_that_refuses_without_a_word_is_told_as_such() {
    let stage = Stage::new("works", ONE);
    pre_commit(&stage, "exit 1");
    let ran = stage.run(&["--attempts", "1"]);
    ran.ended(1).says("the commit was refused, by a git hook that printed nothing");
}
