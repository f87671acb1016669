//! Agents other than Claude Code, played by scripts that print recorded output of the real ones.

use crate::install::HOOKS;
use crate::stage::{ONE, Ran, Stage, copy_loop_to};

/// The output of codex around a command and a turn.
const PRINTS: &str = r#"
says() { printf '%s\n' "$1"; }
begins() { says '{"type":"thread.started","thread_id":"t1"}'; }
runs() { says '{"type":"item.started","item":{"id":"'$1'","type":"command_execution","command":"'"$2"'"}}'
  says '{"type":"item.completed","item":{"id":"'$1'","type":"command_execution","aggregated_output":"'"$4"'","exit_code":'$3'}}'; }
ends() { says '{"type":"item.completed","item":{"id":"z","type":"agent_message","text":"done"}}'
  says '{"type":"turn.completed","usage":{"input_tokens":'$1',"output_tokens":20}}'; }
limited() { says '{"type":"turn.failed","error":{"message":"You’ve hit your usage limit. Try again in 2 hours."}}'; exit 1; }
"#;

/// A project, and the loop in a folder with fake hooks that run this script.
fn stage(plan: &str, hook: &str) -> Stage {
    let stage = Stage::new("client", plan);
    let scratch = stage.repo.scratch();
    copy_loop_to(&scratch.path("unpacked"));
    for name in HOOKS {
        scratch.script(&format!("unpacked/{name}"), &format!("#!/bin/sh\n{hook}\n"));
    }
    stage
}

/// Puts an agent on the search path that records its arguments and prompt, then runs `does`.
fn agent(stage: &Stage, name: &str, does: &str) {
    let script = format!(
        "#!/bin/bash\n[ \"$1\" = --version ] && echo '{name} 0.169.0' && exit\n\
         echo \"$@\" >>\"$AGENT_NOTES/{name}\"\ncat >>\"$AGENT_NOTES/prompts\"\n{PRINTS}\n{does}\n"
    );
    stage.repo.scratch().script(&format!("bin/{name}"), &script);
}

fn run(stage: &Stage, args: &[&str]) -> Ran {
    let scratch = stage.repo.scratch();
    let path = format!("{}:/usr/bin:/bin", scratch.path("bin"));
    let mut command = stage.command_of(scratch.path("unpacked/ralph-loop").as_str(), args);
    command.env("PATH", path).env_remove("RALPH_AGENT");
    command.output().unwrap().into()
}

fn message(stage: &Stage) -> String {
    stage.repo.git(["log", "-1", "--grep=Ralph-Story", "--format=%B"])
}

/// A hook that reports to the loop that hooks run.
const HEARD: &str = "cat >/dev/null; mkdir -p \"$RALPH_STATE_DIR/state\"; printf t1 >\"$RALPH_STATE_DIR/state/working-session\"";

#[test]
fn codex_is_given_hooks_tools_and_a_model_for_one_run() {
    let stage = stage(ONE, HEARD);
    let heard = "bash -c \"$(printf '%s\\n' \"$@\" | sed -n 's/.*UserPromptSubmit.*command=\"\\([^\"]*\\)\".*/\\1/p')\"";
    let does = format!("begins; echo x | {heard}; runs 1 ls 0; echo x >new.txt; ends 1000");
    agent(&stage, "codex", &does);
    let ran = run(&stage, &["--agent", "codex", "--model", "gpt-5"]);
    ran.ended(0).says("1020 tokens");
    assert!(!ran.out.contains("does not run the hooks"), "{}", ran.out);
    let arguments = stage.note("codex");
    assert!(arguments.starts_with("exec --model gpt-5 -c hooks."), "{arguments}");
    for part in ["ralph-pre-tool --agent codex", "mcp_servers.ralph={args=[\"mcp\"]", " --json "] {
        assert!(arguments.contains(part), "{part}: {arguments}");
    }
    assert!(stage.note("prompts").contains("US-001"));
    assert!(message(&stage).contains("\nRalph-Agent: codex (gpt-5)\n"), "{}", message(&stage));
}

#[test]
fn without_hooks_commands_are_judged_by_the_stream() {
    let stage = stage(ONE, "cat >/dev/null");
    let does = "begins; echo x >new.txt; runs 1 'git push origin main' 0; sleep 20; ends 1000";
    agent(&stage, "codex", does);
    let ran = run(&stage, &["--agent", "codex", "--attempts", "1"]);
    ran.ended(8).says("codex does not run the hooks that were passed to it");
    ran.says("the agent ran a forbidden command: `git push origin main`");
}

#[test]
fn a_failing_test_run_in_the_stream_fails_the_attempt() {
    let stage = stage(ONE, HEARD);
    let does = "begins; echo x >new.txt; runs 1 pytest 1 '1 failed, 2 passed in 0.1s'; ends 1000";
    agent(&stage, "codex", does);
    run(&stage, &["--agent", "codex", "--attempts", "1"]).ended(8).says("the last test run failed");
}

