//! A run passes the hooks next to the loop to the client, and notices if they do not run.

use std::collections::BTreeSet;

use test_support::fixtures;

use crate::stage::{ONE, Ran, Stage, TWO, copy_loop_to};

const DEFAULT: &str = "claude -p --output-format stream-json";
const HOOKS: [&str; 4] = ["ralph-pre-prompt", "ralph-pre-tool", "ralph-post-tool", "ralph-on-stop"];

/// A project, a client on the search path, and the loop in a folder with these hooks.
fn stage_with(hooks: &[&str]) -> Stage {
    let stage = Stage::new("client", ONE);
    let scratch = stage.repo.scratch();
    copy_loop_to(&scratch.path("it's unpacked"));
    for hook in hooks {
        scratch.script(&format!("it's unpacked/{hook}"), "#!/bin/sh\n");
    }
    let client = fixtures().join("agents/client.sh");
    scratch.script("bin/claude", &format!("#!/bin/sh\nexec sh '{client}' \"$@\"\n"));
    stage
}

fn run(stage: &Stage, agent: &str, args: &[&str], version: &str) -> Ran {
    let scratch = stage.repo.scratch();
    let path = format!("{}:/usr/bin:/bin", scratch.path("bin"));
    let mut command = stage.command_of(scratch.path("it's unpacked/ralph-loop").as_str(), args);
    command.env("PATH", path).env("RALPH_AGENT", agent).env("CLIENT_VERSION", version);
    command.output().unwrap().into()
}

/// The hooks that were passed to the client: events and their commands.
fn given(stage: &Stage) -> Vec<(String, String)> {
    let settings = stage.note("settings");
    let Ok(settings) = serde_json::from_str::<serde_json::Value>(&settings) else { return vec![] };
    let events = settings["hooks"].as_object().unwrap();
    let command =
        |groups: &serde_json::Value| groups[0]["hooks"][0]["command"].as_str().map(str::to_owned);
    events.iter().map(|(event, groups)| (event.clone(), command(groups).unwrap())).collect()
}

fn events(stage: &Stage) -> BTreeSet<String> {
    given(stage).into_iter().map(|(event, _)| event).collect()
}

#[test]
fn a_client_without_hooks_gets_those_next_to_the_loop() {
    let stage = stage_with(&HOOKS);
    let dry = run(&stage, DEFAULT, &["--dry-run"], "2.1.325");
    dry.ended(0).says("the hooks next to ralph-loop are passed");
    assert!(!stage.exists(".ralph/state"));
    run(&stage, DEFAULT, &[], "2.1.325").ended(0);
    let arguments = stage.note("arguments");
    let is_passed = arguments.starts_with("--settings\n");
    assert!(is_passed && arguments.ends_with("\nstream-json\n"), "{arguments}");
    let given = given(&stage);
    assert_eq!(given.len(), 13);
    for (event, command) in given {
        let shell = std::process::Command::new("sh").args(["-c", &command]).status().unwrap();
        assert!(shell.success(), "{event}: {command}");
    }
    stage.is_clean();
    assert_eq!(stage.subjects()[0], "feat(US-001): First");
}

#[test]
fn an_older_client_gets_only_events_it_supports() {
    let stage = stage_with(&HOOKS);
    run(&stage, DEFAULT, &[], "2.0.77").ended(0);
    assert!(!events(&stage).contains("TaskCompleted") && events(&stage).len() == 10);
    let silent = stage_with(&HOOKS);
    let ran = run(&silent, DEFAULT, &[], "?");
    ran.ended(1).says("does not answer `--version`, so it gets no hooks");
    assert_eq!(given(&silent), []);
}

