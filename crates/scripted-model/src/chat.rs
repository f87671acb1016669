//! Turns in the format of OpenAI's chat completions, which most agents use.

use serde_json::{Value, json};

use crate::answer::Block;
use crate::protocol::{Turn, data};

/// Formats the turn as server-sent events, or as one object.
pub(crate) fn turn(turn: &Turn<'_>) -> String {
    let Turn { answer, model, .. } = turn;
    let mut words = Vec::new();
    let mut calls = Vec::new();
    for (index, block) in answer.blocks.iter().enumerate() {
        match block {
            Block::Text(text) => words.push(text.as_str()),
            Block::ToolUse { name, input } => calls.push(json!({
                "index": calls.len(), "id": turn.call_id(index), "type": "function",
                "function": {"name": name, "arguments": input.to_string()},
            })),
        }
    }
    let reason = if calls.is_empty() { "stop" } else { "tool_calls" };
    let content = words.join("\n");
    let message = if calls.is_empty() {
        json!({"role": "assistant", "content": content})
    } else {
        json!({"role": "assistant", "content": content, "tool_calls": calls})
    };
    let (input, output) = (answer.tokens.all_input(), answer.tokens.output);
    let usage = json!({
        "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
        "prompt_tokens_details": {"cached_tokens": answer.tokens.cache_read},
    });
    let sent = |object: &str, choices: Value, usage: Value| {
        json!({
            "id": format!("chatcmpl-{}", turn.serial), "object": object, "created": 1_700_000_000,
            "model": model, "choices": choices, "usage": usage,
        })
    };
    if !turn.is_streamed {
        let choice = json!([{"index": 0, "message": message, "finish_reason": reason}]);
        return sent("chat.completion", choice, usage).to_string();
    }
    let chunk = |choices, usage| sent("chat.completion.chunk", choices, usage);
    let choice = |delta: Value, reason: Value| json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
    let chunks = [
        chunk(choice(message, Value::Null), Value::Null),
        chunk(choice(json!({}), reason.into()), Value::Null),
        chunk(json!([]), usage),
    ];
    data(&chunks) + "data: [DONE]\n\n"
}
