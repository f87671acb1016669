//! Requests to the model, and ways to examine them.

use serde_json::Value;

use crate::tools::shells;

/// One request from the client.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The path, including the query.
    pub path: String,
    /// The body; null if there was none or it was not JSON.
    pub body: Value,
}

impl Request {
    /// Creates a request with this body.
    pub fn new(path: &str, body: Value) -> Self {
        Self { path: path.to_owned(), body }
    }

    /// Whether it is from an agent, main or sub: its tools then include the shell, or at least a
    /// file reader. Others are side questions or warm-up calls of older clients.
    pub fn is_conversation(&self) -> bool {
        // A hook's text may come before it.
        let is_warm_up = self.first_message().lines().any(|line| line.starts_with("Warmup"));
        let is_agent =
            self.offers("Bash") || self.offers("Read") || shells().any(|name| self.offers(name));
        is_agent && !is_warm_up
    }

    /// Whether the request offers this tool to the model.
    pub fn offers(&self, tool: &str) -> bool {
        self.tools().contains(&tool)
    }

    /// Returns the names of the tools that the request offers.
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.body.get("tools").and_then(Value::as_array).into_iter().flatten();
        // Each tool by itself, below `function`, or in lists.
        let each = tools.flat_map(|tool| match tool.get("functionDeclarations") {
            Some(Value::Array(list)) => list.as_slice(),
            _ => std::slice::from_ref(tool),
        });
        each.filter_map(|tool| tool.get("function").unwrap_or(tool).get("name")?.as_str()).collect()
    }

    /// Returns the text of the first message, which contains the prompt.
    pub fn first_message(&self) -> String {
        self.messages().first().map(text_of).unwrap_or_default()
    }

    /// Returns what the model received since its last turn: results, messages of hooks, reminders.
    pub fn received(&self) -> String {
        let parts: Vec<String> = self.news().iter().map(text_of).collect();
        parts.join("\n")
    }

    fn messages(&self) -> &[Value] {
        let lists = ["messages", "input", "contents"];
        let messages = lists.iter().find_map(|name| self.body.get(name)?.as_array());
        messages.map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the messages since the model's last turn.
    fn news(&self) -> &[Value] {
        let is_turn = |message: &Value| {
            let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
            let kinds = ["function_call", "custom_tool_call"];
            ["assistant", "model"].contains(&role) || kinds.contains(&kind_of(message))
        };
        let messages = self.messages();
        let last = messages.iter().rposition(is_turn).map_or(0, |position| position + 1);
        messages.get(last..).unwrap_or_default()
    }
}

fn kind_of(block: &Value) -> &str {
    block.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// Returns the text in a message or block, however deeply nested.
fn text_of(value: &Value) -> String {
    #[rustfmt::skip]
    const INSIDE: [&str; 8] = [
        "text", "content", "output", "parts", "functionResponse", "response", "error", "llmContent",
    ];
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        _ => INSIDE.iter().find_map(|name| value.get(name)).map(text_of).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_received_begins_after_the_last_turn() {
        let request = Request::new(
            "/v1/messages",
            json!({"messages": [
                {"role": "user", "content": "the prompt"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "1"}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "is_error": true, "content": [
                        {"type": "text", "text": "refused"}]},
                    {"type": "tool_result", "content": "fine"},
                    {"type": "text", "text": "a reminder"},
                ]},
            ]}),
        );
        assert_eq!(request.first_message(), "the prompt");
        assert_eq!(request.received(), "refused\nfine\na reminder");
    }

    #[test]
    fn every_protocol_is_understood() {
        for body in [
            json!({"tools": [{"type": "function", "name": "exec_command"}], "input": [
                {"type": "message", "role": "user", "content": [{"text": "the prompt"}]},
                {"type": "function_call", "call_id": "1"},
                {"type": "function_call_output", "call_id": "1", "output": "fine"},
            ]}),
            json!({"tools": [{"type": "function", "function": {"name": "bash"}}], "messages": [
                {"role": "user", "content": "the prompt"},
                {"role": "assistant", "tool_calls": [{"id": "1"}]},
                {"role": "tool", "tool_call_id": "1", "content": "fine"},
            ]}),
            json!({"tools": [{"functionDeclarations": [{"name": "run_shell_command"}]}], "contents": [
                {"role": "user", "parts": [{"text": "the prompt"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "run_shell_command"}}]},
                {"role": "user", "parts": [{"functionResponse": {"response": {"output": "fine"}}}]},
            ]}),
        ] {
            let request = Request::new("/", body);
            assert!(request.is_conversation(), "{request:?}");
            assert_eq!(request.first_message(), "the prompt");
            assert_eq!(request.received(), "fine");
        }
    }
}
