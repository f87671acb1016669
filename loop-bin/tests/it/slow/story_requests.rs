//! A pull request for each story, with the fake `gh`.

use std::os::unix::process::CommandExt;

use crate::forge::{on_server, run, with_forge_for};
use crate::stage::{ONE, Ran, Stage, TWO, signal, until};

const STORIES: [&str; 5] = ["--pr", "story", "--wait", "1s", "--prove"];

/// The forge merges the pull request of a story with a three-way merge.
fn merge(stage: &Stage, story: &str) {
    let server = stage.repo.scratch().path("server.git");
    let git = |args: &[&str]| stage.repo.git_in(server.as_std_path(), args.to_vec());
    let branch = format!("ralph-prd-1-{story}");
    let tree = git(&["merge-tree", "--write-tree", "main", &branch]);
    let merged = git(&["commit-tree", tree.trim(), "-p", "main", "-p", &branch, "-m", "Merge"]);
    git(&["update-ref", "refs/heads/main", merged.trim()]);
}

/// The newest story's commit on a branch of the server has a receipt there that is about it.
#[track_caller]
fn has_receipt(stage: &Stage, branch: &str) {
    let server = stage.repo.scratch().path("server.git");
    let git = |args: &[&str]| stage.repo.git_in(server.as_std_path(), args.to_vec());
    let commit = git(&["log", "-1", "--grep=^Ralph-Story", "--format=%H", branch]);
    let note = git(&["notes", "--ref=ralph", "show", commit.trim()]);
    assert!(note.contains(commit.trim()), "{note}");
}

fn stories(stage: &Stage, more: &[&str]) -> Ran {
    run(stage, &[&STORIES[..], &["off"], more].concat())
}

#[test]
fn each_story_gets_a_pull_request_that_the_forge_merges() {
    let plan = "- [ ] US-001: First\n- [ ] US-002: Second\n\
                - [ ] US-003: Third (depends: US-001)\n- [ ]* US-004: Not needed\n";
    let stage = pushed(plan);
    let before = stage.repo.head();
    let ran = stories(&stage, &[]);
    ran.ended(75).says("2 pull requests are not merged yet; run the same command to continue");
    ran.says("US-001: https://forge.test/pull/7; to be merged as soon as the forge allows");
    let called = stage.note("gh");
    for (story, title) in [("us-001", "First"), ("us-002", "Second")] {
        let branch = format!("ralph-prd-1-{story}");
        for call in [format!("pr|create|--head|{branch}|"), format!("pr|merge|{branch}|--auto|")] {
            assert!(called.contains(&call), "{called}");
        }
        assert!(called.contains(&format!(": {title}|--body-file|-|")), "{called}");
        assert!(!on_server(&stage, &branch).is_empty());
        has_receipt(&stage, &branch);
    }
    // Neither the project nor its branch on the server has moved.
    assert!(on_server(&stage, "main").starts_with(before.trim()));
    assert_eq!(stage.repo.head(), before);
    // The user adds a commit to one of the branches.
    stage.repo.git(["switch", "-q", "ralph-prd-1-us-002"]);
    stage.repo.write("mine.txt", "mine\n");
    stage.repo.commit_all("mine");
    let mine = stage.repo.head();
    // The forge merges the first one; the other one conflicts and is rebased without an agent.
    merge(&stage, "us-001");
    let old = on_server(&stage, "ralph-prd-1-us-002");
    std::fs::write(stage.note_path("unmerged"), "").unwrap();
    let ran = stories(&stage, &[]);
    ran.ended(75).says("US-002: its branch conflicts with main; rebasing it");
    ran.says("US-003: https://forge.test/pull/7; merge it by hand: `gh pr` failed: not allowed");
    assert_ne!(on_server(&stage, "ralph-prd-1-us-002"), old);
    has_receipt(&stage, "ralph-prd-1-us-002");
    assert_eq!((stage.repo.head(), stage.read("mine.txt")), (mine, "mine\n".to_owned()));
    stage.repo.git(["switch", "-q", "main"]);
    assert!(on_server(&stage, "ralph-prd-1-us-004").is_empty());
    let status = stage.run(&["status"]);
    status.ended(0).says("US-003: https://forge.test/pull/7: merge it by hand");
    merge(&stage, "us-002");
    stories(&stage, &[]).says("US-003: its branch conflicts with main; rebasing it");
    merge(&stage, "us-003");
    let ran = stories(&stage, &[]);
    ran.ended(0).says("US-003: merged");
    ran.says("all stories are done on main; run `git pull origin main` to get them");
    // A merged story is done, even before the user pulls.
    let status = stage.run(&["status"]);
    status.ended(0).says("3 done, 1 unchecked, 0 open");
    status.says("the last run ended: all stories are done on main");
    assert!(stage.plan().contains("- [ ] US-001"), "{}", stage.plan());
}

