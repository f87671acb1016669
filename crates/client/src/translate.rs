//! Translates a line of any agent's output to the events that Claude Code would have printed.

use ralph_project::dialect::{AGENTS, Dialect, Line, set};
use serde_json::{Value, json};

/// Returns the events, or the line itself if no row of the table matches it.
pub(super) fn translated(event: Value) -> Vec<Value> {
    let mut rules =
        AGENTS.iter().flat_map(|agent| agent.lines.iter().map(move |line| (agent, line)));
    let Some((agent, line)) = rules.find(|(_, line)| line.fits(&event)) else { return vec![event] };
    let at = |path: &str| if path.is_empty() { None } else { event.pointer(path) };
    let mut events: Vec<Value> =
        [call(line, &at), done(agent, line, &at)].into_iter().flatten().collect();
    let tokens: u64 = line.tokens.iter().filter_map(|path| at(path)?.as_u64()).sum();
    if line.end {
        events.push(end(line, &at, tokens));
    } else if let Some(text) = at(line.text) {
        events.push(message(json!({"content": [{"type": "text", "text": text}]})));
    }
    if let Some(id) = at(line.step) {
        let mut step = message(json!({"id": id, "usage": {"input_tokens": tokens}}));
        set(&mut step, "cost_usd", at(line.cost).cloned().unwrap_or_default());
        events.push(step);
    }
    if events.is_empty() {
        events.push(json!({"type": "system", "subtype": "init", "model": at(line.model)}));
    }
    if let Some(session) = at(line.session) {
        events.iter_mut().for_each(|event| set(event, "session_id", session.clone()));
    }
    events
}

fn message(message: Value) -> Value {
    json!({"type": "assistant", "message": message})
}

fn call<'v>(line: &Line, at: &impl Fn(&str) -> Option<&'v Value>) -> Option<Value> {
    let id = at(line.call)?;
    let name = line.tool.strip_prefix('=').map(|name| json!(name));
    let name = name.or_else(|| at(line.tool).cloned())?;
    let input = match at(line.input) {
        // Some agents print the input as a string.
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        Some(input) => input.clone(),
        None => match at(line.command).and_then(Value::as_str) {
            Some(command) => json!({"command": without_shell(command)}),
            None => json!({"file_path": at(line.file)}),
        },
    };
    Some(message(
        json!({"content": [{"type": "tool_use", "id": id, "name": name, "input": input}]}),
    ))
}

fn done<'v>(
    agent: &Dialect,
    line: &Line,
    at: &impl Fn(&str) -> Option<&'v Value>,
) -> Option<Value> {
    let id = at(line.done)?;
    let output = at(line.output).and_then(Value::as_str).unwrap_or_default();
    let code = at(line.code).and_then(Value::as_i64).or_else(|| agent.exit_code(output));
    let is_refused = output.contains("is forbidden by rule");
    let code = if !is_refused { code.or(line.zero.then_some(0)) } else { None };
    let is_error = line.failed || is_refused || code.is_some_and(|code| code != 0);
    let part = json!({
        "type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": output,
    });
    Some(json!({"type": "user", "message": {"content": [part]}, "exit_code": code}))
}

fn end<'v>(line: &Line, at: &impl Fn(&str) -> Option<&'v Value>, tokens: u64) -> Value {
    let is_error = !line.error.is_empty();
    let said = at(if is_error { line.error } else { line.text });
    let mut result = json!({"type": "result", "is_error": is_error, "result": said});
    if tokens > 0 {
        let (name, usage) = if line.whole {
            ("modelUsage", json!({"all": {"inputTokens": tokens}}))
        } else {
            ("usage", json!({"input_tokens": tokens}))
        };
        set(&mut result, name, usage);
    }
    result
}

/// Unwraps a shell command: `/bin/bash -lc 'make test'` becomes `make test`.
fn without_shell(command: &str) -> String {
    let Some((_, inner)) = command.split_once("bash -lc ") else { return command.to_owned() };
    let read = shell_reader::read(&format!("echo {inner}"));
    let word = read.commands.first().and_then(|echo| echo.args.first());
    word.and_then(|word| word.known()).unwrap_or(command).to_owned()
}

#[cfg(test)]
#[path = "translate_tests.rs"]
mod tests;
