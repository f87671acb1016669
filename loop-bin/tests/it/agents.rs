//! Well-behaved and misbehaving agents, and how the loop handles them.

use test_support::TestRepo;

use crate::stage::{LOOP, PLAN, Ran, Stage, is_alive};

const ONE: &str = "- [ ] US-001: First\n";
const THREE: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n- [ ] US-003: Third\n";

#[test]
fn every_story_becomes_a_commit_and_a_tick() {
    let stage = Stage::new("works", THREE);
    let ran = stage.run(&[]);
    ran.ended(0).says("finished (complete): 3 stories landed in 3 iterations, 3 unchecked, ");
    assert_eq!(stage.plan(), THREE.replace("[ ]", "[x]"));
    let subjects = ["feat(US-003): Third", "feat(US-002): Second", "feat(US-001): First", "first"];
    assert_eq!(stage.subjects(), subjects);
    assert_eq!(stage.progress().matches("- Status: SUCCESS").count(), 3);
    stage.is_clean();
    for left in [".ralph/.checkpoint", ".ralph/current-story", ".git/ralph/attempt.json"] {
        assert!(!stage.exists(left), "{left}");
    }
    let first = ["loop_started", "forecast", "iteration_started", "committed", "story_done"];
    assert_eq!(stage.events()[..5], first);
    assert_eq!(stage.events().last().unwrap(), "loop_finished");
    stage.run(&[]).ended(0).says("0 stories landed in 0 iterations");
}

#[test]
fn an_agent_without_changes_does_not_complete_its_story() {
    let stage = Stage::new("idle", ONE);
    stage.run(&["--verify", "true"]).ended(8).says("US-001: the agent changed nothing");
    assert_eq!((stage.plan().as_str(), stage.subjects().len()), ("- [!] US-001: First\n", 1));
    assert_eq!(stage.progress().matches("- Status: FAILED").count(), 2);
}

#[test]
fn an_idle_story_is_blocked_and_the_others_are_done() {
    let plan: String = (1..=6).map(|n| format!("- [ ] US-00{n}: Story {n}\n")).collect();
    let stage = Stage::new("works", &plan);
    let agent = "cat >/dev/null; story=$(cat \"$RALPH_ROOT/.ralph/current-story\"); \
                 echo $story >>\"$AGENT_NOTES/tried\"; [ $story = US-003 ] || echo x >$story.txt";
    let ran = stage.run(&["--agent", agent]);
    ran.ended(8).says("1 blocked (US-003); 1 thing needs you");
    assert_eq!(stage.plan(), plan.replace("[ ]", "[x]").replace("[x] US-003", "[!] US-003"));
    assert_eq!(stage.note("tried").matches("US-003").count(), 3);
    assert_eq!(stage.note("tried").lines().count(), 8);
}

#[test]
fn failed_attempts_are_kept_and_their_story_is_blocked() {
    let stage = Stage::new("fails", "- [ ] US-001: First\n- [ ] US-002: Second\n");
    stage
        .run(&["--attempts", "2"])
        .ended(8)
        .says("US-001 is blocked")
        .says("no story can be worked on");
    assert_eq!(stage.plan(), "- [!] US-001: First\n- [!] US-002: Second\n");
    assert_eq!((stage.discarded(), stage.subjects().len()), (4, 1));
    assert!(!stage.exists("broken.txt"));
    let progress = stage.progress();
    let count = |status: &str| progress.matches(&format!("- Status: {status}\n")).count();
    assert_eq!((count("FAILED"), count("BLOCKED")), (2, 2), "{progress}");
    assert!(progress.contains("gave up after 2 failed attempts"), "{progress}");
    let guardrails = stage.read(".ralph/guardrails.md");
    let lesson = "- PRD-1/US-001: the agent exited with code 1: something went wrong\n";
    assert_eq!(guardrails.matches(lesson).count(), 1, "{guardrails}");
    stage.run(&["attempts", "US-001/1"]).ended(0).says("something went wrong").says("+broken");
    stage.run(&["attempts", "take", "US-001/1"]).ended(0);
    assert_eq!(stage.read("broken.txt"), "broken\n");
}