#[test]
fn the_fallback_agent_takes_over_at_a_usage_limit() {
    let stage = stage(ONE, HEARD);
    agent(&stage, "codex", "begins; limited");
    agent(&stage, "qwen", "begins; echo x >new.txt; ends 1000");
    let config = "[agent]\nname = 'codex'\nfallback = ['qwen']\n";
    stage.repo.write(".ralph/config.toml", config);
    stage.repo.commit_all("settings");
    let ran = run(&stage, &["--attempts", "1"]);
    ran.ended(0).says("codex: usage limit reached; qwen takes over until it resets");
    assert!(message(&stage).contains("\nRalph-Agent: qwen\n"), "{}", message(&stage));
    assert!(!stage.note("qwen").contains("--resume"), "another agent's session is none of its own");
}

/// They say nothing until the limit has reset, which is longer than their time; that costs no attempt.
#[test]
fn an_agent_that_waits_for_its_service_itself_is_not_ended() {
    let retrying = r#"{"role":"meta","type":"turn.step.retrying","delay_ms":4000,"status_code":429,"error_message":"429 Usage limit reached. Try again in 4 seconds"}"#;
    let failed = r#"{"type":"model.call_failure","data":{"statusCode":429}}'; says '{"type":"model.call_finished","data":{"outcome":"error"}}"#;
    let plugin = r#"{"type":"ralph.waiting","until":'$(($(date +%s) + 4))'000}"#;
    for (name, line, next) in [
        ("kimi", retrying, r#"{"role":"assistant","content":"on it"}"#),
        ("copilot", failed, r#"{"type":"model.call_start","data":{}}"#),
        ("opencode", plugin, r#"{"type":"text","sessionID":"s","part":{"text":"on it"}}"#),
    ] {
        let stage = stage(ONE, HEARD);
        let does = format!("says '{line}'; sleep 4; says '{next}'; echo x >new.txt");
        agent(&stage, name, &does);
        let ran =
            run(&stage, &["--agent", name, "--timeout", "3", "--silence", "2", "--attempts", "1"]);
        ran.ended(0).says("1 story landed");
        // Without a limit, the same is a hang.
        let stage = self::stage(ONE, HEARD);
        agent(&stage, name, "says '{\"type\":\"other\"}'; sleep 20; echo x >new.txt");
        let ran = run(&stage, &["--agent", name, "--silence", "1", "--attempts", "1"]);
        ran.ended(8).says("the agent printed nothing for 1 second");
    }
}

#[test]
fn a_story_chooses_its_agent_and_its_model() {
    let stage = stage("- [ ] US-001: First (agent: qwen) (model: q1)\n", HEARD);
    agent(&stage, "codex", "begins; echo x >wrong.txt; ends 1000");
    agent(&stage, "qwen", "begins; echo x >new.txt; ends 1000");
    run(&stage, &["--agent", "codex", "--model", "gpt-5"]).ended(0);
    assert!(stage.note("qwen").contains("--model q1"), "{}", stage.note("qwen"));
    assert_eq!(stage.note("codex"), "");
    assert!(message(&stage).starts_with("feat(US-001): First\n"), "{}", message(&stage));
}

#[test]
fn a_missing_agent_is_reported_before_the_first_story() {
    let stage =
        stage("- [ ] US-001: First (agent: droid)\n- [ ] US-002: Second (agent: codxe)\n", HEARD);
    agent(&stage, "codex", "begins; echo x >new.txt; ends 1000");
    let args = ["--agent", "codex", "--fallback", "qwen"];
    let missing =
        |name: &str| format!("the other agent `{name}` was not found in PATH; install it");
    run(&stage, &args).ended(1).says(&missing("droid"));
    let found = run(&stage, &[&["doctor"], &args[..]].concat());
    found.ended(1).says(&missing("droid")).says(&missing("qwen"));
    found.says("`codxe` in the plan is not");
    assert_eq!(stage.note("codex"), "");
}

#[test]
fn an_agent_without_a_stop_event_is_resumed_with_the_reason() {
    // The hook blocks once.
    let hook = "cat >/dev/null; mkdir -p \"$RALPH_STATE_DIR/state\"; printf ses_1 >\"$RALPH_STATE_DIR/state/working-session\"\n\
                case $0 in *on-stop) [ -e \"$RALPH_STATE_DIR/held\" ] && exit\n\
                touch \"$RALPH_STATE_DIR/held\"; echo '{\"decision\":\"block\",\"reason\":\"NOT YET\"}';; esac";
    let stage = stage(ONE, hook);
    let text = r#"{"type":"text","sessionID":"ses_1","part":{"text":"done"}}"#;
    agent(&stage, "opencode", &format!("echo x >new.txt; says '{text}'"));
    run(&stage, &["--agent", "opencode", "--attempts", "1"]).ended(0);
    let runs = stage.note("opencode");
    assert_eq!(runs.lines().count(), 2, "{runs}");
    assert!(runs.lines().nth(1).unwrap().starts_with("run --session ses_1 "), "{runs}");
    assert!(stage.note("prompts").ends_with("NOT YET"), "{}", stage.note("prompts"));
}
