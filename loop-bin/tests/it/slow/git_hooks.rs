//! The user's git hooks: they are respected, and never waited for indefinitely.

use crate::stage::{Stage, is_alive, signal, until};

const ONE: &str = "- [ ] US-001: First\n";

fn hook(stage: &Stage, name: &str, body: &str) {
    let path = format!(".git/hooks/{name}");
    stage.repo.write(&path, format!("#!/bin/sh\n{body}\n"));
    stage.repo.chmod(&path, 0o755);
}

/// A hook that records its process id and then hangs, the first time it is called.
fn hangs(stage: &Stage, name: &str) {
    let once = "mkdir \"$AGENT_NOTES/hung\" 2>/dev/null || exit 0";
    hook(stage, name, &format!("{once}\necho $$ >\"$AGENT_NOTES/hook\"\nsleep 600"));
}

#[test]
fn a_hanging_hook_is_ended_and_costs_an_attempt() {
    for name in ["pre-commit", "commit-msg"] {
        let stage = Stage::new("works", ONE);
        hangs(&stage, name);
        let ran = stage.run(&["--verify-timeout", "1"]);
        ran.ended(0)
            .says("your git hooks rejected the commit")
            .says("they did not finish within 1 second");
        assert!(!is_alive(&stage.note("hook")), "{name}");
        assert_eq!(stage.subjects(), ["feat(US-001): First", "first"], "{name}");
        assert_eq!((stage.discarded(), stage.plan()), (1, ONE.replace("[ ]", "[x]")), "{name}");
        stage.is_clean();
    }
}

#[test]
fn a_hook_that_hangs_after_the_commit_is_ended_and_the_story_lands() {
    let stage = Stage::new("works", ONE);
    hangs(&stage, "post-commit");
    stage.run(&["--verify-timeout", "1"]).ended(0);
    assert!(!is_alive(&stage.note("hook")));
    assert_eq!(stage.subjects(), ["feat(US-001): First", "first"]);
    assert_eq!(stage.plan(), ONE.replace("[ ]", "[x]"));
    stage.is_clean();
}

#[test]
fn a_signal_ends_a_hanging_hook() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let stage = Stage::new("works", ONE);
        hangs(&stage, "pre-commit");
        let mut child = stage.start(&[]);
        until("git commits", || !stage.note("hook").is_empty());
        signal(name, child.id());
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert!(!is_alive(&stage.note("hook")));
        assert_eq!((stage.plan().as_str(), stage.discarded()), (ONE, 1));
        stage.run(&[]).ended(0);
        assert_eq!(stage.subjects(), ["feat(US-001): First", "first"]);
    }
}

#[test]
fn a_hook_that_outlived_its_loop_is_ended_by_the_next_start() {
    let stage = Stage::new("works", ONE);
    hangs(&stage, "pre-commit");
    stage.killed_when(&[], "git commits", || !stage.note("hook").is_empty());
    assert!(is_alive(&stage.note("hook")), "the hook outlives a loop that is killed");
    stage.run(&[]).ended(0);
    assert!(!is_alive(&stage.note("hook")));
    assert_eq!(stage.subjects(), ["feat(US-001): First", "first"]);
    stage.is_clean();
}

#[test]
fn a_daemon_started_by_a_hook_does_not_delay_the_run() {
    let stage = Stage::new("works", ONE);
    hook(&stage, "post-commit", "setsid sleep 600 &");
    let begun = std::time::Instant::now();
    stage.run(&[]).ended(0);
    assert!(begun.elapsed().as_secs() < 60);
}

#[test]
fn hooks_added_or_disabled_by_the_agent_are_ignored() {
    for act in [
        "printf '#!/bin/sh\\nexit 1\\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
        "git config core.hooksPath /nowhere",
    ] {
        let stage = Stage::new("works", ONE);
        hook(&stage, "commit-msg", "touch \"$AGENT_NOTES/called\"");
        let agent = format!("cat >/dev/null; mkdir -p .git/hooks; echo new >new.txt; {act}");
        stage.run(&["--agent", &agent]).ended(0).says("US-001 done");
        assert!(stage.note_path("called").exists(), "the user's own is called: {act}");
        assert!(!stage.exists(".git/hooks/pre-commit"));
    }
}

#[test]
fn the_agent_gets_another_attempt_after_a_hook_rejects_its_commit() {
    let stage = Stage::new("works", ONE);
    hook(&stage, "pre-commit", "grep -q nice work.txt || { echo 'not nice' >&2; exit 1; }");
    let agent = "grep -q 'not nice' && echo nice >work.txt || echo rude >work.txt";
    stage
        .run(&["--agent", agent])
        .ended(0)
        .says("your git hooks rejected the commit")
        .says("not nice");
    assert_eq!((stage.read("work.txt").as_str(), stage.discarded()), ("nice\n", 1));
}

