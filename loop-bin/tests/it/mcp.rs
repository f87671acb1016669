//! `ralph-loop mcp`: the answers and refusals of its tools, over the real protocol.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};

use serde_json::{Value, json};
use test_support::run_with_input;

use crate::stage::{Stage, is_alive, signal, until};

const ONE: &str = "- [ ] US-001: First\n  - Acceptance: it is there\n";

/// A client of the protocol, and the server that it started.
struct Client {
    server: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    fn start(stage: &Stage, variables: &[(&str, &str)]) -> Self {
        let mut command = stage.command(&["mcp"]);
        command.envs(variables.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let to = server.stdin.take();
        let from = BufReader::new(server.stdout.take().unwrap());
        let mut client = Self { server, to, from, last: 0 };
        let about = client.ask("initialize", hello());
        assert_eq!(about["result"]["serverInfo"]["name"], "ralph", "{about}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        client
    }

    fn send(&mut self, line: &str) {
        writeln!(self.to.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Sends a request and returns the answer; the output must contain only protocol messages.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&request(id, method, params));
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).expect(&line);
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Sends bytes that are no message; returns the error.
    fn refused(&mut self, line: &[u8]) -> String {
        let to = self.to.as_mut().unwrap();
        to.write_all(line).unwrap();
        to.write_all(b"\n").unwrap();
        let mut answer = String::new();
        self.from.read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).expect(&answer);
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32700)));
        answer["error"]["message"].as_str().unwrap().to_owned()
    }

    /// Calls a tool; returns whether it refused, and its text.
    fn call(&mut self, tool: &str, arguments: Value) -> (bool, String) {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().expect("a text");
        (result["isError"] == true, text.to_owned())
    }

    #[track_caller]
    fn does(&mut self, tool: &str, arguments: Value, words: &str) {
        let (is_refused, text) = self.call(tool, arguments);
        assert!(!is_refused && text.contains(words), "no `{words}` in: {text}");
    }

    #[track_caller]
    fn refuses(&mut self, tool: &str, arguments: Value, words: &str) {
        let (is_refused, text) = self.call(tool, arguments);
        assert!(is_refused && text.contains(words), "no `{words}` in: {text}");
    }

    /// Closes the server's input and waits for it to exit.
    fn close(mut self) -> ExitStatus {
        self.to = None;
        self.server.wait().unwrap()
    }
}

fn hello() -> Value {
    let me = json!({"name": "test", "version": "1"});
    json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": me})
}

