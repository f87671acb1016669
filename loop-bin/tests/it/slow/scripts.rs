//! Lifecycle scripts: when they run, their variables, and the effects of their exit codes.

use crate::stage::{ONE, Ran, Stage, signal, until};

const LOG: &str = "env | grep '^RALPH_\\|^FRESHER_' | sort >\"$AGENT_NOTES/$(basename \"$0\")\"";

#[test]
fn scripts_get_the_documented_variables() {
    let stage = Stage::new("works", ONE);
    for name in ["started", "next_iteration", "post_iteration", "finished"] {
        stage.script(name, &format!("{LOG}; echo hello from {name}"));
    }
    let ran = stage.run(&["--max-iterations", "5"]);
    ran.ended(0).says("[started] hello from started").says("[finished] hello from finished");
    let started = "MODE=building MAX_ITERATIONS=5 PLAN_FILE= SPEC_DIR= LOG_DIR= STARTED_AT= \
                   PROJECT_DIR=";
    let finished = "FINISH_TYPE=complete TOTAL_ITERATIONS=1 TOTAL_COMMITS=1 DURATION= ITERATION=1";
    for (name, variables) in [
        ("started", started),
        ("next_iteration", "ITERATION=1 LAST_EXIT_CODE=0 LAST_DURATION=0 COMMITS_MADE=0"),
        ("post_iteration", "ITERATION=1 STORY=US-001 EXIT_CODE=0 DURATION=0 OUTCOME=success"),
        ("finished", finished),
    ] {
        let shown = stage.note(name);
        for variable in variables.split(' ') {
            for expected in [format!("RALPH_{variable}"), format!("FRESHER_{variable}")] {
                assert!(shown.contains(&expected), "{name}: {expected}\n{shown}");
            }
        }
    }
    assert_eq!(stage.events().iter().filter(|event| *event == "lifecycle").count(), 4);
}