#[test]
fn an_agent_that_hangs_is_ended_at_its_deadline() {
    let stage = Stage::new("hangs", ONE);
    stage
        .run(&["--timeout", "1", "--attempts", "2"])
        .ended(8)
        .says("did not finish within 1 second");
    assert!(stage.progress().contains("- Status: TIMEOUT") && !stage.exists("half.txt"));
}

#[test]
fn an_agent_that_goes_silent_is_ended() {
    let stage = Stage::new("hangs", ONE);
    let ran = stage.run(&["--silence", "1", "--attempts", "1"]);
    ran.ended(8).says("printed nothing for 1 second");
}

#[test]
fn an_agent_that_ignores_term_is_killed_with_its_children() {
    let stage = Stage::new("ignores-term", ONE);
    stage.run(&["--timeout", "1", "--grace", "1", "--attempts", "1"]).ended(8);
    assert!(!is_alive(&stage.note("child")), "the child lives");
}

#[test]
fn leftover_processes_are_ended_and_do_not_delay_the_run() {
    let stage = Stage::new("leaves-children", ONE);
    stage.run(&[]).ended(0);
    let children = stage.note("children");
    assert_eq!(children.lines().count(), 3);
    for child in children.lines() {
        assert!(!is_alive(child), "{child} lives");
    }
}

#[test]
fn output_of_any_size_is_logged_with_little_memory() {
    let stage = Stage::new("floods", ONE);
    // Each of the two floods exceeds the memory that the loop may use.
    let flood: Ran = stage.command(&[]).env("FLOOD_MEGABYTES", "40").output().unwrap().into();
    flood.ended(0);
    let peak: u64 = stage.note("peak").trim().parse().unwrap();
    assert!(peak < 32 * 1024, "the loop needed {peak} kB");
    let logs = fs_err::read_dir(stage.repo.root().join(".ralph/logs")).unwrap();
    let size = logs.map(|log| log.unwrap().metadata().unwrap().len()).max().unwrap();
    assert!(size > 88_000_000, "{size}");
}

#[test]
fn broken_events_do_not_fail_the_run() {
    let stage = Stage::new("broken-json", ONE);
    stage.run(&[]).ended(0);
}

#[test]
fn a_plan_that_the_agent_edits_is_repaired() {
    let stage = Stage::new("edits-plan", THREE);
    let ran = stage.run(&["--max-iterations", "1"]);
    ran.ended(0).says("ticked US-002, which is not its story; ignored");
    ran.says("removed US-003; ignored").says("edited US-002").says("added US-004");
    let open = "- [x] US-001: First\n- [ ] US-002: Second\n- [ ] US-003: Third\n";
    assert_eq!(stage.plan(), format!("{open}- [ ] US-004: Found on the way\n"));
    assert!(stage.events().contains(&"plan_repaired".to_owned()));
}

#[test]
fn an_agent_that_deletes_the_state_loses_nothing() {
    let stage = Stage::new("deletes-state", "- [ ] US-001: First\n- [ ] US-002: Second\n");
    stage.repo.write(".ralph/config.toml", "[verify]\ncommands = [\"true\"]\n");
    stage.script("finished", "exit 0");
    stage.repo.commit_all("settings");
    stage.run(&[]).ended(0).says("left out of the commit: .ralph/config.toml");
    assert_eq!(stage.plan(), "- [x] US-001: First\n- [x] US-002: Second\n");
    assert!(stage.exists(".ralph/config.toml") && stage.exists(".ralph/hooks/finished"));
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "", "nothing of ours is left");
    let subjects = ["chore(ralph): record progress", "feat(US-002): Second", "feat(US-001): First"];
    assert_eq!(stage.subjects()[..3], subjects);
}

#[test]
fn the_agents_own_commits_are_squashed_into_the_storys_commit() {
    let stage = Stage::new("commits", ONE);
    stage.run(&[]).ended(0);
    assert_eq!(stage.repo.git(["symbolic-ref", "--short", "HEAD"]), "main\n");
    assert_eq!(stage.subjects(), ["feat(US-001): First", "first"]);
    let files = stage.repo.git(["show", "--format=", "--name-only", "HEAD"]);
    assert!(files.contains("US-001.txt") && files.contains("US-001-more.txt"), "{files}");
    stage.is_clean();
}