/// Whether a client can run what settings register is not known before it does; what the run passes is.
#[test]
fn a_run_brings_its_own_hooks_whatever_is_installed() {
    let guard = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"/x/ralph-pre-tool"}]}]}}"#;
    let stage = stage_with(&HOOKS);
    stage.repo.scratch().file("home/.claude/settings.json", guard);
    run(&stage, "x", &["install", "--client-version", "2.1.325"], "2.1.325").ended(0);
    run(&stage, DEFAULT, &[], "2.1.325").ended(0);
    let given = given(&stage);
    assert_eq!(given.len(), 13);
    assert!(given.iter().all(|(_, command)| command.ends_with(" --run")), "{given:?}");
    let settings: serde_json::Value = serde_json::from_str(&stage.note("settings")).unwrap();
    assert_eq!(settings["hooks"]["PreToolUse"][0]["hooks"][0]["onFailure"], "block");
    assert!(settings["hooks"]["Stop"][0]["hooks"][0].get("onFailure").is_none());
}

#[test]
fn installed_hooks_are_relied_on_where_none_can_be_passed() {
    let stage = stage_with(&HOOKS);
    run(&stage, "x", &["install", "--client-version", "2.1.325"], "2.1.325").ended(0);
    stage.repo.write("own.json", "{}");
    stage.repo.commit_all("own settings");
    let agent = "claude --settings own.json -p";
    run(&stage, agent, &["doctor"], "2.1.325").ended(0).says("ok       hooks are installed");
    run(&stage, agent, &[], "2.1.325").ended(0);
    assert!(!stage.note("arguments").contains("passed-settings"));
}

/// The hooks are started once in the sandbox before anything is paid for.
#[test]
fn a_hook_that_cannot_run_is_noticed_before_the_first_story() {
    let stage = stage_with(&HOOKS);
    stage.repo.scratch().script("it's unpacked/ralph-pre-tool", "#!/no/such/interpreter\n");
    for args in [&[][..], &["doctor"]] {
        let ran = run(&stage, DEFAULT, args, "2.1.325");
        ran.ended(1).says("ralph-pre-tool cannot be started");
    }
    assert_eq!(stage.note("arguments"), "", "the agent was started");
    run(&stage, DEFAULT, &["--unguarded"], "2.1.325").ended(0).says("cannot be started");
}

/// The client refuses calls whose hook has gone; after three of them the agent has nothing more to do.
#[test]
fn an_agent_is_ended_if_no_hook_judges_it() {
    let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"PreToolUse:Bash hook error: [/x/ralph-pre-tool --run]: failed; blocking because onFailure is \"block\""}]}}"#;
    let call = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}"#;
    let notice = r#"{"type":"system","subtype":"informational","content":"A hook gave no usable answer","tag":"hook_no_verdict","hook_no_verdict":{"hook_event":"PreToolUse","tool_use_id":"t","timed_out":false}}"#;
    let heard =
        r#"mkdir -p "$RALPH_STATE_DIR/state"; echo s >"$RALPH_STATE_DIR/state/working-session""#;
    let stage = stage_with(&HOOKS);
    let lines = format!("{call}\n{result}\n").repeat(3);
    let client = |lines: &str, end: &str| {
        format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo 2.1.325 && exit\ncat >/dev/null\n{heard}\necho call >>\"$AGENT_NOTES/calls\"\ncat <<'END'\n{lines}END\n{end}\n"
        )
    };
    let scratch = stage.repo.scratch();
    scratch.script("bin/claude", &client(&lines, "sleep 60"));
    let ran = run(&stage, DEFAULT, &[], "2.1.325");
    ran.ended(1).says("because its hooks do not run").says("3 times in a row");
    assert_eq!(stage.note("calls").lines().count(), 3);
    assert!(stage.plan().contains("- [ ] US-001"), "no attempt was counted");

    let end =
        "echo done >one.txt; echo '{\"type\":\"result\",\"is_error\":false,\"result\":\"Done.\"}'";
    let lines = format!("{call}\n{notice}\n");
    // What the client runs although a hook failed, a hook of somebody else's has failed for.
    let stage = stage_with(&HOOKS);
    stage.repo.scratch().script("bin/claude", &client(&lines, end));
    let ran = run(&stage, DEFAULT, &[], "2.1.325");
    ran.ended(0).says("US-001: a hook that is not ours fails: A hook gave no usable answer");
    assert!(!ran.out.contains("unguarded"), "{}", ran.out);
    // Hooks that are installed need not refuse anything.
    let stage = stage_with(&HOOKS);
    stage.repo.scratch().script("bin/claude", &client(&lines, end));
    let hook = r#"{"type":"command","command":"/gone/ralph-pre-tool"}"#;
    let settings = format!(r#"{{"hooks":{{"PreToolUse":[{{"hooks":[{hook}]}}]}}}}"#);
    stage.repo.write(".claude/settings.json", settings);
    let agent = format!("{DEFAULT} --settings '{{}}'");
    let ran = run(&stage, &agent, &[], "2.1.325");
    ran.ended(0).says("US-001: a call ran unguarded: A hook gave no usable answer");
    ran.says("unguarded for 1 call");
    run(&stage, DEFAULT, &["status"], "2.1.325").ended(0).says("unguarded for 1 call");
    run(&stage, DEFAULT, &["report", "--markdown"], "2.1.325").says("guard: unguarded for 1 call");
}

