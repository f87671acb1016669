//! What must not become part of a commit: what is uncommitted in `.ralph/` and `.claude/` when the
//! loop starts, and what is outside of the story's scope.

use std::os::unix::fs::PermissionsExt;

use crate::stage::{PLAN, Stage};

const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";

/// What lies there after an installation, with notes of the user's.
fn installed() -> Stage {
    let stage = Stage::new("works", TWO);
    stage.repo.write(".claude/settings.json", "{}\n");
    stage.repo.write(".claude/old.md", "old\n");
    stage.repo.git(["add", "-A", ".claude"]);
    stage.repo.git(["commit", "-q", "-m", "settings"]);
    stage.repo.write(".claude/settings.json", "{\"hooks\": {}}\n");
    stage.repo.write(".claude/hooks/ralph-pre-tool", "binary\n");
    stage.repo.write(".claude/settings.local.json", "{}\n");
    stage.repo.write(".ralph/notes.txt", "mine\n");
    stage.repo.write(".ralph/PRD-2/plan.md", "- [ ] US-009: Later\n");
    stage.repo.remove(".claude/old.md");
    stage
}

const LEFT: &str = " D .claude/old.md\n M .claude/settings.json\n\
    ?? .claude/hooks/ralph-pre-tool\n?? .claude/settings.local.json\n?? .ralph/PRD-2/plan.md\n\
    ?? .ralph/notes.txt\n";

#[test]
fn it_stays_uncommitted_and_what_the_agent_makes_there_does_not() {
    for act in ["true", "git add -A", "rm -rf .ralph/state .ralph/events.jsonl"] {
        let stage = installed();
        let before = [".ralph/notes.txt", ".claude/settings.json"].map(|name| stage.read(name));
        let agent = format!(
            "story=$(cat .ralph/current-story); echo x >$story.txt; mkdir -p .claude/skills; \
             echo x >.claude/skills/$story.md; {act}"
        );
        let ran = stage.run(&["--agent", &agent]);
        ran.ended(0).says("uncommitted, and left out of every commit: .claude/old.md, .claude/set");
        let files = stage.repo.git(["log", "-2", "--format=%s", "--name-only"]);
        let expected = format!(
            "feat(US-002): Second\n\n.claude/skills/US-002.md\n{PLAN}\n.ralph/PRD-1/progress.md\n\
             US-002.txt\nfeat(US-001): First\n\n.claude/skills/US-001.md\n{PLAN}\nUS-001.txt\n"
        );
        assert_eq!(files, expected, "{act}");
        let status = stage.repo.git(["status", "--porcelain", "-uall"]);
        let left = status.replace(" M .ralph/PRD-1/progress.md\n", "");
        assert_eq!(left, LEFT, "{act}");
        let after = [".ralph/notes.txt", ".claude/settings.json"].map(|name| stage.read(name));
        assert_eq!(before, after);
    }
}

/// No rollback brings it back, so it has a copy of its own.
#[test]
fn what_an_agent_removes_there_is_put_back_and_what_it_overwrites_is_kept() {
    for end in ["true", "exit 1"] {
        let stage = installed();
        stage.repo.chmod(".claude/settings.local.json", 0o600);
        let agent = format!(
            "rm -r .claude/hooks .claude/settings.local.json .ralph/PRD-2; echo x >$(cat \
             .ralph/current-story).txt; echo agents >.ralph/notes.txt; echo {{}} \
             >.claude/settings.json; {end}"
        );
        let ran = stage.run(&["--agent", &agent, "--max-iterations", "1"]);
        ran.ended(0).says(": removed while the agent worked; put back");
        ran.says(
            ".claude/settings.json, .ralph/notes.txt: changed while the agent worked; `git rest",
        );
        let restore = ran.out.split("`git restore ").nth(1).unwrap().split(" --w").next().unwrap();
        for name in [".claude/settings.json", ".ralph/notes.txt"] {
            stage.repo.git(["restore", restore, "--worktree", "--", name]);
        }
        assert_eq!(stage.read(".claude/settings.json"), "{\"hooks\": {}}\n", "{end}");
        assert_eq!(stage.read(".ralph/notes.txt"), "mine\n");
        assert_eq!(stage.read(".claude/hooks/ralph-pre-tool"), "binary\n");
        let status = stage.repo.git([
            "status",
            "--porcelain",
            "-uall",
            "--",
            ".claude",
            ".ralph/PRD-2",
            ".ralph/notes.txt",
        ]);
        assert_eq!(status, LEFT, "{end}");
        let path = stage.repo.root().join(".claude/settings.local.json");
        let mode = fs_err::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let refs = stage.repo.git(["for-each-ref", "--format=%(refname)", "refs/ralph/left-out"]);
        assert_eq!(refs.lines().count(), 1, "only what is needed stays: {refs}");
    }
}