#[test]
fn a_failing_check_is_reported_to_the_next_attempt() {
    let stage = Stage::new("learns", ONE);
    let check = "grep -q good US-001.txt || { printf 'NEEDS %s\\n' GOOD; exit 1; }";
    stage.run(&["--verify", check]).ended(0).says("failed with exit code 1");
    assert_eq!((stage.read("US-001.txt").as_str(), stage.discarded()), ("good\n", 1));
    assert!(!stage.exists(".ralph/failure-context.log"), "the failure is forgotten");
    let progress = stage.progress();
    assert!(progress.contains("Iteration 1 - US-001\n- Status: FAILED"), "{progress}");
    assert!(progress.contains("Iteration 2 - US-001\n- Status: SUCCESS"), "{progress}");
}

#[test]
fn the_clients_usage_report_is_recorded() {
    let stage = Stage::new("reports", ONE);
    stage.run(&[]).ended(0).says("Bash: cargo test").says("2000 tokens, $0.25");
    let progress = stage.progress();
    for line in ["- Tokens: 2000", "- Cost: $0.2500", "- Summary: It is done."] {
        assert!(progress.contains(line), "{progress}");
    }
}

#[test]
fn an_error_result_fails_the_attempt_whatever_the_exit_code() {
    let stage = Stage::new("reports", ONE);
    let mut command = stage.command(&["--attempts", "1"]);
    let ran: crate::stage::Ran = command.env("IS_ERROR", "true").output().unwrap().into();
    ran.ended(8).says("the agent reported");
    assert_eq!(stage.subjects().len(), 1);
}

#[test]
fn a_story_reported_as_blocked_waits_for_the_user() {
    let stage = Stage::new("says-blocked", ONE);
    stage.run(&[]).ended(8).says("the key is missing");
    assert_eq!(stage.plan(), "- [!] US-001: First\n");
    assert!(stage.progress().contains("the key is missing") && !stage.exists("half.txt"));
}

#[test]
fn the_agent_gets_a_prompt_and_a_clean_environment() {
    let stage =
        Stage::new("shows-surroundings", "### US-001: First\n\n- [ ] Greet\n  - Where: a.txt\n");
    stage.run(&["--verify", "true", "--verify", "echo a,b", "--attempts", "2"]).ended(0);
    let environment = stage.note("environment");
    assert!(!environment.contains("CLAUDECODE") && environment.contains("RALPH_RUN="));
    assert!(environment.contains("RALPH_VERIFY=true\necho a,b\n"), "{environment}");
    assert!(environment.contains("RALPH_ATTEMPTS_PER_STORY=2\n"), "{environment}");
    let copy = stage.copy().unwrap();
    let (plan, root) = (copy.join(PLAN), stage.repo.root());
    assert!(environment.contains(&format!("RALPH_ROOT={root}\n")), "{environment}");
    assert!(environment.contains(&format!("PLAN_PATH={plan}\n")), "{environment}");
    let prompt = stage.note("prompt");
    for part in ["# US-001: First", "Where: a.txt", "- `true`", "iteration 1 of 50"] {
        assert!(prompt.contains(part), "{prompt}");
    }
}

#[test]
fn a_killed_agent_counts_as_failed() {
    let stage = Stage::new("works", ONE);
    let ran = stage.run(&["--agent", "echo half >half.txt; kill -9 $$", "--attempts", "1"]);
    ran.ended(8).says("killed by a signal");
    stage.is_clean();
}

#[test]
fn line_endings_of_the_plan_are_kept() {
    let plan = "# Plan\r\n\r\n- [ ] US-001: First\r\n";
    let stage = Stage::new("works", plan);
    stage.run(&[]).ended(0);
    assert_eq!(stage.plan(), plan.replace("[ ]", "[x]"));
}

