//! The server as a client sees it: over a socket.
#![expect(clippy::unwrap_used, reason = "test code fails loudly")]

use std::io::{Read, Write};
use std::net::TcpStream;

use scripted_model::{Answer, Model, Script, Tokens};
use serde_json::{Value, json};

fn ask(model: &Model, body: &Value) -> String {
    post(model, "/v1/messages?beta=true", &body.to_string())
}

fn post(model: &Model, path: &str, body: &str) -> String {
    let address = model.base_url().replace("http://", "");
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(stream, "POST {path} HTTP/1.1\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn question(text: &str, stream: bool) -> Value {
    json!({
        "model": "any",
        "stream": stream,
        "tools": [{"name": "Bash"}],
        "messages": [{"role": "user", "content": text}],
    })
}

#[test]
fn turns_come_in_order_as_events() {
    let tokens = Tokens { input: 7, cache_creation: 8, cache_read: 9, output: 10 };
    let script = Script::of([Answer::bash("ls"), Answer::text("good").using(tokens)]);
    let model = Model::start(script).unwrap();
    let first = ask(&model, &question("go", true));
    assert!(first.starts_with("HTTP/1.1 200"), "{first}");
    assert!(first.contains("event: content_block_start\ndata: {"), "{first}");
    assert!(first.contains(r#""stop_reason":"tool_use""#), "{first}");
    assert!(first.contains(r#"{\"command\":\"ls\""#), "{first}");
    let second = ask(&model, &question("go", true));
    assert!(second.contains(r#""stop_reason":"end_turn""#), "{second}");
    assert!(second.contains(r#""cache_read_input_tokens":9"#), "{second}");
    assert!(second.contains(r#""usage":{"output_tokens":10}"#), "{second}");
    assert_eq!(model.conversation().len(), 2);
}

#[test]
fn a_client_that_does_not_stream_gets_one_object() {
    let model = Model::start(Script::of([Answer::text("good")])).unwrap();
    let answer = ask(&model, &question("go", false));
    let body = answer.split("\r\n\r\n").nth(1).unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["content"][0]["text"], "good");
}

#[test]
fn errors_have_the_status_and_headers_of_the_service() {
    let limited = Answer::refused(429, "rate_limit_error", "x").with_header("retry-after", "1");
    let script = Script::of([limited, Answer::overloaded(), Answer::prompt_too_long()]);
    let model = Model::start(script).unwrap();
    let answers: Vec<String> = (0..3).map(|_| ask(&model, &question("go", true))).collect();
    let kinds = ["429 rate_limit_error", "529 overloaded_error", "400 invalid_request_error"];
    for (answer, expected) in answers.iter().zip(kinds) {
        let (status, kind) = expected.split_once(' ').unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains(kind), "{answer}");
    }
    assert!(answers[0].contains("retry-after: 1\r\n"), "{}", answers[0]);
}

#[test]
fn other_addresses_are_not_part_of_the_play() {
    let model = Model::start(Script::of([Answer::text("good")])).unwrap();
    assert!(post(&model, "/v1/messages/count_tokens", "{}").contains("input_tokens"));
    assert!(post(&model, "/api/elsewhere", "{}").starts_with("HTTP/1.1 404"));
    assert!(model.requests().is_empty());
    assert!(ask(&model, &question("go", true)).contains("good"));
}

/// A question in the form of each protocol, from an agent that offers its shell.
fn questions() -> [(&'static str, &'static str, Value); 3] {
    let function = |name: &str| json!({"type": "function", "function": {"name": name}});
    [
        ("codex", "/v1/responses", json!({"stream": true, "tools": [{"name": "exec_command"}]})),
        (
            "qwen",
            "/v1/chat/completions",
            json!({"stream": true, "tools": [function("run_shell_command")]}),
        ),
        (
            "gemini",
            "/v1beta/models/any:streamGenerateContent?alt=sse",
            json!({"tools": [{"functionDeclarations": [{"name": "run_shell_command"}]}]}),
        ),
    ]
}

#[test]
fn every_protocol_calls_speaks_and_counts() {
    for (agent, path, body) in questions() {
        let tokens = Tokens { input: 7, cache_creation: 0, cache_read: 30, output: 10 };
        let script = Script::of([Answer::bash("ls"), Answer::text("good").using(tokens)]);
        let model = Model::start_for(agent, script).unwrap();
        let [call, words] = [(); 2].map(|()| post(&model, path, &body.to_string()));
        let (tool, read) = match agent {
            "codex" => (r#""arguments":"{\"cmd\":\"ls\"}""#, r#""input_tokens":37"#),
            "qwen" => (r#""arguments":"{\"command\":\"ls\""#, r#""prompt_tokens":37"#),
            _ => (r#""functionCall":{"args":{"command":"ls"}"#, r#""promptTokenCount":37"#),
        };
        assert!(call.contains("content-type: text/event-stream"), "{call}");
        assert!(call.contains(tool), "{call}");
        assert!(words.contains("good") && words.contains(read), "{words}");
    }
}

#[test]
fn every_protocol_has_its_own_words_for_a_refusal() {
    let answers = || [Answer::usage_limit(5), Answer::prompt_too_long(), Answer::wrong_key()];
    let expected = [
        ["429 usage_limit_reached", "200 response.failed", "401 invalid_api_key"],
        ["429 usage_limit_reached", "400 context_length_exceeded", "401 invalid_api_key"],
        ["429 PerDay", "400 too long", "401 UNAUTHENTICATED"],
    ];
    for ((agent, path, body), expected) in questions().into_iter().zip(expected) {
        let model = Model::start_for(agent, Script::of(answers())).unwrap();
        for expected in expected {
            let (status, words) = expected.split_once(' ').unwrap();
            let answer = post(&model, path, &body.to_string());
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
            assert!(answer.contains(words), "{expected}: {answer}");
        }
    }
}