fn request(id: u64, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// A project in which another loop works on US-001, whose check is this command.
fn stage(plan: &str, check: &str) -> Stage {
    let stage = Stage::new("works", plan);
    stage.repo.write(".ralph/config.toml", format!("[verify]\ncommands = [\"{check}\"]\n"));
    stage.repo.write(".ralph/current-story", "US-001\n");
    stage
}

#[test]
fn lines_that_are_no_messages_are_answered_and_the_server_goes_on() {
    let stage = Stage::new("goes-on", ONE);
    let mut client = Client::start(&stage, &[]);
    for line in [&b"\xff\xfe"[..], b"{\"id\": 1, \"method\": \"\xc3\"}", b"{", b"1", &[b'['; 5_000]]
    {
        assert!(client.refused(line).contains("no message"));
    }
    let long = vec![b'x'; 17 << 20];
    assert!(client.refused(&long).contains("bytes"));
    client.ask("ping", json!({}));
}

#[test]
fn all_tools_are_listed_with_their_parameters() {
    let stage = stage(ONE, "true");
    let mut client = Client::start(&stage, &[]);
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let takes = |tool: &Value| {
        let takes = tool["inputSchema"]["properties"].as_object().cloned().unwrap_or_default();
        let names: Vec<&str> = takes.keys().map(String::as_str).collect();
        format!("{} {}", tool["name"].as_str().unwrap(), names.join(" "))
    };
    let takes: Vec<String> = tools.iter().map(takes).collect();
    let expected = [
        "current_story ",
        "complete_story status story summary",
        "request_merge summary",
        "verify begin conditions done iteration max_iterations phase session task",
    ];
    assert_eq!(takes, expected);
    assert!(client.close().success());
}

#[test]
fn a_claim_gets_the_same_result_as_on_the_command_line() {
    let stage = stage(ONE, "echo red; test -e fixed");
    let mut client = Client::start(&stage, &[]);
    client.does("current_story", json!({}), "US-001: First");
    client.does("current_story", json!({}), "it is there");
    let claim = json!({"story": "US-001", "status": "success", "summary": "all of it"});
    let (is_refused, text) = client.call("complete_story", claim.clone());
    let typed = stage.run(&["complete", "US-001", "--summary", "all of it"]);
    assert_eq!((is_refused, format!("ralph-loop: {text}\n")), (true, typed.ended(1).err.clone()));
    client.refuses("verify", json!({}), "not verified: `echo red; test -e fixed` failed");
    assert!(!stage.exists(".ralph/claim.json"));
    stage.repo.write("fixed", "");
    client.does("verify", json!({}), "all checks passed: `echo red; test -e fixed`");
    client.does("complete_story", claim, "US-001: recorded. Stop now");
    assert!(stage.read(".ralph/claim.json").contains("all of it"));
    client.does("request_merge", json!({"summary": "take it"}), "Merge request saved");
    assert!(client.close().success());
}

#[test]
fn a_session_can_be_verified_with_tools() {
    let stage = stage(ONE, "true");
    let mut client = Client::start(&stage, &[("CLAUDE_CODE_SESSION_ID", "s-1")]);
    client.refuses("verify", json!({"done": true}), "session s-1 has nothing to verify");
    client.refuses("verify", json!({"begin": "loop"}), "must be given together");
    client.refuses("verify", json!({"begin": "spiral", "task": "x"}), "unknown variant `spiral`");
    client.does("verify", json!({"begin": "orchestrator", "task": "x"}), "cannot stop until");
    client.does("verify", json!({"conditions": ["memory_search"]}), "recorded in ");
    client.refuses("verify", json!({"conditions": ["all_good"]}), "no condition `all_good`");
    client.refuses("verify", json!({"done": true}), "not done: task_classified is not met");
    client.refuses("verify", json!({"session": "s-2", "done": true}), "s-2 is not yours");
}

#[test]
fn bad_input_is_refused_and_the_server_continues() {
    let stage = stage(ONE, "true");
    let mut client = Client::start(&stage, &[]);
    let claim = |story: &str, status: &str| json!({"story": story, "status": status});
    client.refuses("complete_story", claim("US-009", "success"), "has no story US-009");
    let expected = "unknown variant `done`, expected one of `success`, `partial`, `blocked`";
    client.refuses("complete_story", claim("US-001", "done"), expected);
    client.refuses("complete_story", json!({"status": "success"}), "missing field `story`");
    client.refuses("complete_story", json!({"story": 1, "status": "success"}), "invalid type");
    client.refuses("request_merge", json!({"summary": " "}), "say what to merge, and why");
    client.refused(b"{\"jsonrpc\": ");
    client.refused(b"not JSON");
    let unknown = client.ask("tools/call", json!({"name": "push", "arguments": {}}));
    let why = unknown["error"]["message"].as_str().unwrap();
    assert_eq!(why, "there is no tool `push`");
    let unknown = client.ask("resources/list", json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    stage.repo.write(".ralph/PRD-1/plan.md", "no stories\n");
    client.refuses("current_story", json!({}), "PRD-1/plan.md");
    stage.repo.write(".ralph/config.toml", "[verify]\ncommand = []\n");
    client.refuses("verify", json!({}), "command");
    assert!(client.close().success());
    let mut client = Client::start(&stage, &[("RALPH_ROOT", "/nowhere")]);
    client.refuses("verify", json!({}), "RALPH_ROOT points to /nowhere, which does not exist");
}

#[test]
fn a_signal_or_a_cancellation_ends_the_running_check() {
    for is_cancelled in [true, false] {
        let stage = stage(ONE, "echo $$ > pid; sleep 600");
        let mut client = Client::start(&stage, &[]);
        client.send(&request(7, "tools/call", json!({"name": "verify", "arguments": {}})));
        until("the check runs", || stage.read("pid").ends_with('\n'));
        if is_cancelled {
            let params = json!({"requestId": 7});
            let cancel = json!({"method": "notifications/cancelled", "params": params});
            client.send(&cancel.to_string());
            until("the check has ended", || !is_alive(&stage.read("pid")));
            assert!(client.close().success());
        } else {
            signal("TERM", client.server.id());
            assert!(client.server.wait().unwrap().success());
            assert!(!is_alive(&stage.read("pid")));
        }
    }
}

#[test]
fn the_server_exits_at_the_end_of_its_input() {
    let stage = stage(ONE, "true");
    for said in [String::new(), "nonsense\n".to_owned(), request(1, "initialize", hello())] {
        let output = run_with_input(&mut stage.command(&["mcp"]), said.as_bytes());
        assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]), "{said}");
    }
}

#[test]
fn a_story_claimed_with_a_tool_lands_in_a_run() {
    let stage = Stage::new("acts", ONE);
    stage.repo.commit_all("the plan");
    let call = |id, tool: &str, arguments: Value| {
        request(id, "tools/call", json!({"name": tool, "arguments": arguments}))
    };
    let claim = |story: &str| json!({"story": story, "status": "success", "summary": "by tool"});
    let lines = [
        request(1, "initialize", hello()),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        call(2, "current_story", json!({})),
        call(3, "complete_story", claim("US-002")),
        call(4, "complete_story", claim("US-001")),
    ];
    let lines = lines.join("\n");
    let act = format!("printf '%s\\n' '{lines}' | \"$RALPH_LOOP\" mcp >\"$AGENT_NOTES/said\"");
    stage.repo.write(".git/acts/US-001", act);
    stage.run(&["--verify", "test -e US-001.txt"]).ended(0).says("1 story landed");
    let said = stage.note("said");
    for words in ["Iteration 1, attempt 1", "has no story US-002", "Stop"] {
        assert!(said.contains(words), "no {words} in {said}");
    }
    let message = stage.repo.git(["log", "--format=%b", "--grep=US-001"]);
    assert!(message.contains("by tool"), "{message}");
    stage.is_clean();
}