#[test]
fn paths_may_contain_spaces_and_non_ascii_letters() {
    let stage = Stage::new("works", ONE);
    let folder = stage.repo.scratch().dir("repo/größer als hier");
    stage.repo.write("größer als hier/.ralph/PRD-1/plan.md", ONE);
    stage.repo.commit_all("a project in a folder");
    let mut command = stage.command(&[]);
    let ran: crate::stage::Ran = command.current_dir(&folder).output().unwrap().into();
    ran.ended(0);
    assert!(folder.join("US-001.txt").exists());
    assert_eq!(stage.subjects()[1], "feat(US-001): First");
}

#[test]
fn a_repository_without_commits_gets_its_first_commit() {
    let stage = Stage::with(TestRepo::empty(), "works", ONE);
    stage.run(&[]).ended(0);
    assert_eq!(stage.subjects(), ["feat(US-001): First"]);
}

#[test]
fn a_feature_list_and_its_counter_are_updated() {
    let stage = Stage::new("works", ONE);
    let list = r#"{"total_features":1,"features":[{"id":1,"description":"Greet","steps":[],"passes":false}]}"#;
    stage.repo.write("work/feature_list.json", list);
    stage.repo.write("work/progress.txt", "- Iteration: 0\n- Max Iterations: 9\n- Status: x\n");
    stage.repo.remove(".ralph");
    stage.repo.commit_all("a list");
    let folder = stage.repo.root().join("work");
    let run = |args: &[&str]| {
        let mut command = stage.command(args);
        crate::stage::Ran::from(command.env("RALPH_LOOP_DIR", &folder).output().unwrap())
    };
    stage.repo.write("work/RALPH_PROMPT.md", "Build the greeter.\n");
    let agent = "env >\"$AGENT_NOTES/environment\"; cat >\"$AGENT_NOTES/prompt\"; echo x >x.txt";
    run(&["--agent", agent]).ended(0);
    let prompt = stage.note("prompt");
    assert!(
        prompt.starts_with("# The task\n\nBuild the greeter.\n\n# Your part\n\nYou are"),
        "{prompt}"
    );
    let environment = stage.note("environment");
    let plan = stage.copy().unwrap().join("work/feature_list.json");
    assert!(environment.contains(&format!("PLAN_PATH={plan}\n")), "{environment}");
    assert!(!environment.contains("RALPH_LOOP_DIR"), "the list is ours, not another loop's");
    assert_eq!(stage.read("work/feature_list.json"), list.replace("false", "true"));
    let counter = "- Iteration: 1\n- Max Iterations: 9\n- Status: COMPLETE\n";
    assert_eq!(stage.read("work/progress.txt"), counter);
}

#[test]
fn plans_in_the_root_and_json_plans_work() {
    let stage = Stage::new("works", ONE);
    stage.repo.remove(".ralph");
    stage.repo.write("IMPLEMENTATION_PLAN.md", "## Now\n- [ ] Do this\n");
    stage.run(&[]).ended(0);
    assert_eq!(stage.read("IMPLEMENTATION_PLAN.md"), "## Now\n- [x] Do this\n");
    stage.repo.remove("IMPLEMENTATION_PLAN.md");
    stage.repo.commit_all("another plan");
    let open = r#"{"userStories":[{"id":"A-1","title":"One","priority":2},{"id":"A-2","title":"Two","priority":1}]}"#;
    stage.repo.write("prd.json", open);
    stage.run(&["--max-iterations", "1"]).ended(0);
    assert_eq!(stage.subjects()[..2], ["chore(ralph): record progress", "feat(A-2): Two"]);
}

#[test]
fn the_agent_finds_ralph_loop_in_its_path() {
    let stage = Stage::new("works", ONE);
    let agent = "cat; ralph-loop complete US-001 --status blocked --summary 'no key'";
    stage.run(&["--agent", agent]).ended(8).says("US-001 is blocked").says("no key");
    assert_eq!(stage.plan(), "- [!] US-001: First\n");
    let other =
        stage.repo.scratch().script("bin/ralph-loop", "#!/bin/sh\necho >\"$AGENT_NOTES/other\"\n");
    let mut command = stage.command(&["--agent", "cat; ralph-loop; echo x >x.txt"]);
    let path = format!("{}:/usr/bin:/bin", other.parent().unwrap());
    stage.repo.write(PLAN, ONE);
    Ran::from(command.env("PATH", path).output().unwrap()).ended(0);
    assert!(stage.note_path("other").exists(), "the user's own comes first");
}

