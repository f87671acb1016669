//! Translates another agent's hook payload to Claude Code's, before any rule sees it.

use serde_json::{Map, Value, json};

use super::Dialect;

/// How a patch marks the files that it changes, and Claude's tool for the same change.
const PATCHED: [(&str, &str); 4] = [
    ("*** Update File: ", "Edit"),
    ("*** Delete File: ", "Edit"),
    ("*** Add File: ", "Write"),
    ("*** Move to: ", "Write"),
];

/// Returns the inputs that Claude Code would have sent instead: none for an event that it would not
/// send, several for a patch of several files.
pub fn inputs(dialect: &Dialect, mut payload: Value) -> Vec<Value> {
    let Some(fields) = payload.as_object_mut() else { return vec![payload] };
    let own = text(fields, "hook_event_name");
    let mut events = dialect.events.iter().map(|pair| pair.split_once('=').unwrap_or((pair, pair)));
    let event = events.find(|(name, _)| *name == own).map_or("", |(_, event)| event);
    if !event.is_empty() {
        fields.insert("hook_event_name".to_owned(), json!(event));
    }
    // A subagent may have a session of its own.
    if let Some(parent) = fields.get("parent_agent_id").cloned() {
        fields.insert("session_id".to_owned(), parent);
    }
    for (own, claudes) in
        [("prompt_response", "last_assistant_message"), ("error_message", "error")]
    {
        if let Some(value) = fields.remove(own) {
            fields.insert(claudes.to_owned(), value);
        }
    }
    match event {
        // A separate event for the subagent follows.
        "Stop" if fields.contains_key("agent_id") => return Vec::new(),
        "UserPromptSubmit" => {
            let prompt = joined(fields.get("prompt").unwrap_or(&Value::Null));
            // Empty prompts are sent after every tool call.
            if prompt.is_empty() {
                return Vec::new();
            }
            fields.insert("prompt".to_owned(), json!(prompt));
        }
        _ => {}
    }
    tool_calls(dialect, payload)
}

/// Translates a tool call to Claude's names.
fn tool_calls(dialect: &Dialect, mut payload: Value) -> Vec<Value> {
    let tool = payload.get("tool_name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let is = |tools: &[&str]| tools.contains(&tool.as_str());
    let input = payload.get("tool_input").cloned().unwrap_or_default();
    let command = ["command", "input", "patch"].iter().find_map(|name| input.get(name)?.as_str());
    if is(dialect.patches) {
        return files_in_patch(&payload, command.unwrap_or_default());
    }
    if is(dialect.shells) {
        set(&mut payload, "tool_name", json!("Bash"));
        ended(dialect, &mut payload);
        // A patch may be passed to the shell as well.
        let patched =
            command.filter(|text| !dialect.patches.is_empty() && text.contains("*** Begin Patch"));
        let files = patched.map(|patch| files_in_patch(&payload, patch)).unwrap_or_default();
        return [payload].into_iter().chain(files).collect();
    }
    let names = [(dialect.reads, "Read"), (dialect.edits, "Edit"), (dialect.writes, "Write")];
    if let Some((_, name)) = names.into_iter().find(|(tools, _)| is(tools)) {
        let path = dialect.path.iter().find_map(|path| input.get(path)).cloned();
        set(&mut payload, "tool_name", json!(name));
        set(&mut payload, "tool_input", json!({"file_path": path}));
    }
    vec![payload]
}

/// Returns one call for each file of a patch.
fn files_in_patch(payload: &Value, patch: &str) -> Vec<Value> {
    let files = patch.lines().filter_map(|line| {
        PATCHED.iter().find_map(|(mark, tool)| Some((line.trim().strip_prefix(mark)?, *tool)))
    });
    let call = |(path, tool): (&str, &str)| {
        let mut call = payload.clone();
        set(&mut call, "tool_name", json!(tool));
        set(&mut call, "tool_input", json!({"file_path": path.trim()}));
        call
    };
    files.map(call).collect()
}

/// Sets how a command ended. Most agents send the event for success after a failure as well.
fn ended(dialect: &Dialect, payload: &mut Value) {
    let event = payload.get("hook_event_name").and_then(Value::as_str).unwrap_or_default();
    if !event.starts_with("PostToolUse") {
        return;
    }
    let text_at = |path: &&str| payload.pointer(path).and_then(Value::as_str);
    let output = dialect.output.iter().find_map(text_at).unwrap_or_default().to_owned();
    let from_text =
        dialect.code_texts.iter().find_map(text_at).and_then(|text| dialect.exit_code(text));
    let code = payload.pointer(dialect.code).and_then(Value::as_i64).or(from_text);
    let is_failure = event == "PostToolUseFailure";
    let code = code.or_else(|| (!is_failure && !dialect.exit_unknown).then_some(0));
    if code == Some(0) {
        set(payload, "hook_event_name", json!("PostToolUse"));
        set(payload, "tool_response", json!({"stdout": output}));
        return;
    }
    set(payload, "hook_event_name", json!("PostToolUseFailure"));
    let first = code.map(|code| format!("Exit code {code}\n")).unwrap_or_default();
    set(payload, "error", json!(first + &output));
}

/// Returns the text of a prompt, which may be a list of parts.
fn joined(prompt: &Value) -> String {
    match prompt {
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}

fn text(fields: &Map<String, Value>, name: &str) -> String {
    fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Sets a member of an object.
pub fn set(payload: &mut Value, name: &str, value: Value) {
    if let Some(fields) = payload.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}
