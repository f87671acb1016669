//! Renders the agent's output as readable lines: its messages, its tool calls and their results.

use serde_json::Value;

use super::calls::{Calls, short, text_of};
use super::translate::translated;
use super::unjudged::Unjudged;
use run_history::words::{dollars, printable, printable_lines, thousands};

/// How many lines of a call's result are shown.
const SHOWN: usize = 3;

/// Converts the lines that an agent prints to readable ones.
#[derive(Debug, Default)]
pub struct Readable {
    calls: Calls,
}

impl Readable {
    /// Returns the readable lines for a line of the output; empty if it does not matter to people.
    pub fn lines(&mut self, line: &[u8]) -> Vec<String> {
        let text = String::from_utf8_lossy(line);
        if !text.trim_start().starts_with('{') {
            return printable_lines(&text);
        }
        let Ok(event) = serde_json::from_str::<Value>(&text) else { return Vec::new() };
        translated(event).iter().flat_map(|event| self.event(event)).collect()
    }

    fn event(&mut self, event: &Value) -> Vec<String> {
        let lines = match text_of(event, "type") {
            Some("system") => self.system(event),
            Some("assistant") => self.assistant(event),
            Some("user") => self.returned(event),
            Some("result") => result(event),
            _ => Vec::new(),
        };
        // What a subagent does is indented below the call that started it.
        let is_inner = text_of(event, "parent_tool_use_id").is_some();
        let indent = if is_inner { "    " } else { "" };
        lines.into_iter().map(|line| format!("{indent}{line}")).collect()
    }

    fn system(&mut self, event: &Value) -> Vec<String> {
        match text_of(event, "subtype") {
            Some("init") => {
                self.calls = Calls::from_folder(text_of(event, "cwd").unwrap_or_default());
                let model = text_of(event, "model").unwrap_or("unknown model");
                let session = text_of(event, "session_id").unwrap_or_default();
                vec![format!("session {} ({})", printable(session), printable(model))]
            }
            Some("api_retry") => {
                let error = text_of(event, "error").unwrap_or("error");
                vec![format!("! the service returned {}; retrying", printable(error))]
            }
            _ => Vec::new(),
        }
    }

    fn assistant(&mut self, event: &Value) -> Vec<String> {
        let mut lines = Vec::new();
        for part in parts(event) {
            match (text_of(part, "type"), text_of(part, "name"), text_of(part, "text")) {
                (Some("tool_use"), Some(name), _) => {
                    lines.push(format!("> {}", printable(&self.calls.begin(name, part))));
                }
                (Some("text"), _, Some(text)) => lines.extend(printable_lines(text)),
                _ => {}
            }
        }
        lines
    }

    /// Returns the first lines of a call's result, or why the call was refused.
    fn returned(&mut self, event: &Value) -> Vec<String> {
        let before = self.calls.refused.len();
        let _ = self.calls.end(event, &mut Unjudged::default());
        let refused: Vec<String> = self
            .calls
            .refused
            .iter()
            .skip(before)
            .map(|call| format!("  refused: {}", call.why))
            .collect();
        if !refused.is_empty() {
            return refused;
        }
        let mut lines = Vec::new();
        for part in parts(event).filter(|part| text_of(part, "type") == Some("tool_result")) {
            let given = printable_lines(&content(part));
            let mark = if part.get("is_error") == Some(&Value::Bool(true)) { "!" } else { "|" };
            lines.extend(given.iter().take(SHOWN).map(|line| format!("  {mark} {}", short(line))));
            if given.len() > SHOWN {
                lines.push(format!("  {mark} … {} more lines", given.len() - SHOWN));
            }
        }
        lines
    }
}

fn parts(event: &Value) -> impl Iterator<Item = &Value> {
    let content = event.get("message").and_then(|message| message.get("content")?.as_array());
    content.into_iter().flatten()
}

/// Returns the text of a result, which may have several parts.
fn content(part: &Value) -> String {
    match part.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(several)) => {
            let texts: Vec<&str> = several.iter().filter_map(|one| text_of(one, "text")).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// Returns how the session ended, without its last message, which was already shown.
fn result(event: &Value) -> Vec<String> {
    let is_error = event.get("is_error") == Some(&Value::Bool(true));
    let kind = text_of(event, "subtype").unwrap_or(if is_error { "error" } else { "success" });
    let cost = event.get("total_cost_usd").and_then(Value::as_f64).map(dollars);
    let used = |name: &str| event.get("usage")?.get(name)?.as_u64();
    let out = used("output_tokens").map(|count| format!("{} tokens written", thousands(count)));
    let facts: Vec<String> = cost.into_iter().chain(out).collect();
    let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
    let mut lines = vec![format!("= {}{facts}", printable(kind))];
    if is_error {
        lines.extend(printable_lines(text_of(event, "result").unwrap_or_default()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_session_is_rendered_as_text_lines() {
        let call = |id: &str, command: &str| {
            json!({"type": "assistant", "message": {"content": [
                {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}]}})
        };
        let returned = |id: &str, is_error: bool, text: &str| {
            json!({"type": "user", "message": {"content": [
                {"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": text}]}})
        };
        let events = [
            json!({"type": "system", "subtype": "init", "cwd": "/c", "model": "m", "session_id": "s"}),
            json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "I look.\n\u{1b}[31mFirst."}]}}),
            call("a", "cat /c/src/a.rs"),
            returned("a", false, "1\n2\n3\n4\n5"),
            call("b", "git push"),
            returned("b", true, "PreToolUse:Bash hook error: git-push: not yours"),
            call("c", "make"),
            returned("c", true, "make: *** no rule"),
            json!({"type": "stream_event"}),
            json!({"type": "result", "subtype": "success", "is_error": false, "total_cost_usd": 0.25, "result": "I look."}),
        ];
        let mut readable = Readable::default();
        let mut shown = readable.lines(b"plain text");
        for event in &events {
            shown.extend(readable.lines(event.to_string().as_bytes()));
        }
        let expected = [
            "plain text",
            "session s (m)",
            "I look.",
            "First.",
            "> Bash: cat src/a.rs",
            "  | 1",
            "  | 2",
            "  | 3",
            "  | … 2 more lines",
            "> Bash: git push",
            "  refused: git-push: not yours",
            "> Bash: make",
            "  ! make: *** no rule",
            "= success ($0.25)",
        ];
        assert_eq!(shown, expected);
    }
}