#[test]
fn only_stories_that_touch_the_same_lines_conflict() {
    let plan = "- [ ] US-001: First\n  - [ ] one\n  - a\n- [ ] US-002: Second\n  - b\n- [ ] US-003: Third\n";
    let stage = pushed(plan);
    stories(&stage, &["--agent", TRIES]).ended(75).says("3 pull requests are not merged yet");
    // The user adds a commit to one of the branches and pushes it.
    stage.repo.git(["switch", "-q", "ralph-prd-1-us-003"]);
    assert!(!stage.repo.root().join(".ralph/PRD-1/progress.md").exists());
    stage.repo.write("mine.txt", "mine\n");
    stage.repo.commit_all("mine");
    stage.repo.git(["push", "-q", "origin", "HEAD"]);
    stage.repo.git(["switch", "-q", "main"]);
    merge(&stage, "us-001");
    merge(&stage, "us-002");
    let ran = stories(&stage, &["--agent", TRIES]);
    ran.ended(75).says("US-002: merged").says("1 pull request is not merged yet");
    assert!(!ran.out.contains("does not fit"), "{}", ran.out);
    stage.run(&["status"]).says("2 done, 1 open, 0 blocked").says("1 in pull requests, 0 open");
    // An ordinary run does not do the story again.
    stage.repo.git(["pull", "-q", "origin", "main"]);
    let pulled = stage.repo.head();
    let ran = stage.run(&["--agent", TRIES]);
    ran.ended(1).says("(US-003: https://forge.test/pull/7); run `git pull` if they were merged");
    stage.run(&["doctor"]).ended(1).says("start with `--pr story` to continue");
    merge(&stage, "us-003");
    stage.repo.git(["pull", "-q", "origin", "main"]);
    stage.run(&["--agent", TRIES]).ended(0).says("3 of 3 stories done");
    assert_eq!(stage.repo.git(["log", "-1", "--format=%s"]), "Merge\n");
    assert_ne!(stage.repo.head(), pulled);
}

#[test]
fn a_missing_login_and_failed_checks_on_the_forge_are_reported() {
    let stage = pushed(ONE);
    let logged_out = stage.note_path("logged-out");
    std::fs::write(&logged_out, "").unwrap();
    stories(&stage, &["--agent", TRIES]).ended(1).says("run gh auth login");
    assert!(!stage.note_path("tried").exists(), "no agent was started");
    std::fs::remove_file(logged_out).unwrap();
    std::fs::write(stage.note_path("unmerged"), "").unwrap();
    stories(&stage, &["--agent", TRIES]).ended(75).says("merge it by hand");
    let asked = || stage.note("gh").matches("pr|merge|").count();
    let before = asked();
    // The forge now allows the merge.
    std::fs::remove_file(stage.note_path("unmerged")).unwrap();
    std::fs::write(stage.note_path("checks"), "FAILURE").unwrap();
    let red = "US-001: https://forge.test/pull/7: its checks failed on the forge";
    stories(&stage, &["--agent", TRIES]).ended(75).says(red);
    stage.run(&["status"]).says(&format!("Needs you {red}"));
    assert_eq!(asked(), before + 1);
    std::fs::write(stage.note_path("checks"), "SUCCESS").unwrap();
    stories(&stage, &["--agent", TRIES]).ended(75);
    stage.run(&["status"]).says("1 in pull requests, 0 open; review 1 story");
}

