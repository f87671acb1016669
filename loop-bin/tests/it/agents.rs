//! Well-behaved and misbehaving agents, and how the loop handles them.

use test_support::TestRepo;

use crate::stage::{LOOP, ONE, PLAN, Ran, Stage, THREE, TWO};

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
fn failed_attempts_are_kept_and_their_story_is_blocked() {
    let stage = Stage::new("fails", TWO);
    let seen = "grep -c '^- Status' .ralph/PRD-1/progress.md >>\"$AGENT_NOTES/entries\"";
    stage.script("post_iteration", seen);
    let ran = stage.run(&["--attempts", "2"]);
    ran.ended(8).says("US-001 is blocked").says("no story can be worked on");
    assert_eq!(stage.plan(), "- [!] US-001: First\n- [!] US-002: Second\n");
    assert_eq!((stage.discarded(), stage.subjects().len()), (4, 1));
    assert!(!stage.exists("broken.txt"));
    let progress = stage.progress();
    let count = |status: &str| progress.matches(&format!("- Status: {status}\n")).count();
    assert_eq!((count("FAILED"), count("BLOCKED")), (2, 2), "{progress}");
    assert_eq!(stage.note("entries"), "1\n2\n3\n4\n", "written before the script runs");
    assert!(progress.contains("gave up after 2 failed attempts"), "{progress}");
    let guardrails = stage.read(".ralph/guardrails.md");
    let lesson = "- PRD-1/US-001: the agent exited with code 1: something went wrong\n";
    assert_eq!(guardrails.matches(lesson).count(), 1, "{guardrails}");
    stage.run(&["attempts", "US-001/1"]).ended(0).says("something went wrong").says("+broken");
    stage.run(&["attempts", "take", "US-001/1"]).ended(0);
    assert_eq!(stage.read("broken.txt"), "broken\n");
}

#[test]
fn an_agent_that_hangs_or_goes_silent_is_ended() {
    for (limit, said) in [
        ("--timeout", "did not finish within 1 second"),
        ("--silence", "printed nothing for 1 second"),
    ] {
        let stage = Stage::new("hangs", ONE);
        stage.run(&[limit, "1", "--attempts", "1"]).ended(8).says(said);
        assert!(!stage.exists("half.txt"));
    }
}

#[test]
fn output_of_any_size_is_logged_with_little_memory() {
    let stage = Stage::new("floods", ONE);
    // Each of the two floods exceeds the memory that the loop may use.
    stage.run_env(&[("FLOOD_MEGABYTES", "40")], &[]).ended(0);
    let peak: u64 = stage.note("peak").trim().parse().unwrap();
    assert!(peak < 38 * 1024, "the loop needed {peak} kB");
    let logs = fs_err::read_dir(stage.repo.root().join(".ralph/logs")).unwrap();
    let size = logs.map(|log| log.unwrap().metadata().unwrap().len()).max().unwrap();
    assert!(size > 88_000_000, "{size}");
}

#[test]
fn a_plan_that_the_agent_edits_is_repaired() {
    let stage = Stage::new("edits-plan", THREE);
    let ran = stage.run(&["--max-iterations", "1"]);
    ran.ended(0).says("ticked US-002, which is not its story; ignored");
    ran.says("removed US-003; ignored").says("edited US-002").says("added US-004");
    let open = "- [x] US-001: First\n- [ ] US-002: Second\n- [ ] US-003: Third\n";
    assert_eq!(
        stage.plan(),
        format!("{open}- [?] US-004: Found on the way (added by the agent)\n")
    );
    ran.says("needs you: US-004 waits to be accepted");
    assert!(stage.events().contains(&"plan_repaired".to_owned()));
}

