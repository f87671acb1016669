//! The probe, with a client that stands in for the real ones: it asks the model, runs tools and calls hooks as they
//! do, or breaks its hooks in one of the ways in which they were seen to.
#![expect(clippy::exit, clippy::print_stdout, reason = "the client is a program of its own")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::install::HOOKS;
use crate::stage::{ONE, PLAN, Ran, Stage, copy_loop_to};

/// A hook that answers as ours do, and writes what they write to the journal.
const HOOK: &str = r#"#!/bin/sh
in=$(cat)
event() { printf '{"v":1,"at":"2026-01-02T03:04:05Z","source":"%s",%s}\n' "${0##*/}" "$1" >>"$RALPH_STATE_DIR/events.jsonl"; }
deny() {
    event '"event":"denied","rule":"'$1'","tool":"x","target":"x"'
    printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"rule %s"}}' $1
}
case $in in
*'"UserPromptSubmit"'*)
    mkdir -p "$RALPH_STATE_DIR/state"
    printf s1 >"$RALPH_STATE_DIR/state/working-session"
    event '"event":"prompt","prompt":"x"'
    printf '{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"Current story: US-001"}}'
    ;;
*'"PreToolUse"'*'git push'*) deny git-push ;;
*'"PreToolUse"'*old_string*) deny read-before-edit ;;
*'"PostToolUseFailure"'*'not ok'*) event '"event":"verdict","verdict":"failed","tests":[]' ;;
*'"Stop"'*) ! grep -q wrong one.txt || printf '{"decision":"block","reason":"check.sh fails"}' ;;
esac
"#;

/// A project with hooks, and a client that is broken in this way.
fn stage(agent: &str, way: &str) -> Stage {
    let stage = Stage::new("client", ONE);
    stage.repo.commit_all("the plan");
    let scratch = stage.repo.scratch();
    copy_loop_to(&scratch.path("unpacked"));
    for name in HOOKS {
        scratch.script(&format!("unpacked/{name}"), HOOK);
    }
    let program = std::env::current_exe().unwrap();
    let client = format!(
        "#!/bin/sh\n[ \"$1\" != --version ] || exec echo '9.9.9 (Claude Code)'\n\
         echo started >>'{}'\nexport STAND_IN_ARGS=\"$*\" STAND_IN_WAY='{way}'\n\
         exec '{}' --exact probe::stand_in --ignored --nocapture\n",
        scratch.path("starts"),
        program.display()
    );
    scratch.script(&format!("bin/{agent}"), &client);
    stage
}

/// Runs the loop, which starts three more; one test after the other, for clients that take their time.
fn run(stage: &Stage, args: &[&str]) -> Ran {
    static ONE_BY_ONE: Mutex<()> = Mutex::new(());
    let _turn = ONE_BY_ONE.lock().unwrap_or_else(PoisonError::into_inner);
    command(stage, args).output().unwrap().into()
}

fn command(stage: &Stage, args: &[&str]) -> Command {
    let scratch = stage.repo.scratch();
    let mut command = stage.command_of(scratch.path("unpacked/ralph-loop").as_str(), args);
    command.env("PATH", format!("{}:/usr/bin:/bin", scratch.path("bin"))).env_remove("RALPH_AGENT");
    command.env("RALPH_PROBE", "auto").env("RALPH_INTERNAL__PROBE_SECONDS", "120");
    command
}

#[test]
fn every_promise_of_an_intact_client_holds() {
    let stage = stage("claude", "");
    let ran = run(&stage, &["doctor", "--probe"]);
    ran.ended(0).says("claude 9.9.9, probed: 14 promises hold");
    assert!(!ran.out.contains("PROBLEM") && !ran.out.contains("unknown"), "{}", ran.out);
    let row = run(&stage, &["doctor", "--probe", "--markdown"]);
    assert_eq!(row.out.matches("|yes").count(), 14, "{}", row.out);
    assert!(!stage.repo.root().join(".ralph/events.jsonl").exists(), "the project is left alone");
    let cache = stage.repo.scratch().path("home/.cache/ralph");
    let left: Vec<_> = cache.read_dir_utf8().unwrap().map(|it| it.unwrap().into_path()).collect();
    assert_eq!(left, [cache.join("probes")], "and so is the cache, but for what was found");
}

/// A client that calls no hooks is found, and not started.
fn is_found(agent: &str, way: &str) {
    let stage = stage(agent, way);
    let ran = run(&stage, &["doctor", "--probe", "--agent", agent]);
    assert_eq!(ran.code, Some(1), "{way}: {}", ran.out);
    // The loop itself may be quicker than the forbidden command, so that nothing is known of the guard.
    let is_found = ran.out.contains("PROBLEM  hooks") && !ran.out.contains("ok       guard");
    assert!(is_found, "{way}: {}", ran.out);
    let started = run(&stage, &["--agent", agent]);
    started.ended(1).says("probed: these promises do not hold: hooks").says("--unguarded");
}