#[test]
fn script_output_is_logged_and_part_of_the_events() {
    let stage = Stage::new("works", ONE);
    // A script without a shebang line.
    stage.repo.write(".ralph/hooks/started", "echo PREREQ MISSING\necho twice >&2\nexit 2\n");
    stage.repo.chmod(".ralph/hooks/started", 0o755);
    let ran = stage.run(&["--json"]);
    ran.ended(3).says(r#""name":"started","exit_code":2,"output":"PREREQ MISSING\ntwice\n""#);
    let logs = fs_err::read_dir(stage.repo.root().join(".ralph/logs")).unwrap().flatten();
    let mut logs =
        logs.map(|log| log.path()).filter(|log| log.to_string_lossy().ends_with("-scripts.log"));
    let text = fs_err::read_to_string(logs.next().unwrap()).unwrap();
    assert_eq!(text, "[started] PREREQ MISSING\n[started] twice\n");
}

#[test]
fn the_output_of_a_script_is_shown_whole_up_to_10_mb_and_then_in_a_file() {
    let stage = Stage::new("works", ONE);
    stage.script("started", "seq 1 20000 | sed s/^/L/");
    stage.script(
        "finished",
        "head -c 12000000 /dev/zero | tr '\\0' M | fold -w 999; echo; echo the end; exit 2",
    );
    let ran = stage.run(&[]);
    ran.ended(0).says("finished script failed (exit code 2)");
    let shown = ran.out.lines().filter_map(|line| line.split_once("[started] "));
    let shown: Vec<&str> = shown.map(|(_, line)| line).collect();
    let expected: Vec<String> = (1..=20000).map(|n| format!("L{n}")).collect();
    assert_eq!(shown, expected);
    let line = ran.out.lines().find(|line| line.contains("the whole output is in")).unwrap();
    let path = line.split("is in ").nth(1).unwrap().trim_end_matches(" …]");
    let whole = fs_err::read_to_string(path).unwrap();
    assert!(whole.len() > 12_000_000 && whole.ends_with("\nthe end\n"));
    assert!(ran.out.matches("MMM").count() > 9_000 && !ran.out.contains("the end"));
}

#[test]
fn exit_codes_agree_in_all_scripts() {
    let stage = Stage::new("works", ONE);
    stage.script("next_iteration", "echo $RALPH_LAST_EXIT_CODE >>\"$AGENT_NOTES/last\"");
    stage.script("post_iteration", "echo $RALPH_EXIT_CODE >>\"$AGENT_NOTES/code\"");
    stage.run(&["--agent", "sleep 600", "--timeout", "1", "--attempts", "2"]);
    assert_eq!((stage.note("last").as_str(), stage.note("code").as_str()), ("0\n-1\n", "-1\n-1\n"));
}

#[test]
fn exit_codes_stop_skip_and_warn() {
    let rows = [
        ("started", 2, 3, "finished (stopped by a script): 0 stories"),
        ("started", 1, 0, "started script reported a warning"),
        ("next_iteration", 2, 3, "finished (stopped by a script): 0 stories"),
        ("next_iteration", 1, 6, "next_iteration skipped; waiting for 1 s"),
        ("post_iteration", 2, 3, "finished (stopped by a script): 1 story"),
        ("post_iteration", 7, 0, "post_iteration script failed (exit code 7)"),
    ];
    for (name, code, expected, words) in rows {
        let stage = Stage::new("works", ONE);
        stage.script(name, &format!("exit {code}"));
        stage.script("finished", "echo $RALPH_FINISH_TYPE >\"$AGENT_NOTES/finish\"");
        let limit = if expected == 6 { "5" } else { "60" };
        stage.run(&["--max-duration", limit]).ended(expected).says(words);
        assert!(!stage.note("finish").is_empty(), "finished runs after {name} {code}");
    }
}

#[test]
fn slow_and_non_executable_scripts_are_handled() {
    let stage = Stage::new("works", ONE);
    stage.script("started", "sleep 600");
    let ran = stage.run_env(&[("HOOK_FAIL_BEHAVIOR", "abort")], &["--hook-timeout", "1"]);
    ran.ended(3).says("started script timed out after 1 s");

    let other = Stage::new("works", ONE);
    other.script("finished", "exit 0");
    other.repo.chmod(".ralph/hooks/finished", 0o644);
    other.run(&[]).ended(0).says("is not executable");
}

#[test]
fn a_server_that_a_script_starts_lives_as_long_as_the_run() {
    let stage = Stage::new("works", ONE);
    stage.script("started", "sleep 600 >/dev/null 2>&1 & echo $! >\"$AGENT_NOTES/server\"");
    stage.script("post_iteration", "kill -0 $(cat \"$AGENT_NOTES/server\") && echo it lives");
    stage.run(&[]).ended(0).says("it lives");
    assert!(!crate::stage::is_alive(&stage.note("server")));
}

#[test]
fn custom_programs_are_called_by_scripts_and_never_by_the_loop() {
    let stage = Stage::new("works", ONE);
    stage.script("custom/notify", "echo \"$RALPH_FINISH_TYPE: $*\" >>\"$AGENT_NOTES/notified\"");
    stage.script("finished", "notify 'to whom it may concern'");
    stage.run(&[]).ended(0);
    assert_eq!(stage.note("notified"), "complete: to whom it may concern\n");

    let foreign = Stage::new("works", ONE);
    let (scratch, folder) = (foreign.repo.scratch(), "repo/.fresher/hooks");
    let calls = "#!/bin/sh\n.fresher/hooks/custom/notify; notify\n";
    scratch.script(&format!("{folder}/finished"), calls);
    scratch.script(&format!("{folder}/custom/notify"), "#!/bin/sh\necho to the team\n");
    foreign.repo.commit_all("scripts");
    let ran = foreign.run(&[]);
    assert_eq!(ran.ended(0).out.matches("[finished] to the team").count(), 2, "{}", ran.out);
}

#[test]
fn scripts_can_be_disabled() {
    let stage = Stage::new("works", ONE);
    for name in ["started", "next_iteration", "post_iteration", "finished"] {
        stage.script(name, "echo it ran; exit 2");
    }
    for (variable, expected) in
        [("HOOK_NEXT_ITERATION_ENABLED", 3), ("HOOK_FINISHED_ENABLED", 3), ("HOOKS_ENABLED", 0)]
    {
        let ran = stage.run_env(&[(variable, "false")], &[]);
        let is_run = ran.ended(expected).out.contains("[finished] it ran");
        assert_eq!(is_run, variable == "HOOK_NEXT_ITERATION_ENABLED");
    }
}

#[test]
fn a_script_that_times_out_is_ended_with_its_children() {
    let stage = Stage::new("works", ONE);
    let children = "sleep 600 & echo $! >>\"$AGENT_NOTES/children\"; \
                    setsid sleep 600 & echo $! >>\"$AGENT_NOTES/children\"; wait";
    stage.script("next_iteration", children);
    stage
        .run_env(&[("HOOK_TIMEOUT", "1")], &[])
        .ended(0)
        .says("next_iteration script timed out after 1 s");
    let children = stage.note("children");
    assert_eq!(children.lines().count(), 2);
    for child in children.lines() {
        assert!(!crate::stage::is_alive(child), "{child} lives");
    }
}

#[test]
fn a_script_that_cannot_be_started_follows_fail_behavior() {
    for content in ["#!/bin/sh\r\nexit 0\r\n", "#!/no/such/shell\nexit 0\n"] {
        let stage = Stage::new("works", ONE);
        stage.repo.scratch().script("repo/.ralph/hooks/started", content);
        let with = |behavior: &str| stage.run_env(&[("HOOK_FAIL_BEHAVIOR", behavior)], &[]);
        stage.run(&["doctor", "--no-checks"]).says("hooks/started cannot be started; check that");
        with("abort").ended(3).says("hooks/started (");
        with("continue").ended(0).says("hooks/started (");
    }
    let stage = Stage::new("works", ONE);
    stage.repo.write(".ralph/hooks/finished/notify", "#!/bin/sh\n");
    stage.run(&["doctor", "--no-checks"]).says("hooks/finished is a folder; only a file of that");
}

#[test]
fn a_skipped_iteration_counts_and_the_next_one_follows() {
    let stage = Stage::new("works", ONE);
    stage.script("next_iteration", "echo x >>\"$AGENT_NOTES/asked\"; exit 1");
    stage.script("finished", "echo $RALPH_FINISH_TYPE after $RALPH_TOTAL_ITERATIONS");
    let ran = stage.run(&["--max-iterations", "2"]);
    ran.ended(0).says("[finished] max_iterations after 0");
    assert_eq!(stage.note("asked"), "x\nx\n");
    stage.run(&["--mode", "planning"]).ended(0).says("[finished] max_iterations after 0");
}

#[test]
fn a_skipped_iteration_is_retried_later_with_skip_wait() {
    let stage = Stage::new("works", ONE);
    stage.repo.write(".ralph/config.toml", "[hooks]\nskip = \"wait\"\n");
    let skip = "echo x >>\"$AGENT_NOTES/asked\"; [ $(wc -l <\"$AGENT_NOTES/asked\") -gt 2 ]";
    stage.script("next_iteration", &format!("{skip} || exit 1"));
    let ran = stage.run(&["--max-iterations", "1", "--stalled-after", "1"]);
    ran.ended(0).says("next_iteration skipped; waiting for 2 s").says("US-001 done");
    assert_eq!(stage.note("asked").lines().count(), 3);
    let planning = Stage::new("works", ONE);
    planning.script("next_iteration", "exit 1");
    let ran = planning.run(&["--mode", "planning", "--max-duration", "2", "--max-iterations", "0"]);
    ran.ended(6).says("next_iteration skipped; waiting for 1 s");
}

#[test]
fn a_wait_for_a_script_is_shown_and_can_be_ended_at_once() {
    for (end, code) in [(&["stop"][..], 0), (&["stop", "--now"], 130), (&[], 130)] {
        let stage = Stage::new("works", ONE);
        stage.script("next_iteration", "exit 1");
        stage.repo.write(".ralph/config.toml", "[hooks]\nskip = \"wait\"\n");
        let child = stage.start(&[]);
        let says = |words: &str| stage.run(&["status"]).out.contains(words);
        // A wait that is long enough to be observed.
        until("the run waits", || says("Waiting   next_iteration skipped; until "));
        let asked = |stage: &Stage| stage.events().iter().filter(|at| *at == "lifecycle").count();
        until("it waits for longer", || asked(&stage) > 3);
        if end.is_empty() {
            signal("INT", child.id());
        } else {
            stage.run(end).ended(0);
        }
        let ran: Ran = child.wait_with_output().unwrap().into();
        let how = if code == 0 { "stopped" } else { "interrupted" };
        ran.ended(code).says(&format!("finished ({how})"));
        assert!(asked(&stage) <= 5, "{end:?}: {}", ran.out);
        assert!(!stage.run(&["status"]).out.contains("Waiting"));
    }
}
