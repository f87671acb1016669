//! A story is done only with proof: failed verdicts, unchecked ticks, agents without progress.

use crate::sessions::{STOP, hook};
use crate::stage::{ONE, PLAN, Ran, Stage, THREE, TWO};

/// The input of the hook after a test run in one of the client's sessions.
fn test_run(session: &str, passed: bool) -> String {
    let (event, result) = if passed {
        ("PostToolUse", r#""tool_response":{"stdout":"1 passed in 0.1s"}"#)
    } else {
        (
            "PostToolUseFailure",
            r#""error":"Exit code 1\nFAILED test_a.py::test_b - assert\n1 failed in 0.1s""#,
        )
    };
    format!(
        "{{\"session_id\":\"{session}\",\"cwd\":\"CWD\",\"hook_event_name\":\"{event}\",\
         \"tool_name\":\"Bash\",\"tool_input\":{{\"command\":\"pytest\"}},{result}}}\n"
    )
}

/// Runs an agent that prints plain text, as `claude -p` does by default, with active hooks.
fn run_plain(stage: &Stage, runs: &[String], args: &[&str]) -> Ran {
    fs_err::write(stage.note_path("runs"), runs.concat()).unwrap();
    let agent = "cat >>\"$AGENT_NOTES/prompts\"; echo work >work.txt; \
                 sed \"s|CWD|$PWD|\" \"$AGENT_NOTES/runs\" | while read -r run; do \
                 printf '%s' \"$run\" | \"$POST_TOOL\" >/dev/null; done; echo 'All done.'";
    let hook = hook("ralph-post-tool");
    stage.run_env(&[("POST_TOOL", hook.as_str())], &[&["--agent", agent], args].concat())
}

#[test]
fn work_rolled_back_by_hooks_is_saved_reported_and_not_counted_as_idle() {
    let plan: String = (1..4).map(|story| format!("- [ ] US-00{story}: Part {story}\n")).collect();
    let stage = Stage::new("works", &plan);
    let failing = || test_run("s-1", false);
    let runs = [failing(), failing(), failing(), test_run("s-1", true)];
    let args = ["--attempts", "2", "--rollback", "failure", "--stalled-after", "2"];
    let ran = run_plain(&stage, &runs, &args);
    ran.ended(8).says(
        "US-003 is blocked: gave up after 2 failed attempts; last failure: a hook rolled back all",
    );
    let why = "rolled back by a hook after 3 failing test runs (pytest failed: test_a.py::test_b)";
    ran.says(&format!("US-001: {why}"));
    assert_eq!(ran.out.matches("rolled back by a hook").count(), 6, "{}", ran.out);
    assert!(stage.note("prompts").contains(why), "the reason is in the next prompt");
    let refs = stage.repo.git(["for-each-ref", "--format=%(refname)", "refs/ralph"]);
    let kept = |story| {
        [1, 2].map(|number| format!("refs/ralph/attempts/PRD-1/US-00{story}/{number}\n")).concat()
    };
    assert_eq!(refs, (1..4).map(kept).collect::<String>());
    stage.run(&["attempts", "US-003/2"]).ended(0).says(why).says("+work");
    stage.run(&["report", "--markdown"]).ended(0).says("ralph-loop attempts US-003/2");
}

#[test]
fn the_checks_see_what_the_commit_contains() {
    let run = |agent: &str, check: &str| {
        let stage = Stage::new("works", ONE);
        stage.repo.write(".gitattributes", "*.txt eol=lf\n");
        stage.repo.write(".gitignore", "*.o\n");
        stage.repo.commit_all("rules");
        let agent = format!("cat >/dev/null; {agent}");
        let args = ["--agent", &agent, "--verify", check, "--attempts", "1"];
        (stage.run(&args), stage)
    };
    // A file that the story hides is not there, and is back when an agent goes on.
    let hide = "mkdir -p sub/node_modules; echo >sub/x.py; echo >sub/node_modules/y; echo >old.o; \
                printf '*.py\\nnode_modules/\\n' >sub/.gitignore";
    let (ran, _) = run(hide, "test -e sub/x.py");
    ran.ended(8).says("sub/x.py were not there, because the story's own .gitignore");
    let (ran, stage) = run(hide, "test ! -e sub/x.py && test -e old.o");
    ran.ended(0).says("US-001 done").says("the checks saw sub/node_modules, which its own");
    assert!(stage.in_copy("sub/x.py"));
    // Line endings are those of a checkout.
    let (ran, _) =
        run("printf 'a\\r\\n' >new.txt", "test ! -e new.txt || test $(wc -c <new.txt) = 2");
    ran.ended(0).says("US-001 done");
    if !crate::sandbox::is_missing() {
        let (ran, _) = run("echo >\"$TMPDIR/x\"; ln -s \"$TMPDIR/x\" x", "true");
        ran.ended(8).says("x is a link to a place that is no part of the commit");
    }
}

#[test]
fn the_last_verdict_of_any_session_counts() {
    let stage = Stage::new("works", ONE);
    let runs = [test_run("s-1", false), test_run("s-2", true)];
    run_plain(&stage, &runs, &["--attempts", "1"]).ended(0).says("US-001 done");
    let other = Stage::new("works", ONE);
    let runs = [test_run("s-1", true), test_run("s-2", false)];
    let ran = run_plain(&other, &runs, &["--attempts", "1"]);
    ran.ended(8).says("US-001: the last test run failed (pytest): test_a.py::test_b");
    assert_eq!((other.plan().as_str(), other.subjects().len()), ("- [!] US-001: First\n", 1));
}

#[test]
fn a_result_that_cannot_be_parsed_is_not_a_success() {
    let (half, turns) = ("a last event that is cut off", "error_max_turns\n");
    for (result, shown) in [
        (r#"{"type":"result","subtype":"success","is_error":tr"#, half),
        (r#"{"type":"resul"#, half),
        (r#"{"type":"result","subtype":"error_max_turns","is_error":"true"}"#, turns),
    ] {
        let stage = Stage::new("works", ONE);
        let init = r#"{"type":"system","subtype":"init","session_id":"s-1"}"#;
        let agent = format!("cat >/dev/null; echo half >half.txt; echo '{init}'; echo '{result}'");
        let ran = stage.run(&["--agent", &agent, "--attempts", "1"]);
        ran.ended(8).says(&format!("the agent reported {shown}"));
        assert_eq!((stage.plan().as_str(), stage.discarded()), ("- [!] US-001: First\n", 1));
    }
}

#[test]
fn a_multi_line_check_fails_at_its_first_failing_line() {
    let stage = Stage::new("works", ONE);
    let lines =
        "[verify]\ncommands = [\"\"\"\necho unit tests; false\necho linter; true\n\"\"\"]\n";
    stage.repo.write(".ralph/config.toml", lines);
    stage.repo.commit_all("checks");
    let ran = stage.run(&["--attempts", "1"]);
    ran.ended(8).says("US-001: `echo unit tests; false … (2 lines)` failed with exit code 1");
    assert_eq!(stage.plan(), "- [!] US-001: First\n");
}

#[test]
fn a_check_without_its_program_is_refused_before_anything_is_spent() {
    let stage = Stage::new("works", ONE);
    let check = ["--baseline", "check", "--verify", "no-such-program --all"];
    stage.run(&check).ended(9).says("cannot run because something is missing: `no-such-program`");
    assert_eq!((stage.plan().as_str(), stage.exists(".ralph/PRD-1/progress.md")), (ONE, false));

    // Without the baseline checks, the first attempt reports it.
    let late = ["--verify", "cd . && no-such-program"];
    for session in [&[][..], &["--stories-per-session", "2"]] {
        let agent = format!("cat >/dev/null; echo x >x.txt; {STOP}");
        let args = [&late[..], session, &["--agent", &agent]].concat();
        let ran = stage.run_env(&[("STOP_HOOK", hook("ralph-on-stop").as_str())], &args);
        ran.ended(1).says("needs `no-such-program`, which was not found").says("finished (error)");
        assert_eq!(stage.plan(), ONE);
        assert_eq!(stage.progress().matches("## Iteration").count(), 1, "{}", stage.progress());
        fs_err::remove_file(stage.repo.root().join(".ralph/PRD-1/progress.md")).unwrap();
    }
}

#[test]
fn a_check_that_the_story_creates_fails_until_it_exists() {
    let stage = Stage::new("works", ONE);
    let agent = "cat >/dev/null; [ -e again ] && printf '#!/bin/sh\n' >test.sh && chmod +x test.sh; \
                 echo x >>x.txt; echo >again";
    let args = ["--agent", agent, "--verify", "./test.sh", "--rollback", "never"];
    stage.run(&args).ended(0).says("failed with exit code 127").says("US-001 done");
}

#[test]
fn the_failure_of_a_blocked_story_is_not_in_the_next_prompt() {
    let stage = Stage::new("works", THREE);
    let agent = "cat >\"$AGENT_NOTES/prompt-$(cat $RALPH_ROOT/.ralph/current-story)\"; \
                 echo x >$(cat $RALPH_ROOT/.ralph/current-story).txt";
    let check = "echo BOOM-OF-US-001; test ! -f US-001.txt";
    let args = ["--agent", agent, "--verify", check, "--attempts", "1", "--max-iterations", "2"];
    stage.run(&args).ended(0).says("US-001 is blocked").says("US-002 done");
    let prompt = stage.note("prompt-US-002");
    assert!(prompt.contains("# What happened last time\n\n(none)\n"), "{prompt}");
    assert!(stage.note("prompt-US-001").contains("# What happened last time\n\n(none)\n"));
}

#[test]
fn ticks_made_by_a_check_or_a_git_hook_are_discarded() {
    let stage = Stage::new("works", THREE);
    stage.repo.commit_all("the plan");
    let tick = format!("sed -i 's/\\[ \\]/[x]/' {PLAN}");
    stage.install_hook("pre-commit", &tick);
    let agent = format!("cat >/dev/null; date +%N >x.txt; echo \"{tick}\" >test.sh");
    let args = ["--agent", &agent, "--verify", "sh test.sh", "--max-iterations", "1"];
    let ran = stage.run(&args);
    ran.ended(0).says("US-001 done").says("finished (iteration limit): 1 story landed");
    let ticked = THREE.replacen("[ ]", "[x]", 1);
    assert_eq!(stage.plan(), ticked);
    assert_eq!(stage.repo.git(["show", &format!("HEAD:{PLAN}")]), ticked);
    stage.run(&args[..4]).ended(0).says("2 stories landed");
}

#[test]
fn an_agent_that_fails_at_once_blocks_no_story() {
    let stage = Stage::new("works", THREE);
    let result = |text: &str| {
        let rest = r#""total_cost_usd":0,"usage":{"input_tokens":0}"#;
        format!(
            r#"echo '{{"type":"result","is_error":true,"session_id":"s","result":"{text}",{rest}}}'"#
        )
    };
    for agent in ["echo 'error: unknown option --x' >&2; exit 1", &result("Unknown model")] {
        let ran = stage.run(&["--agent", &format!("cat >/dev/null; {agent}"), "--attempts", "1"]);
        ran.ended(1).says("US-001: the agent itself failed (").says("3 times in a row");
        assert!(!ran.out.contains("US-002"), "{}", ran.out);
    }
    let agent = format!("cat >/dev/null; {}", result("Invalid API key"));
    let ran = stage.run(&["--agent", &agent, "--attempts", "1"]);
    ran.ended(1).says("the agent was denied access: Invalid API key");
    assert_eq!(stage.plan(), THREE);
    assert!(!stage.exists(".ralph/guardrails.md"), "the story is not to blame");
    // After a single failure the story is tried again, and the limits apply.
    let agent = "cat >/dev/null; mkdir \"$AGENT_NOTES/once\" 2>/dev/null && exit 1; date +%N >>x";
    let ran = stage.run(&["--agent", agent, "--attempts", "1", "--max-iterations", "1"]);
    ran.ended(0).says("the agent itself failed (exit code 1), and said nothing");
    ran.says("1 story landed in 1 iteration");
}

#[test]
fn a_failed_signature_ends_the_run_and_keeps_the_work() {
    let stage = Stage::new("works", THREE);
    stage.repo.git(["config", "commit.gpgsign", "true"]);
    // It signs when that is tried before the first story, and never again.
    let signs_once = "#!/bin/sh\ncat >/dev/null; [ -e \"$0.used\" ] && exit 1; touch \"$0.used\"\n\
                      echo '[GNUPG:] SIG_CREATED ' >&2; echo signature";
    let program = stage.repo.scratch().script("signs", signs_once);
    stage.repo.git(["config", "gpg.program", program.as_str()]);
    let ran = stage.run(&[]);
    ran.ended(1).says("git cannot create the commit").says("user.signingkey");
    ran.says("ralph-loop attempts US-001/1").says("0 stories landed in 1 iteration");
    assert_eq!((stage.plan().as_str(), stage.discarded()), (THREE, 1));
    assert!(!stage.exists(".ralph/guardrails.md"), "the story is not to blame");
    stage.is_clean();
    stage.repo.git(["config", "commit.gpgsign", "false"]);
    stage.run(&[]).ended(0);
}

#[test]
fn planning_ticks_nothing() {
    let stage = Stage::new("works", "- [x] US-001: First\n- [ ] US-002: Second\n");
    let new = "- [x] US-003: New\\n- [x] US-001: First\\n- [x] US-002: Second, reworded\\n";
    let agent = format!("cat >/dev/null; printf -- '{new}' >{PLAN}");
    let ran = stage.run(&["--mode", "planning", "--agent", &agent]);
    ran.ended(0).says("the agent ticked US-003 while planning").says("2 open stories");
    let kept = "- [ ] US-003: New\n- [x] US-001: First\n- [ ] US-002: Second, reworded\n";
    assert_eq!(stage.plan(), kept);
    assert!(stage.events().contains(&"plan_repaired".to_owned()));
    let ticks = format!("cat >/dev/null; sed -i 's/\\[ \\]/[x]/' {PLAN}");
    stage.run(&["--mode", "planning", "--agent", &ticks]).ended(4);
    assert_eq!(stage.plan(), kept);
    stage.run(&[]).ended(0).says("2 stories landed");
}

/// Works on the first story only.
const WORKS_ONCE: &str = "cat >/dev/null; [ -e first.txt ] || echo first >first.txt";

#[test]
fn files_left_by_a_git_hook_or_a_script_do_not_count_as_the_next_storys_work() {
    let stage = Stage::new("works", TWO);
    stage.install_hook("post-commit", "echo left >>left.txt");
    stage.script("next_iteration", "echo \"$ITERATION\" >made.txt");
    let ran = stage.run(&["--agent", WORKS_ONCE]);
    ran.ended(8).says("US-001 done").says("US-002: the agent changed nothing");
    assert_eq!(stage.plan(), "- [x] US-001: First\n- [!] US-002: Second\n");
    assert_eq!(stage.repo.git(["show", "--format=", "--name-only", "HEAD"]), "first.txt\n");
    assert!(stage.exists("made.txt"));
    assert!(!stage.exists("left.txt"), "hooks run in the copy");
}

/// An agent that ticks the story in the project's own plan instead of the copy's.
fn ticking(then: &str) -> String {
    let tick = format!("sed -i 's/\\[ \\]/[x]/' \"$RALPH_ROOT/{PLAN}\"");
    format!("cat >/dev/null; echo x >x.txt; {tick}; {then}")
}

#[test]
fn a_tick_by_the_agent_in_the_projects_plan_is_undone() {
    for (is_tracked, branch) in [(false, "main"), (true, "main"), (false, "side")] {
        for (verify, then) in [("false", ""), ("true", "exit 1"), ("true", "rm x.txt")] {
            let stage = Stage::new("works", ONE);
            if is_tracked {
                stage.repo.commit_all("the plan");
            }
            let agent = ticking(then);
            let ran = stage.run(&["--agent", &agent, "--verify", verify, "--branch", branch]);
            ran.ended(8).says("ticked US-001 in the project's own plan before it landed; undone");
            assert_eq!(stage.plan(), "- [!] US-001: First\n", "{verify} {then}");
            assert!(stage.events().contains(&"plan_repaired".to_owned()));
        }
    }
}

#[test]
fn a_tick_committed_during_an_attempt_counts() {
    let stage = Stage::new("works", ONE);
    stage.repo.commit_all("the plan");
    let commit = "cd \"$RALPH_ROOT\"; git commit -qam 'did it myself'; exit 1";
    let ran = stage.run(&["--agent", &ticking(commit)]);
    ran.ended(0).says("finished (complete)");
    assert_eq!(stage.plan(), "- [x] US-001: First\n");
}