#[test]
fn an_interrupt_ends_the_wait_for_a_hanging_forge() {
    let stage = pushed(ONE);
    stories(&stage, &["--agent", TRIES]).ended(75);
    // As in another clone.
    std::fs::remove_dir_all(stage.repo.root().join(".git/ralph")).unwrap();
    std::fs::remove_dir_all(stage.repo.root().join(".ralph/logs")).unwrap();
    stories(&stage, &["--agent", TRIES]).ended(75).says("1 pull request is not merged yet");
    // A run that only waits has a start and an end.
    let ran = stories(&stage, &["--agent", TRIES, "--json"]);
    let events: Vec<serde_json::Value> =
        ran.ended(75).out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let names: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(names, ["loop_started", "loop_finished"], "{}", ran.out);
    let hang = format!(": >{}; exec sleep 60\n", stage.note_path("hangs"));
    std::fs::write(stage.note_path("act"), hang).unwrap();
    let path = format!("{}:{}", stage.repo.scratch().path("bin"), std::env::var("PATH").unwrap());
    let mut command = stage.command(&[&STORIES[..], &["off", "--agent", TRIES]].concat());
    let child = command.env("PATH", path).process_group(0).spawn().unwrap();
    until("gh hangs", || stage.note_path("hangs").exists());
    stage.run(&["stop"]).ended(0);
    signal("INT", child.id());
    let begun = std::time::Instant::now();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert!(begun.elapsed().as_secs() < 20);
}

#[test]
fn a_temporary_outage_of_the_forge_does_not_end_the_run() {
    let stage = pushed(TWO);
    std::fs::write(stage.note_path("down"), "").unwrap();
    let ran = run(&stage, &["--pr", "story", "--wait", "4s", "--prove", "off", "--agent", TRIES]);
    ran.ended(75).says("error connecting; trying again").says("2 pull requests are not merged yet");
    assert_eq!(stage.note("gh").matches("pr|create").count(), 3);
}

/// A project whose plan is on the server.
fn pushed(plan: &str) -> Stage {
    let stage = with_forge_for(plan);
    stage.repo.git(["switch", "-q", "main"]);
    stage.repo.commit_all("plan");
    stage.repo.git(["push", "-q", "origin", "main"]);
    stage
}

/// An agent that records the stories it tried.
const TRIES: &str = "cat >\"$AGENT_NOTES/prompt\"; s=$(cat $RALPH_STORY_FILE); \
                     echo $s >>\"$AGENT_NOTES/tried\"; echo x >>$s.txt";

#[test]
fn commands_in_the_project_show_work_in_pull_requests() {
    let stage = pushed("- [ ] US-001: First\n- [ ] US-002: Second\n- [ ] US-003: Third\n");
    let agent = TRIES.replace("echo x", "[ $s = US-002 ] || echo x");
    let args = ["--attempts", "1", "--agent", &agent];
    let ran = stories(&stage, &args);
    let report = format!("report: {}/.ralph/logs/report-", stage.repo.root());
    ran.ended(75).says("US-002 is blocked").says(&report);
    assert!(!ran.out.contains("finished ("), "{}", ran.out);
    assert_eq!(ran.out.matches("report:").count(), 1, "{}", ran.out);
    let status = stage.run(&["status"]);
    status.ended(0).says("2 stories landed in 3 iterations").says("US-002 is blocked");
    status.says("2 in pull requests, 0 open; 1 thing needs you");
    status.says("In PR     US-001: https://forge.test/pull/7");
    stage.run(&["logs", "US-003"]).ended(0).says("US-003/1 landed as");
    stage.run(&["attempts"]).ended(0).says("US-001/1").says("US-003/1");
    stage.run(&["report", "--markdown"]).ended(0).says("US-001: First").says("US-002: Second");
    // The local plan is unchanged, so that it can be pulled.
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
    // The blocked story waits for the user, who may add a hint.
    stories(&stage, &args).ended(75);
    assert_eq!(stage.note("tried"), "US-001\nUS-002\nUS-003\n");
    stage.run(&["retry", "US-002", "--hint", "mind the gap"]).ended(0);
    stories(&stage, &args).ended(75);
    assert_eq!(stage.note("tried"), "US-001\nUS-002\nUS-003\nUS-002\n");
    assert!(stage.note("prompt").contains("mind the gap"), "{}", stage.note("prompt"));
}