/// What every older script writes.
#[test]
fn a_command_of_a_known_agent_is_completed() {
    let stage = stage_with(&HOOKS);
    let line = "claude --dangerously-skip-permissions --output-format stream-json --verbose -p";
    run(&stage, "claude -p", &["doctor"], "2.1.325").ended(0).says(line);
    run(&stage, "claude -p", &[], "2.1.325").ended(0);
    let arguments = stage.note("arguments");
    assert!(
        arguments.contains("--dangerously-skip-permissions\n--output-format\nstream-json\n"),
        "{arguments}"
    );
}

/// Sets up the plugin as if the user had installed it.
fn enable_plugin(stage: &Stage) {
    let scratch = stage.repo.scratch();
    run(stage, "x", &["install", "--client-version", "2.1.325"], "2.1.325").ended(0);
    let hooks = stage.read(".claude/settings.json");
    scratch.file("plugin/hooks/hooks.json", hooks);
    run(stage, "x", &["uninstall"], "2.1.325").ended(0);
    let folder = scratch.path("plugin");
    let list = format!(r#"{{"plugins":{{"ralph-loop@ralph":[{{"installPath":"{folder}"}}]}}}}"#);
    scratch.file("home/.claude/plugins/installed_plugins.json", list);
    let settings = r#"{"enabledPlugins":{"ralph-loop@ralph":true}}"#;
    scratch.file("home/.claude/settings.json", settings);
}

#[test]
fn hooks_that_are_installed_twice_are_reported() {
    let stage = stage_with(&HOOKS);
    enable_plugin(&stage);
    let once = run(&stage, DEFAULT, &["doctor"], "2.1.325");
    assert!(!once.ended(0).out.contains("installed twice"));
    let install = ["install", "--client-version", "2.1.325"];
    run(&stage, "x", &install, "2.1.325").ended(0).says("plugin/hooks/hooks.json registers the");
    run(&stage, DEFAULT, &["doctor"], "2.1.325").ended(0).says("the hooks are installed twice");
}

#[test]
fn settings_that_the_client_does_not_read_do_not_count() {
    let stage = stage_with(&HOOKS);
    run(&stage, "x", &["install", "--client-version", "2.1.325"], "2.1.325").ended(0);
    run(&stage, "claude --setting-sources user -p", &[], "2.1.325").ended(0);
    assert_eq!(events(&stage).len(), 13);
}

#[test]
fn only_existing_hooks_are_passed() {
    let stage = stage_with(&["ralph-pre-tool"]);
    run(&stage, DEFAULT, &[], "2.1.325").ended(0);
    assert_eq!(events(&stage).into_iter().collect::<Vec<_>>(), ["PreToolUse"]);
    let none = stage_with(&[]);
    let ran = run(&none, DEFAULT, &[], "2.1.325");
    ran.ended(1).says("no hooks guard the agent").says("`--unguarded` starts it anyway");
    assert_eq!(none.note("arguments"), "", "the agent was started");
    run(&none, DEFAULT, &["--unguarded"], "2.1.325").ended(0).says("no hooks guard the agent");
    assert!(none.read(".ralph/events.jsonl").contains("\"unguarded\":\"no hooks guard the agent"));
    let ran = run(&none, DEFAULT, &["status"], "2.1.325");
    ran.ended(0).says("unguarded: no hooks guard the agent");
    run(&none, DEFAULT, &["report", "--markdown"], "2.1.325").says("unguarded: no hooks guard");
    assert!(!none.note("arguments").contains("--settings"));
}

#[test]
fn agent_commands_that_cannot_take_hooks_are_unchanged() {
    for (agent, words) in [
        ("claude --settings own.json -p", "has --settings"),
        ("claude --bare -p", "--bare"),
        ("sh -c 'claude -p'", "no hooks guard it"),
    ] {
        let stage = stage_with(&HOOKS);
        stage.repo.write("own.json", "{}");
        stage.repo.commit_all("own settings");
        run(&stage, agent, &["--unguarded"], "2.1.325").ended(0).says(words);
        assert!(!stage.note("arguments").contains("passed-settings"), "{agent}");
    }
}

#[test]
fn disabled_hooks_are_reported_before_the_run() {
    let all_off = r#"{"disableAllHooks":true}"#;
    for (file, more) in [
        ("repo/.claude/settings.json", ""),
        ("repo/.claude/settings.local.json", ""),
        ("home/.claude/settings.json", ""),
        ("repo/mine.json", "--settings mine.json"),
    ] {
        let stage = stage_with(&["ralph-pre-tool"]);
        stage.repo.scratch().file(file, all_off);
        let agent = format!("{DEFAULT} {more}");
        for (args, code) in [(&["doctor"][..], 1), (&[], 1), (&["--unguarded"], 0)] {
            let ran = run(&stage, &agent, args, "2.1.325");
            ran.ended(code).says("set `disableAllHooks`, so no hooks guard the agent");
        }
    }
    // The narrower settings win.
    let stage = stage_with(&["ralph-pre-tool"]);
    stage.repo.scratch().file("home/.claude/settings.json", all_off);
    stage.repo.write(".claude/settings.local.json", r#"{"disableAllHooks":false}"#);
    run(&stage, DEFAULT, &["doctor"], "2.1.325").ended(0).says("are passed to the agent");
}

#[test]
fn an_agent_that_deletes_its_settings_does_not_disarm_the_next() {
    let stage = stage_with(&HOOKS);
    stage.repo.write(crate::stage::PLAN, TWO);
    run(&stage, "claude -p; rm -rf .ralph/state", &[], "2.1.325").ended(0);
    assert_eq!(stage.subjects().len(), 3);
    assert_eq!(events(&stage).len(), 13);
}

#[test]
fn the_client_gets_the_remaining_budget_and_exceeding_it_ends_the_run() {
    let stage = stage_with(&HOOKS);
    stage.repo.write(crate::stage::PLAN, TWO);
    let ran = run(&stage, DEFAULT, &["--max-cost", "0.6"], "2.1.325");
    // The client reports a cost of 0.25 for each story.
    ran.ended(0);
    let arguments = stage.note("arguments");
    assert!(arguments.contains("--max-budget-usd\n0.3500\n"), "{arguments}");

    let over = stage_with(&HOOKS);
    let mut command = "OVER_BUDGET=1 claude -p".to_owned();
    let ran = run(&over, &command, &["--max-cost", "0.6", "--attempts", "1"], "2.1.325");
    ran.ended(6).says("the cost limit for this run was reached").says("finished (budget)");
    ran.says("$0.70");
    assert_eq!((over.plan().as_str(), over.discarded()), (ONE, 1));
    over.is_clean();
    command.push_str(" --max-budget-usd 9");
    run(&over, &command, &["--max-cost", "0.6"], "2.1.325").ended(6);
    assert!(over.note("arguments").contains("-p\n--max-budget-usd\n9\n"));

    let old = stage_with(&HOOKS);
    run(&old, DEFAULT, &["--max-cost", "0.6"], "2.0.20").ended(0);
    assert!(!old.note("arguments").contains("budget"));
}