#[test]
fn a_copy_that_nobody_needs_is_gone_after_the_run() {
    let stage = installed();
    let ran = stage.run(&[]);
    ran.ended(0);
    assert!(!ran.out.contains("while the agent worked"), "{}", ran.out);
    assert_eq!(stage.repo.git(["for-each-ref", "refs/ralph/left-out"]), "");
}

#[test]
fn what_is_gone_there_after_a_crash_is_named_with_the_way_back() {
    let mut stage = installed();
    stage.agent("hangs");
    stage.killed_when(&[], "the agent works", || stage.exists("half.txt"));
    stage.repo.remove(".claude/settings.local.json");
    stage.agent("works");
    let ran = stage.run(&[]);
    ran.ended(0).says(".claude/settings.local.json: changed or removed since a run began that was");
    let restore = ran.out.split("`git restore ").nth(1).unwrap().split(" --w").next().unwrap();
    stage.repo.git(["restore", restore, "--worktree", "--", ".claude/settings.local.json"]);
    assert_eq!(stage.read(".claude/settings.local.json"), "{}\n");
}

#[test]
fn what_was_staged_there_is_not_committed_either() {
    let stage = installed();
    stage.repo.git(["add", "-A", ".claude"]);
    stage.run(&[]).ended(0);
    let files = stage.repo.git(["log", "-2", "--format=", "--name-only"]);
    assert!(!files.contains(".claude"), "{files}");
    assert_eq!(stage.read(".claude/settings.local.json"), "{}\n");
}

#[test]
fn what_the_loop_wrote_itself_is_committed_by_the_next_run() {
    let stage = Stage::new("fails", TWO);
    stage.run(&["--attempts", "1", "--max-iterations", "1"]).ended(0);
    stage.repo.write(".ralph/PRD-2/plan.md", "- [ ] US-009: Later\n");
    let ran = stage.run(&["--prd", "2", "--agent", "echo x >x.txt"]);
    ran.ended(0);
    assert!(!ran.out.contains("progress.md") && !ran.out.contains("guardrails"), "{}", ran.out);
    let files = stage.repo.git(["show", "--format=", "--name-only"]);
    for name in [".ralph/PRD-1/progress.md", ".ralph/guardrails.md", ".ralph/PRD-2/plan.md"] {
        assert!(files.contains(name), "{files}");
    }
}

#[test]
fn in_a_repository_without_commits_it_stays_out_as_well() {
    let stage = Stage::with(test_support::TestRepo::empty(), "works", TWO);
    stage.repo.write(".claude/settings.local.json", "{}\n");
    stage.run(&["--max-iterations", "1"]).ended(0);
    let files = stage.repo.git(["ls-files"]);
    assert_eq!(files, format!("{PLAN}\nUS-001.txt\n"));
}

#[test]
fn what_is_outside_of_the_scope_is_refused_and_named() {
    let stage = Stage::new("works", TWO);
    let agent = "mkdir -p src; echo x >src/a.rs; echo x >.claude-notes; \
                 [ -e \"$AGENT_NOTES/before\" ] || echo x >outside.txt; touch \"$AGENT_NOTES/before\"";
    let scope = ["--scope", "src/**", "--scope", ".claude-notes"];
    let ran = stage.run(&[&["--agent", agent, "--max-iterations", "2"], &scope[..]].concat());
    ran.ended(0).says("the commit was refused: the story may only touch src/**, .claude-notes");
    ran.says("but changed are also outside.txt;").says("US-001 done");
    assert!(!stage.exists("outside.txt"));
    assert_eq!((stage.subjects().len(), stage.discarded()), (2, 1));
    let journal = stage.read(".ralph/events.jsonl");
    let denied =
        "\"event\":\"denied\",\"rule\":\"scope\",\"tool\":\"commit\",\"target\":\"outside.txt\"";
    assert!(journal.contains(denied), "{journal}");
}

#[test]
fn the_scope_of_a_story_and_a_switch_are_heeded() {
    for (settings, code) in [
        ("[scope]\npaths = [\"none\"]\n[scope.stories]\n\"US-001\" = [\"*.txt\"]\n", 0),
        ("[scope]\npaths = [\"none\"]\n[guard]\ndisable = [\"scope\"]\n", 0),
        ("[scope]\npaths = [\"none\"]\n", 1),
    ] {
        let stage = Stage::new("works", "- [ ] US-001: First\n");
        stage.repo.write(".ralph/config.toml", settings);
        stage.run(&["--attempts", "1"]).ended(code);
    }
}
