//! Problems are reported before anything is spent, or as soon as possible, with a remedy.

use crate::stage::{ONE, Ran, Stage, TWO};

/// The run is refused with these words; no agent is started and nothing changes.
#[track_caller]
fn check(stage: &Stage, args: &[&str], vars: &[(&str, &str)], code: i32, words: &[&str]) {
    let before = stage.repo.fingerprint();
    let mut command = stage.command(&[args, &["--agent", "touch \"$AGENT_NOTES/begun\""]].concat());
    for (name, value) in vars {
        command.env(name, value);
        if value.is_empty() {
            command.env_remove(name);
        }
    }
    let ran: Ran = command.output().unwrap().into();
    ran.ended(code);
    for words in words {
        ran.says(words);
    }
    assert!(!stage.note_path("begun").exists());
    let after = stage.repo.fingerprint();
    assert_eq!((after.index, after.head, after.refs), (before.index, before.head, before.refs));
    assert_eq!(stage.plan(), ONE);
}

#[test]
fn an_unusable_cache_folder_is_refused_and_another_one_is_used() {
    let stage = Stage::new("works", ONE);
    let file = stage.repo.scratch().file("file", "");
    let words = ["cannot create the copy in", "--workspace-folder", "--in-place"];
    check(&stage, &[], &[("XDG_CACHE_HOME", file.as_str())], 1, &words);
    check(&stage, &["doctor", "--workspace-folder", file.as_str()], &[], 1, &words[..2]);
    let inside = stage.repo.root().join("cache");
    let words = ["is inside the project", "--workspace-folder"];
    check(&stage, &[], &[("XDG_CACHE_HOME", inside.as_str())], 1, &words);
    check(&stage, &["--workspace-folder", "copies"], &[], 1, &words);
    let words = ["neither XDG_CACHE_HOME nor HOME is set", "--workspace-folder"];
    check(&stage, &[], &[("HOME", "")], 1, &words);
    let folder = stage.repo.scratch().path("elsewhere");
    stage.run(&["--workspace-folder", folder.as_str()]).ended(0).says(folder.as_str());
    assert!(folder.is_dir() && stage.copy().is_none());
}

#[test]
fn a_partial_clone_is_refused() {
    let stage = Stage::new("works", ONE);
    stage.repo.git(["config", "remote.origin.promisor", "true"]);
    let words = ["partial clone", "git fetch --refetch --no-filter", "--in-place"];
    check(&stage, &[], &[], 1, &words);
}

#[test]
fn a_detached_head_or_invalid_branch_is_refused() {
    let stage = Stage::new("works", ONE);
    stage.repo.git(["checkout", "-q", "--detach"]);
    check(&stage, &[], &[], 2, &["HEAD is detached", "--branch"]);
    check(&stage, &["--branch", "a..b"], &[], 2, &["is not a valid branch name"]);
    let words = ["`ralph/{foo}` has an unknown placeholder", "`{plan}`"];
    check(&stage, &["--branch", "ralph/{foo}"], &[], 2, &words);
    stage.run(&["--branch", "side"]).ended(0);
    assert_eq!(stage.repo.git(["log", "-1", "--format=%s", "side"]), "feat(US-001): First\n");
    assert!(!stage.exists("US-001.txt"), "what is checked out stays as it is");
}

#[test]
fn a_target_checked_out_in_another_worktree_is_refused() {
    let stage = Stage::new("works", ONE);
    let other = stage.repo.scratch().path("other");
    stage.repo.git(["worktree", "add", "-q", "-b", "side", other.as_str()]);
    check(&stage, &["--branch", "side"], &[], 1, &["side is also checked out in", other.as_str()]);
    // A linked work tree is a separate project with its own copy.
    fs_err::create_dir_all(other.join(".ralph/PRD-1")).unwrap();
    fs_err::write(other.join(crate::stage::PLAN), ONE).unwrap();
    stage.run_in(&other, &[]).ended(0).says("landing on side");
    assert!(other.join("US-001.txt").exists() && !stage.exists("US-001.txt"));
}

