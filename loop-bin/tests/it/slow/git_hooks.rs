//! The user's git hooks: they are respected, and never waited for indefinitely.

use crate::stage::{ONE, Stage, TWO, is_alive};

#[test]
fn a_hanging_hook_is_ended_and_costs_at_most_one_attempt() {
    for name in ["pre-commit", "commit-msg", "post-commit"] {
        let stage = Stage::new("works", ONE);
        let once = "mkdir \"$AGENT_NOTES/hung\" 2>/dev/null || exit 0";
        stage.install_hook(name, &format!("{once}\necho $$ >\"$AGENT_NOTES/hook\"\nsleep 600"));
        let ran = stage.run(&["--verify-timeout", "1"]);
        ran.ended(0);
        if name != "post-commit" {
            ran.says("hooks rejected the commit").says("they did not finish within 1 second");
            assert_eq!(stage.discarded(), 1, "{name}");
        }
        assert!(!is_alive(&stage.note("hook")), "{name}");
        assert_eq!(stage.subjects(), ["feat(US-001): First", "first"], "{name}");
        assert_eq!(stage.plan(), ONE.replace("[ ]", "[x]"), "{name}");
        stage.is_clean();
    }
}

#[test]
fn a_daemon_started_by_a_hook_does_not_delay_the_run() {
    let stage = Stage::new("works", ONE);
    stage.install_hook("post-commit", "setsid sleep 600 &");
    let begun = std::time::Instant::now();
    stage.run(&[]).ended(0);
    assert!(begun.elapsed().as_secs() < 60);
}

const WORK: &str = "cat >/dev/null; echo 1 >work.py";
const CHECK: &str = "echo checked >>\"$AGENT_NOTES/checks\"; test -s work.py";

#[test]
fn files_changed_by_an_accepting_or_rejecting_hook_are_checked_and_committed() {
    let rejecting = "grep -q tidy work.py && exit; echo '# tidy' >>work.py; exit 1";
    for (tidy, words) in [
        ("echo '# tidy' >>work.py; git add work.py", "hooks changed the commit; checking it again"),
        (rejecting, "US-001 done"),
    ] {
        let stage = Stage::new("works", ONE);
        stage.install_hook("pre-commit", tidy);
        stage.run(&["--agent", WORK, "--verify", CHECK]).ended(0).says(words);
        assert_eq!(stage.repo.git(["show", "HEAD:work.py"]), "1\n# tidy\n");
        assert_eq!(stage.read("work.py"), "1\n# tidy\n");
        assert_eq!((stage.note("checks").as_str(), stage.discarded()), ("checked\nchecked\n", 0));
        stage.is_clean();
    }
}

#[test]
fn a_commit_broken_by_a_hook_does_not_land() {
    for breaks in ["git checkout -q HEAD -- a.txt", "echo broken >a.txt; git add a.txt"] {
        let stage = Stage::new("works", ONE);
        stage.install_hook("pre-commit", breaks);
        let agent = "cat >/dev/null; echo more >>a.txt; echo 1 >new.txt";
        let check = ["--verify", "grep -q more a.txt", "--attempts", "1"];
        let ran = stage.run(&[&["--agent", agent][..], &check].concat());
        ran.ended(8).says("git hooks changed the commit; checking it again");
        assert_eq!((stage.subjects().len(), stage.read("a.txt").as_str()), (1, "a\n"), "{breaks}");
        assert_eq!(stage.plan(), "- [!] US-001: First\n");
    }
}

#[test]
fn a_hook_that_always_changes_files_fails_the_attempt() {
    let stage = Stage::new("works", ONE);
    let changes = "date +%N >>work.py; echo called >>\"$AGENT_NOTES/calls\"; exit 1";
    stage.install_hook("pre-commit", changes);
    let ran = stage.run(&["--agent", WORK, "--attempts", "1"]);
    ran.ended(8).says("git hooks change the files every time they reject the commit");
    assert_eq!((stage.note("calls").lines().count(), stage.discarded()), (3, 1));
}

#[test]
fn a_rejected_progress_commit_is_reported_and_nothing_is_lost() {
    for place in [&[][..], &["--in-place"]] {
        let stage = Stage::committed("works", TWO);
        stage.install_hook(
            "commit-msg",
            "! grep -q chore \"$1\" || { echo no chores >&2; exit 1; }",
        );
        let ran = stage.run(&[&["--max-iterations", "1"], place].concat());
        ran.ended(0).says("progress was not committed: your git hooks rejected the commit");
        ran.says("no chores");
        assert_eq!(stage.repo.git(["status", "--porcelain"]), "", "{place:?}");
        stage.repo.remove(".git/hooks/commit-msg");
        stage.run(place).ended(0).says("US-002 done");
        let progress = stage.progress();
        assert!(progress.contains("US-001") && progress.contains("US-002"), "{progress}");
        assert_eq!(stage.repo.git(["status", "--porcelain"]), "", "{place:?}");
    }
}

#[test]
fn a_hook_that_formats_the_plan_leaves_nothing_uncommitted() {
    let stage = Stage::committed("works", TWO);
    let tidy = "for file in $(git diff --cached --name-only -- '*.md'); do \
                sed -i 's/[.]*$/./' $file; git add $file; done";
    stage.install_hook("pre-commit", tidy);
    stage.run(&[]).ended(0).says("2 stories landed");
    assert_eq!(stage.plan(), "- [x] US-001: First.\n- [x] US-002: Second.\n");
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn unchecked_files_added_by_hooks_to_the_progress_commit_do_not_land() {
    let stage = Stage::committed("works", ONE);
    stage.install_hook("pre-commit", "echo tidy >>US-001.txt; git add US-001.txt");
    let ran = stage.run(&["--verify", "cat US-001.txt"]);
    ran.ended(0).says("your git hooks add unchecked files to the commit");
    let commits = stage.subjects();
    assert_eq!(commits.first().map(String::as_str), Some("feat(US-001): First"), "{commits:?}");
}
