//! `ralph-loop mcp`: our commands as the tools of an MCP server (JSON-RPC, one message per line). Only
//! the protocol goes to standard output; a tool that fails reports why, and the server continues.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Read};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::{Arg, ArgAction, Args, Command};
use ralph_base::env::Env;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::Subcommand;
use super::complete::Complete;
use super::request_merge::RequestMerge;
use super::verified::Verified;
use crate::exit::Failure;
use crate::here;
use crate::in_progress::{NO_STORY, attempt_of, refuse_red_checks, story_under_way};
use crate::terminal::say;
use client::signals::Interrupts;

/// How often an idle server checks for signals.
const PULSE: Duration = Duration::from_millis(100);

/// The newest supported protocol version; a client that names another known one gets that.
const PROTOCOL: &str = "2025-06-18";

/// The server's instructions for the agent.
const INSTRUCTIONS: &str = "Shows your story and takes your reports. A claim that the checks \
                            contradict is refused with the reason; fix that and call again.";

/// Longer lines are refused.
const LONGEST_LINE: u64 = 16 << 20;

/// A request, or a notification if it has no id.
#[derive(Deserialize)]
struct Message {
    id: Option<Value>,
    #[serde(default)]
    method: String,
    #[serde(default)]
    params: Value,
}

/// The requests that the client has cancelled.
type Cancelled = Arc<Mutex<BTreeSet<String>>>;

pub(super) const COMMAND: Subcommand =
    Subcommand { name: "mcp", args: Mcp::augment_args, run: |call| run(call.env) };

/// Serve the agent's tools over MCP on stdin and stdout (for the agent's client)
#[derive(Debug, Args)]
struct Mcp;

/// Serves until standard input is closed or a signal arrives.
fn run(env: &Env) -> Result<ExitCode, Failure> {
    let (interrupts, cancelled) = (Interrupts::listen()?, Cancelled::default());
    let (sender, messages) = mpsc::channel();
    let seen = Arc::clone(&cancelled);
    std::thread::Builder::new().spawn(move || read(&seen, &sender))?;
    while interrupts.signal().is_none() {
        let message = match messages.recv_timeout(PULSE) {
            Ok(Ok(message)) => message,
            Ok(Err(why)) => {
                say(refusal(&Value::Null, -32700, &why));
                continue;
            }
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let Some(id) = message.id.clone() else { continue };
        let is_cancelled = || {
            let cancelled = cancelled.lock().unwrap_or_else(PoisonError::into_inner);
            cancelled.contains(&id.to_string())
        };
        let stop = || interrupts.signal().is_some() || is_cancelled();
        let answer = match answer(env, message, &stop) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string(),
            Err((code, why)) => refusal(&id, code, &why),
        };
        say(answer);
    }
    Ok(ExitCode::SUCCESS)
}

fn refusal(id: &Value, code: i32, why: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}}).to_string()
}

/// Reads messages, also while a tool is running. A line that is no message is answered with the reason.
fn read(cancelled: &Cancelled, sender: &mpsc::Sender<Result<Message, String>>) {
    let mut input = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        match (&mut input).take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) if line.trim_ascii().is_empty() => continue,
            Ok(_) => {}
        }
        let is_whole = line.ends_with(b"\n") || (line.len() as u64) < LONGEST_LINE;
        let message = if is_whole {
            let parsed = serde_json::from_slice::<Message>(&line);
            parsed.map_err(|error| format!("this line is no message: {error}"))
        } else {
            let rest = input.skip_until(b'\n');
            rest.map_err(|error| error.to_string())
                .and_then(|_| Err(format!("a line has more than {LONGEST_LINE} bytes")))
        };
        if let Ok(message) = &message
            && let ("notifications/cancelled", Some(id)) =
                (&*message.method, message.params.get("requestId"))
        {
            let mut cancelled = cancelled.lock().unwrap_or_else(PoisonError::into_inner);
            cancelled.insert(id.to_string());
        }
        if sender.send(message).is_err() {
            return;
        }
    }
}

/// The result of a request, or the code and message of a protocol error.
fn answer(env: &Env, message: Message, stop: &dyn Fn() -> bool) -> Result<Value, (i32, String)> {
    let Message { method, mut params, .. } = message;
    match method.as_str() {
        "initialize" => Ok(json!({
            "protocolVersion": params.get("protocolVersion").unwrap_or(&json!(PROTOCOL)),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "ralph", "version": env!("CARGO_PKG_VERSION")},
            "instructions": INSTRUCTIONS,
        })),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": tools()})),
        "tools/call" => {
            let given = params.get_mut("arguments").map_or_else(|| json!({}), Value::take);
            let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
            let called = call(name, given, env, stop);
            let called = called.ok_or_else(|| (-32602, format!("there is no tool `{name}`")))?;
            let is_error = called.is_err();
            let text = called.unwrap_or_else(|failure| failure.explain());
            Ok(json!({"content": [{"type": "text", "text": text}], "isError": is_error}))
        }
        _ => Err((-32601, format!("there is no method `{method}`"))),
    }
}