#[test]
fn the_agent_gets_a_prompt_and_a_clean_environment() {
    let stage =
        Stage::new("shows-surroundings", "### US-001: First\n\n- [ ] Greet\n  - Where: a.txt\n");
    let ran = stage.run(&["--verify", "true", "--verify", "echo a,b", "--attempts", "2"]);
    ran.ended(0).says("US-001: checking with true, echo a,b");
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
fn paths_may_contain_spaces_and_non_ascii_letters() {
    let stage = Stage::new("works", ONE);
    let folder = stage.repo.scratch().dir("repo/größer als hier");
    stage.repo.write("größer als hier/.ralph/PRD-1/plan.md", ONE);
    stage.repo.commit_all("a project in a folder");
    stage.run_in(&folder, &[]).ended(0);
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
fn a_feature_list_is_worked_through_and_its_limit_may_be_overridden() {
    let stage = Stage::new("works", ONE);
    let feature = |id: u32| format!(r#"{{"id":{id},"description":"Greet","passes":false}}"#);
    let list = format!(r#"{{"total_features":2,"features":[{},{}]}}"#, feature(1), feature(2));
    stage.repo.write("work/feature_list.json", &list);
    stage.repo.write("work/progress.txt", "- Iteration: 0\n- Max Iterations: 1\n- Status: x\n");
    stage.repo.write("work/RALPH_PROMPT.md", "Build the greeter.\n");
    stage.repo.remove(".ralph");
    stage.repo.commit_all("a list");
    let agent = "env >\"$AGENT_NOTES/environment\"; cat >\"$AGENT_NOTES/prompt\"; date +%N >x.txt";
    let folder = stage.repo.root().join("work");
    let run = |args: &[&str]| {
        stage.run_env(&[("RALPH_LOOP_DIR", folder.as_str())], &[&["--agent", agent], args].concat())
    };
    run(&[]).ended(0).says("finished (iteration limit): 1 story landed");
    let counter = stage.read("work/progress.txt");
    assert!(counter.contains("- Iteration: 1\n- Max Iterations: 1\n"), "{counter}");
    let prompt = stage.note("prompt");
    let task = "# The task\n\nBuild the greeter.\n\n# Your part\n\nYou are";
    assert!(prompt.starts_with(task), "{prompt}");
    let environment = stage.note("environment");
    let plan = stage.copy().unwrap().join("work/feature_list.json");
    assert!(environment.contains(&format!("PLAN_PATH={plan}\n")), "{environment}");
    assert!(!environment.contains("RALPH_LOOP_DIR"), "the list is ours, not another loop's");
    run(&["--max-iterations", "5"]).ended(0).says("1 story landed");
    assert_eq!(stage.read("work/feature_list.json"), list.replace("false", "true"));
    let counter = stage.read("work/progress.txt");
    assert!(counter.contains("- Max Iterations: 1\n- Status: COMPLETE\n"), "{counter}");
}

#[test]
fn the_agent_finds_ralph_loop_in_its_path() {
    let stage = Stage::new("works", ONE);
    let agent = "cat; ralph-loop complete US-001 --status blocked --summary 'no key'";
    stage.run(&["--agent", agent]).ended(8).says("US-001 is blocked").says("no key");
    assert_eq!(stage.plan(), "- [!] US-001: First\n");
    let other =
        stage.repo.scratch().script("bin/ralph-loop", "#!/bin/sh\necho >\"$AGENT_NOTES/other\"\n");
    let path = format!("{}:/usr/bin:/bin", other.parent().unwrap());
    stage.repo.write(PLAN, ONE);
    let agent = "cat; ralph-loop; echo x >x.txt";
    stage.run_env(&[("PATH", &path)], &["--agent", agent]).ended(0);
    assert!(stage.note_path("other").exists(), "the user's own comes first");
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
        let stage = Stage::new("works", ONE);
        let text = "#!/bin/sh\ncat >/dev/null; echo x >x.txt\n";
        for path in ["agent.sh", "one/own.sh", "one/two/none.sh"] {
            stage.repo.write(path, text);
            stage.repo.chmod(path, 0o755);
        }
        stage.run_in(folder, &["--agent", agent]).ended(0).says("US-001 done");
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
        let stage = Stage::new("works", ONE);
        let begun = std::time::Instant::now();
        let agent = forgetful(server);
        stage.run(&["--agent", &agent, "--grace", "1"]).ended(0).says("US-001 done");
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{:?}", begun.elapsed());
    }
}

#[test]
fn a_timeout_after_the_result_does_not_discard_the_work() {
    let stage = Stage::new("works", ONE);
    let agent = forgetful("sleep 300");
    let ran = stage.run(&["--agent", &agent, "--grace", "60", "--timeout", "3"]);
    ran.ended(0).says("US-001 done");
}

#[test]
fn running_subagents_are_waited_for() {
    let stage = Stage::new("works", ONE);
    let stop = r#"{"status":"working"}"#;
    let folder = "\"$RALPH_STATE_DIR/state/s-1\"";
    let agent = forgetful(&format!(
        "mkdir -p {folder}; echo '{stop}' >{folder}/stop.json; sleep 3; echo more >>work.txt"
    ));
    stage.run(&["--agent", &agent, "--grace", "1"]).ended(0).says("US-001 done");
    assert_eq!(stage.read("work.txt"), "work\nmore\n");
}