#[test]
fn a_check_that_needs_an_uncommitted_file_is_refused() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("test.sh", "exit 0\n");
    let words = ["needs test.sh, which is not in the agent's copy", "not committed; commit it\n"];
    check(&stage, &["--verify", "sh test.sh"], &[], 1, &words);
    check(&stage, &["--verify", "sh ./test.sh"], &[], 1, &["because it is not committed"]);
    stage.repo.git(["add", "test.sh"]);
    stage.repo.git(["commit", "-qm", "the check"]);
    stage.run(&["--verify", "sh test.sh"]).ended(0);
}

#[test]
fn a_check_that_is_not_executable_is_refused() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("run.sh", "#!/bin/sh\n");
    stage.repo.commit_all("a script");
    let ran = stage.run(&["--baseline", "check", "--verify", "./run.sh --all"]);
    ran.ended(9).says("cannot run").says("./run.sh: Permission denied");
}

#[test]
fn a_git_hook_that_blocks_the_target_ends_the_run_and_keeps_work() {
    let stage = Stage::new("works", TWO);
    let refuses = "[ \"$1\" = prepared ] || exit 0\n\
                   grep -q ' refs/heads/main$' && { echo 'main is frozen' >&2; exit 1; }; exit 0";
    stage.install_hook("reference-transaction", refuses);
    let refused = "your git hook reference-transaction did not allow main to move: main is frozen";
    stage.run(&[]).ended(1).says(refused);
    stage.run(&["status"]).ended(0).says(&format!("ended: error: {refused}\n          fatal: "));
    assert_eq!((stage.subjects().len(), stage.discarded()), (1, 1));
    stage.repo.remove(".git/hooks/reference-transaction");
    stage.run(&[]).ended(0);
    assert_eq!(stage.subjects(), ["feat(US-002): Second", "feat(US-001): First", "first"]);
}

#[test]
fn an_agent_that_cannot_be_started_is_refused() {
    let stage = Stage::new("works", ONE);
    let root = stage.repo.root();
    stage.repo.write("tools/agent.sh", "touch \"$AGENT_NOTES/begun\"\n");
    stage.repo.chmod("tools/agent.sh", 0o644);
    for (agent, code, words) in [
        ("./tools/agent.sh -p", 1, "the agent `./tools/agent.sh` is not executable; run `chmod +x"),
        ("sh ./agent.sh", 1, "the agent `./agent.sh` was not found"),
        ("no-such-agent -p", 1, "the agent `no-such-agent` was not found in PATH"),
        ("x 'y", 2, "the agent's command `x 'y` is not valid shell syntax"),
    ] {
        stage.run(&["--agent", agent]).ended(code).says(words);
        assert!(!stage.exists(".ralph/events.jsonl"), "{agent}");
    }
    let ran = stage.run(&["--dry-run", "--agent", "no-such-agent -p"]);
    ran.ended(1).says("PROBLEM  the agent `no-such-agent` was not found in PATH");
    fs_err::create_dir(root.join("sub")).unwrap();
    let ran = stage.run_in("sub", &["--agent", "./agent.sh"]);
    ran.ended(1).says(&format!("`./agent.sh` was not found in {root}"));
    let ran = stage.run_in("sub", &["--plan", "no.md"]);
    ran.ended(1).says("no plan found; create one").says("(looked for sub/no.md, no.md)");
}

#[test]
fn a_path_with_a_line_break_is_refused() {
    let stage = Stage::new("works", ONE);
    let moved = stage.repo.scratch().path("line\nbreak");
    fs_err::rename(stage.repo.root(), &moved).unwrap();
    stage.run_in(&moved, &[]).ended(1).says("contains a line break; rename the folder");
    fs_err::rename(&moved, stage.repo.root()).unwrap();
}