#[test]
fn a_missing_agent_is_reported_with_the_searched_location() {
    let stage = Stage::new("works", THREE);
    stage.repo.write("sub/inner/agent.sh", "#!/bin/sh\n");
    let root = stage.repo.root();
    let from_sub = |args: &[&str]| -> Ran {
        stage.command(args).current_dir(root.join("sub")).output().unwrap().into()
    };
    let ran = from_sub(&["--agent", "./agent.sh"]);
    ran.ended(1).says(&format!("`./agent.sh` was not found in {root}"));
    let ran = from_sub(&["--agent", "no-such-agent"]);
    ran.ended(1).says("was not found in PATH");
    let ran = from_sub(&["--plan", "no.md"]);
    ran.ended(1).says("no plan found; create one").says("(looked for sub/no.md, no.md)");
}

#[test]
fn a_log_at_its_size_limit_does_not_stop_the_run() {
    let stage = Stage::new("works", THREE);
    let agent = "trap '' XFSZ; cat >/dev/null; yes | head -c 300000; echo x >x.txt";
    let limited = format!("ulimit -f 100; exec {LOOP} --max-iterations 1 --agent \"$0\"");
    let mut command = stage.command_of("/bin/sh", &["-c", &limited, agent]);
    let ran: Ran = command.output().unwrap().into();
    ran.ended(0).says("US-001 done");
}

#[test]
fn a_relative_agent_path_is_resolved_from_the_current_folder() {
    for (agent, folder) in
        [("../../agent.sh x", "one/two"), ("sh ../agent.sh", "one"), ("./own.sh", "one")]
    {
        let stage = Stage::new("works", "- [ ] US-001: First\n");
        let text = "#!/bin/sh\ncat >/dev/null; echo x >x.txt\n";
        for path in ["agent.sh", "one/own.sh", "one/two/none.sh"] {
            stage.repo.write(path, text);
            stage.repo.chmod(path, 0o755);
        }
        let mut command = stage.command(&["--agent", agent]);
        let ran: Ran = command.current_dir(stage.repo.root().join(folder)).output().unwrap().into();
        ran.ended(0).says("US-001 done");
    }
}

/// An agent that has printed its result but is kept alive by a server that it started.
fn forgetful(end: &str) -> String {
    let result = r#"{"type":"result","subtype":"success","is_error":false,"session_id":"s-1"}"#;
    format!("cat >/dev/null; echo work >work.txt; echo '{result}'; {end}")
}

#[test]
fn a_leftover_server_costs_the_grace_period_but_not_the_work() {
    // The loop does not wait for its own MCP server either.
    for server in ["sleep 300", "sleep 300 | \"$RALPH_LOOP\" mcp"] {
        let stage = Stage::new("works", "- [ ] US-001: First\n");
        let begun = std::time::Instant::now();
        let agent = forgetful(server);
        stage.run(&["--agent", &agent, "--grace", "1"]).ended(0).says("US-001 done");
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{:?}", begun.elapsed());
    }
}

#[test]
fn a_timeout_after_the_result_does_not_discard_the_work() {
    let stage = Stage::new("works", "- [ ] US-001: First\n");
    let agent = forgetful("sleep 300");
    let ran = stage.run(&["--agent", &agent, "--grace", "60", "--timeout", "3"]);
    ran.ended(0).says("US-001 done");
}

#[test]
fn running_subagents_are_waited_for() {
    let stage = Stage::new("works", "- [ ] US-001: First\n");
    let stop = r#"{"status":"working"}"#;
    let folder = "\"$RALPH_STATE_DIR/state/s-1\"";
    let agent = forgetful(&format!(
        "mkdir -p {folder}; echo '{stop}' >{folder}/stop.json; sleep 3; echo more >>work.txt"
    ));
    stage.run(&["--agent", &agent, "--grace", "1"]).ended(0).says("US-001 done");
    assert_eq!(stage.read("work.txt"), "work\nmore\n");
}