const WORK: &str = "cat >/dev/null; echo 1 >work.py";
const CHECK: &str = "echo checked >>\"$AGENT_NOTES/checks\"; test -s work.py";

#[test]
fn files_formatted_by_a_rejecting_hook_are_checked_and_committed() {
    let stage = Stage::new("works", ONE);
    let tidy = "grep -q tidy work.py && exit; echo '# tidy' >>work.py; exit 1";
    hook(&stage, "pre-commit", tidy);
    stage.run(&["--agent", WORK, "--verify", CHECK]).ended(0).says("US-001 done");
    assert_eq!(stage.repo.git(["show", "HEAD:work.py"]), "1\n# tidy\n");
    assert_eq!((stage.note("checks").as_str(), stage.discarded()), ("checked\nchecked\n", 0));
    stage.is_clean();
}

#[test]
fn a_commit_changed_by_a_hook_is_checked_again() {
    let stage = Stage::new("works", ONE);
    hook(&stage, "pre-commit", "echo '# tidy' >>work.py; git add work.py");
    let ran = stage.run(&["--agent", WORK, "--verify", CHECK]);
    ran.ended(0).says("git hooks changed the commit; checking it again").says("US-001 done");
    assert_eq!(stage.repo.git(["show", "HEAD:work.py"]), "1\n# tidy\n");
    assert_eq!(
        (stage.read("work.py").as_str(), stage.note("checks").as_str()),
        ("1\n# tidy\n", "checked\nchecked\n")
    );
    stage.is_clean();
}

#[test]
fn a_commit_broken_by_a_hook_does_not_land() {
    for breaks in ["git checkout -q HEAD -- a.txt", "echo broken >a.txt; git add a.txt"] {
        let stage = Stage::new("works", ONE);
        hook(&stage, "pre-commit", breaks);
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
    hook(&stage, "pre-commit", "date +%N >>work.py; echo called >>\"$AGENT_NOTES/calls\"; exit 1");
    let ran = stage.run(&["--agent", WORK, "--attempts", "1"]);
    ran.ended(8).says("git hooks change the files every time they reject the commit");
    assert_eq!((stage.note("calls").lines().count(), stage.discarded()), (3, 1));
}

#[test]
fn a_silent_rejection_by_a_hook_is_reported() {
    let stage = Stage::new("works", ONE);
    hook(&stage, "pre-commit", "exit 1");
    let ran = stage.run(&["--attempts", "1"]);
    ran.ended(8).says("your git hooks rejected the commit");
}

#[test]
fn hooks_run_for_the_progress_commit() {
    let stage = Stage::new("works", ONE);
    stage.repo.commit_all("the plan");
    hook(&stage, "commit-msg", "head -1 \"$1\" >>\"$AGENT_NOTES/heard\"");
    stage.run(&[]).ended(0);
    assert_eq!(stage.note("heard"), "feat(US-001): First\nchore(ralph): record progress\n");
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn a_rejected_progress_commit_is_reported_and_nothing_is_lost() {
    for place in [&[][..], &["--in-place"]] {
        let stage = Stage::new("works", "- [ ] US-001: First\n- [ ] US-002: Second\n");
        stage.repo.commit_all("the plan");
        hook(&stage, "commit-msg", "! grep -q chore \"$1\" || { echo no chores >&2; exit 1; }");
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
    let stage = Stage::new("works", "- [ ] US-001: First\n- [ ] US-002: Second\n");
    stage.repo.commit_all("the plan");
    let tidy = "for file in $(git diff --cached --name-only -- '*.md'); do \
                sed -i 's/[.]*$/./' $file; git add $file; done";
    hook(&stage, "pre-commit", tidy);
    stage.run(&[]).ended(0).says("2 stories landed");
    assert_eq!(stage.plan(), "- [x] US-001: First.\n- [x] US-002: Second.\n");
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn unchecked_files_added_by_hooks_to_the_progress_commit_do_not_land() {
    let stage = Stage::new("works", ONE);
    stage.repo.commit_all("the plan");
    hook(&stage, "pre-commit", "echo tidy >>US-001.txt; git add US-001.txt");
    let ran = stage.run(&["--verify", "cat US-001.txt"]);
    ran.ended(0).says("your git hooks add unchecked files to the commit");
    let commits = stage.subjects();
    assert_eq!(commits.first().map(String::as_str), Some("feat(US-001): First"), "{commits:?}");
}