/// The list of all tools for the client.
fn tools() -> Vec<Value> {
    vec![
        tool("current_story", "Show the story that you work on, with its details", |none| none),
        tool(
            "complete_story",
            "Report that your story is done, partly done or blocked. With `success` the checks run \
             first, and the report is refused if one of them fails",
            Complete::augment_args,
        ),
        tool(
            "request_merge",
            "Leave a merge request for the user instead of pushing or merging",
            RequestMerge::augment_args,
        ),
        tool(
            "verify",
            "Without arguments, run the checks and show what fails. With arguments, record the \
             verification progress of this session; a claim that does not hold is refused",
            Verified::augment_args,
        ),
    ]
}

/// A tool's parameters are its command's.
fn tool(name: &'static str, description: &str, takes: fn(Command) -> Command) -> Value {
    let command = takes(Command::new(name));
    let arguments = || command.get_arguments();
    let properties = arguments().map(|arg| (arg.get_id().to_string(), schema(arg)));
    let required = arguments().filter(|arg| arg.is_required_set());
    let required: Vec<&str> = required.map(|arg| arg.get_id().as_str()).collect();
    json!({"name": name, "description": description, "inputSchema": {
        "type": "object",
        "properties": properties.collect::<Map<_, _>>(),
        "required": required,
        "additionalProperties": false,
    }})
}

fn schema(arg: &Arg) -> Value {
    let description = arg.get_help().map(ToString::to_string);
    let is_number = arg.get_value_names().is_some_and(|names| names.iter().any(|n| n == "N"));
    match arg.get_action() {
        ArgAction::SetTrue => json!({"type": "boolean", "description": description}),
        ArgAction::Append => {
            json!({"type": "array", "items": {"type": "string"}, "description": description})
        }
        _ if is_number => json!({"type": "integer", "description": description}),
        _ => json!({"type": "string", "description": description}),
    }
}

/// Runs a tool; returns `None` if there is no such tool.
fn call(
    name: &str,
    given: Value,
    env: &Env,
    stop: &dyn Fn() -> bool,
) -> Option<Result<String, Failure>> {
    Some(match name {
        "current_story" => current_story(env),
        "complete_story" => parsed(given).and_then(|said: Complete| said.answer(env, stop)),
        "request_merge" => parsed(given).and_then(|said: RequestMerge| said.answer(env)),
        "verify" => parsed(given).and_then(|said: Verified| verify(&said, env, stop)),
        _ => return None,
    })
}

fn parsed<T: DeserializeOwned>(given: Value) -> Result<T, Failure> {
    serde_json::from_value(given).map_err(Failure::usage)
}

/// Records verification progress; without arguments it only runs the checks.
fn verify(said: &Verified, env: &Env, stop: &dyn Fn() -> bool) -> Result<String, Failure> {
    if *said != Verified::default() {
        return said.answer(env, stop);
    }
    let project = here::project(env)?;
    let config = here::config(&project, env, &[])?;
    let passed = refuse_red_checks(env, (&project, &config), stop, "not verified")?;
    if passed.is_empty() {
        return Ok("there are no checks, so nothing was verified".to_owned());
    }
    Ok(format!("all checks passed: `{}`", passed.join("`, `")))
}

/// The current story, as in the plan.
fn current_story(env: &Env) -> Result<String, Failure> {
    let project = here::project(env)?;
    let Some(id) = story_under_way(&project)? else { return Ok(NO_STORY.to_owned()) };
    let config = here::config(&project, env, &[])?;
    let plan = here::plan(&project, env, &config)?;
    let unknown = || Failure::because(format!("{} has no story {id}", plan.path()));
    let story = plan.story(&id).ok_or_else(unknown)?;
    let mut text = format!("{}: {}", story.id, story.title);
    if let Some(attempt) = attempt_of(&project)? {
        let (iteration, attempt) = (attempt.iteration, attempt.number);
        text.push_str(&format!("\nIteration {iteration}, attempt {attempt} at this story"));
    }
    for check in &config.verify.commands {
        text.push_str(&format!("\nMust pass: `{check}`"));
    }
    if !story.details.trim().is_empty() {
        text.push_str(&format!("\n\n{}", story.details.trim_end()));
    }
    Ok(text)
}