#[test]
fn hooks_that_are_switched_off_are_found() {
    is_found("claude", "off");
}

#[test]
fn an_event_by_another_name_is_found() {
    is_found("claude", "renamed");
}

#[cfg(feature = "slow-tests")]
#[test]
fn broken_hooks_are_found() {
    is_found("claude", "broken");
}

#[cfg(feature = "slow-tests")]
#[test]
fn hooks_that_the_client_does_not_wait_for_are_found() {
    is_found("claude", "late");
}

#[cfg(feature = "slow-tests")]
#[test]
fn a_typo_in_the_registration_is_found() {
    is_found("claude", "typo");
}

#[cfg(feature = "slow-tests")]
#[test]
fn a_refused_plugin_is_found() {
    is_found("opencode", "refused");
}

#[test]
fn a_version_is_probed_once_before_the_first_story() {
    let stage = stage("claude", "");
    run(&stage, &["doctor", "--no-checks"]).says("claude 9.9.9 (Claude Code), not probed; try");
    run(&stage, &["--max-iterations", "1"]);
    run(&stage, &["doctor", "--no-checks"]).says("claude 9.9.9, probed: 14 promises hold");
    let folder = stage.repo.scratch().path("home/.cache/ralph/probes");
    let found =
        || folder.read_dir_utf8().unwrap().map(|it| it.unwrap().into_path()).collect::<Vec<_>>();
    let files = found();
    let text = fs_err::read_to_string(&files[0]).unwrap();
    let before = r#"["guard",{"Held":"git push was refused"}]"#;
    assert!(text.contains(before), "{text}");
    let tokens = regex::Regex::new(r#"\["tokens",\{"Held":"[^"]*"\}\]"#).unwrap();
    let broken = tokens.replace(&text, r#"["tokens",{"Broken":"none were counted"}]"#);
    assert_ne!(broken, text);
    fs_err::write(&files[0], &*broken).unwrap();
    let lacking = "these promises do not hold: tokens (none were counted)";
    run(&stage, &["--max-iterations", "1"]).says(lacking);
    run(&stage, &["status"]).says(lacking);
    fs_err::write(&files[0], text.replace(before, r#"["guard",{"Broken":"as it was found"}]"#))
        .unwrap();
    let again = run(&stage, &["--max-iterations", "1"]);
    again.ended(1).says("guard (as it was found); `--unguarded` starts it anyway");
    // Other hooks are another matter.
    stage.repo.scratch().script("unpacked/ralph-on-stop", &format!("{HOOK}\n"));
    run(&stage, &["--max-iterations", "1"]);
    assert_eq!(found().len(), 2);
}

#[test]
fn a_client_that_asks_no_model_is_not_probed_and_runs_all_the_same() {
    let stage = stage("claude", "silent");
    run(&stage, &["--attempts", "1"]).says("not probed: it did not ask the model");
    run(&stage, &["doctor", "--probe"]).ended(1).says("not probed: it did not ask the model");
    stage.repo.write(PLAN, ONE);
    let mut require = command(&stage, &[]);
    Ran::from(require.env("RALPH_PROBE", "require").output().unwrap()).ended(1).says("not probed");
}

/// The client: not a test, but a program that the tests above start.
#[test]
#[ignore = "it is the client of the other tests"]
fn stand_in() {
    let get = |name: &str| std::env::var(name).unwrap_or_default();
    let (args, way) = (get("STAND_IN_ARGS"), get("STAND_IN_WAY"));
    if way == "silent" {
        std::process::exit(0);
    }
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt).unwrap();
    let settings = args.split("--settings ").nth(1).and_then(|rest| rest.split(' ').next());
    let settings = settings.map(|path| fs_err::read_to_string(path.trim_matches('\'')).unwrap());
    let settings: Value = serde_json::from_str(&settings.unwrap_or_default()).unwrap_or_default();
    let mut base = get("ANTHROPIC_BASE_URL");
    if way == "refused" {
        let config =
            fs_err::read_to_string(get("HOME") + "/.config/opencode/opencode.json").unwrap();
        let config: Value = serde_json::from_str(&config).unwrap();
        let url = config.pointer("/provider/scripted/options/baseURL").unwrap().as_str().unwrap();
        base = url.trim_end_matches("/v1").to_owned();
    }
    let session = get("RALPH_STATE_DIR") + "/s1.json";
    let client = Client { hooks: settings["hooks"].clone(), way, base };
    let earlier =
        args.contains("--resume").then(|| fs_err::read_to_string(&session).ok()).flatten();
    let mut messages: Vec<Value> =
        earlier.map_or_else(Vec::new, |text| serde_json::from_str(&text).unwrap());
    let context = client.hook("UserPromptSubmit", &json!({"prompt": prompt}));
    let context = context.pointer("/hookSpecificOutput/additionalContext").cloned();
    messages.push(
        json!({"role": "user", "content": format!("{prompt}\n{}", context.unwrap_or_default())}),
    );
    let code = client.turns(&mut messages);
    fs_err::write(session, json!(messages).to_string()).unwrap();
    std::process::exit(code);
}

struct Client {
    hooks: Value,
    way: String,
    base: String,
}

impl Client {
    fn turns(&self, messages: &mut Vec<Value>) -> i32 {
        println!(
            "{}",
            json!({"type": "system", "subtype": "init", "session_id": "s1", "model": "stand-in"})
        );
        for turns in 1.. {
            let (status, answer) = self.ask(messages);
            if status != 200 {
                let text = format!("API Error: {status} {}", answer["error"]["message"]);
                println!(
                    "{}",
                    json!({"type": "result", "is_error": true, "session_id": "s1", "result": text,
                                      "api_error_status": status, "terminal_reason": "api_error"})
                );
                return 1;
            }
            println!("{}", json!({"type": "assistant", "session_id": "s1", "message": answer}));
            messages.push(json!({"role": "assistant", "content": answer["content"]}));
            let calls =
                answer["content"].as_array().unwrap().iter().filter(|it| it["type"] == "tool_use");
            let results: Vec<Value> = calls.map(|call| self.call(call)).collect();
            if !results.is_empty() {
                messages.push(json!({"role": "user", "content": results}));
                continue;
            }
            let stop = self.hook("Stop", &json!({"stop_hook_active": false}));
            if stop["decision"] != "block" {
                println!(
                    "{}",
                    json!({"type": "result", "is_error": false, "session_id": "s1", "result": "done",
                                      "usage": {"input_tokens": 1020 * turns}, "total_cost_usd": 0.01})
                );
                return 0;
            }
            messages.push(json!({"role": "user", "content": stop["reason"]}));
        }
        0
    }

    fn ask(&self, messages: &[Value]) -> (u16, Value) {
        let tools = json!([{"name": "Bash"}, {"name": "mcp__ralph__current_story"}]);
        let body = json!({"model": "stand-in", "tools": tools, "messages": messages}).to_string();
        let Ok(mut stream) = TcpStream::connect(self.base.trim_start_matches("http://")) else {
            return (401, json!({"error": {"message": "Invalid API key"}}));
        };
        write!(
            stream,
            "POST /v1/messages HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap())
    }

    /// Runs a tool between its hooks.
    fn call(&self, call: &Value) -> Value {
        let (name, input) = (&call["name"], &call["input"]);
        let asked = self.hook("PreToolUse", &json!({"tool_name": name, "tool_input": input}));
        let refused = asked.pointer("/hookSpecificOutput/permissionDecisionReason");
        let (text, is_error) = match (refused, input["command"].as_str()) {
            (Some(why), _) => (why.as_str().unwrap().to_owned(), true),
            (None, Some(command)) => {
                let ran = Command::new("sh")
                    .args(["-c", &format!("{command}\n")])
                    .stderr(Stdio::null())
                    .output();
                let ran = ran.unwrap();
                let text = String::from_utf8(ran.stdout).unwrap();
                let event = if ran.status.success() { "PostToolUse" } else { "PostToolUseFailure" };
                let told = json!({"tool_name": name, "tool_input": input, "error": text, "tool_response": {"stdout": text}});
                self.hook(event, &told);
                (text, !ran.status.success())
            }
            (None, None) => ("changed".to_owned(), false),
        };
        let result = json!({"type": "tool_result", "tool_use_id": call["id"], "is_error": is_error, "content": text});
        println!(
            "{}",
            json!({"type": "user", "session_id": "s1", "message": {"content": [result]}})
        );
        result
    }

    /// Calls a hook as it is registered, unless hooks are broken; returns its answer.
    fn hook(&self, event: &str, input: &Value) -> Value {
        // One event that the client does not know, and it reads none of them.
        let has_typo = self.way == "typo" && self.hooks.get("SessionStart").is_some();
        if ["off", "refused"].contains(&self.way.as_str()) || has_typo {
            return Value::Null;
        }
        let name = if self.way == "renamed" { format!("On{event}") } else { event.to_owned() };
        let Some(command) = self.hooks.pointer(&format!("/{name}/0/hooks/0/command")) else {
            return Value::Null;
        };
        let mut input = input.clone();
        input["hook_event_name"] = json!(event);
        input["session_id"] = json!("s1");
        let line = match self.way.as_str() {
            "broken" => "exit 127",
            "late" => "sleep 9",
            _ => command.as_str().unwrap(),
        };
        let mut hook = Command::new("sh");
        hook.args(["-c", line]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut hook = hook.spawn().unwrap();
        if self.way == "late" {
            hook.kill().unwrap();
        }
        let _ = hook.stdin.take().unwrap().write_all(input.to_string().as_bytes());
        let output = hook.wait_with_output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }
}