#[test]
fn limits_apply_to_all_pull_requests_of_a_run() {
    let stage = pushed("- [ ] US-001: First\n- [ ] US-002: Second\n- [ ] US-003: Third\n");
    let ran = stories(&stage, &["--max-iterations", "2", "--agent", TRIES]);
    ran.ended(0).says("ended: max_iterations");
    assert_eq!(stage.note("tried"), "US-001\nUS-002\n");
    stories(&stage, &["--dry-run"]).ended(0).says("work lands on a branch for each story");
    assert_eq!(stage.note("gh").matches("pr|create").count(), 2);
}

#[test]
fn a_closed_pull_request_waits_for_the_user() {
    let stage = pushed(ONE);
    stories(&stage, &["--agent", TRIES]).ended(75);
    std::fs::write(stage.note_path("state"), "CLOSED").unwrap();
    let ran = stories(&stage, &["--agent", TRIES]);
    let closed = "US-001: https://forge.test/pull/7 was closed; `ralph-loop retry US-001` tries";
    ran.ended(8).says(closed);
    assert_eq!(stage.note("gh").matches("pr|create").count(), 1);
    stage.run(&["status"]).says("https://forge.test/pull/7 was closed");
    // The branch may be deleted together with its pull request.
    let server = stage.repo.scratch().path("server.git");
    stage.repo.git_in(server.as_std_path(), ["branch", "-D", "ralph-prd-1-us-001"]);
    stories(&stage, &["--agent", TRIES]).ended(8).says("/7 was closed; `ralph-loop retry US-001`");
    assert_eq!(stage.note("tried"), "US-001\n");
    stage.run(&["retry", "US-001"]).ended(0);
    stories(&stage, &["--agent", &TRIES.replace("x >>", "y >>")]).ended(8);
    assert_eq!(stage.note("tried"), "US-001\nUS-001\n");
    assert_eq!(stage.note("gh").matches("pr|create").count(), 2);
}

#[test]
fn a_story_merged_during_the_run_is_not_done_again() {
    let stage = pushed("- [ ] US-001: First\n- [ ] US-002: Second (depends: US-001)\n");
    stories(&stage, &["--agent", TRIES]).ended(75);
    let server = stage.repo.scratch().path("server.git");
    let merge = format!("cd {server} && git update-ref refs/heads/main ralph-prd-1-us-001\n");
    std::fs::write(stage.note_path("act"), merge).unwrap();
    std::fs::write(stage.note_path("state"), "MERGED").unwrap();
    let ran = stories(&stage, &["--agent", TRIES, "--max-iterations", "1"]);
    ran.says("US-001: merged").says("iteration 1: US-002 Second");
    assert_eq!(stage.note("tried"), "US-001\nUS-002\n");
}

#[test]
fn a_reopened_story_gets_another_pull_request() {
    let stage = pushed(ONE);
    stories(&stage, &["--agent", TRIES]).ended(75);
    merge(&stage, "us-001");
    stage.repo.git(["pull", "-q", "origin", "main"]);
    stage.repo.write(".ralph/PRD-1/plan.md", ONE);
    stage.repo.commit_all("again");
    stage.repo.git(["push", "-q", "origin", "main"]);
    std::fs::write(stage.note_path("state"), "MERGED").unwrap();
    // The fake `gh` always reports the old pull request.
    stories(&stage, &["--agent", TRIES, "--attempts", "2"]).ended(8).says("US-001 is blocked");
    assert_eq!(stage.note("gh").matches("pr|create").count(), 3);
    assert_eq!(stage.note("tried").matches("US-001").count(), 3);
}

#[test]
fn a_user_branch_is_not_taken_over() {
    let stage = pushed(ONE);
    stage.repo.git(["switch", "-q", "-c", "ralph-prd-1-us-001"]);
    stage.repo.write("mine.txt", "mine\n");
    stage.repo.commit_all("mine");
    stage.repo.git(["push", "-q", "origin", "HEAD"]);
    stage.repo.git(["switch", "-q", "main"]);
    let ran = stories(&stage, &["--agent", TRIES]);
    ran.ended(8).says("ralph-prd-1-us-001 on origin has other work; rename or delete that branch");
    assert!(!stage.note("gh").contains("create") && !stage.note_path("tried").exists());
}

#[test]
fn user_commits_on_the_branch_are_never_replaced() {
    let stage = pushed(TWO);
    stories(&stage, &["--agent", TRIES]).ended(75);
    stage.repo.git(["switch", "-q", "ralph-prd-1-us-002"]);
    stage.repo.write("mine.txt", "mine\n");
    stage.repo.commit_all("mine");
    stage.repo.git(["push", "-q", "origin", "HEAD"]);
    stage.repo.git(["switch", "-q", "main"]);
    let theirs = on_server(&stage, "ralph-prd-1-us-002");
    merge(&stage, "us-001");
    let ran = stories(&stage, &["--agent", TRIES]);
    ran.ended(8).says("conflicts with main and has commits of others; resolve that by hand");
    assert_eq!(on_server(&stage, "ralph-prd-1-us-002"), theirs);
}

#[test]
fn a_story_whose_push_is_refused_is_kept_and_pushed_later() {
    let stage = pushed(TWO);
    let refuse = "#!/bin/sh\necho 'this branch is protected' >&2\nexit 1\n";
    stage.repo.scratch().script("server.git/hooks/pre-receive", refuse);
    for _ in 0..2 {
        let ran = stories(&stage, &["--agent", TRIES]);
        ran.ended(1).says("US-001 passed its checks and is kept on ralph-pr/ralph-prd-1-us-001, ");
        ran.says("but the server refused its push: this branch is protected");
        assert!(!ran.out.contains("done:") && !ran.out.contains("trying again"), "{}", ran.out);
        let status = stage.run(&["status"]);
        status.ended(0).says("US-001 has no open pull request: the server refused its push");
    }
    let server = stage.repo.scratch().path("server.git");
    std::fs::remove_file(server.join("hooks/pre-receive")).unwrap();
    stories(&stage, &["--agent", TRIES]).ended(75).says("US-001: https://forge.test/pull/7");
    assert_eq!(stage.note("tried"), "US-001\nUS-002\n");
    let status = stage.run(&["status"]);
    assert!(!status.out.contains("refused"), "{}", status.out);
}

#[test]
fn an_unpushed_plan_is_refused_before_the_first_story() {
    let stage = pushed("- [ ] US-001: First\n- [x] US-002: Second\n");
    stage.repo.write(".ralph/PRD-1/plan.md", "- [ ] US-001: First\n- [ ] US-003: Third\n");
    let ran = stories(&stage, &[]);
    ran.ended(1).says("US-003 in .ralph/PRD-1/plan.md differs from main on the server");
    ran.says("commit and push yours");
    assert!(!stage.note("gh").contains("create"));
}
