//! Turns in the format of OpenAI's Responses, which codex uses.

use serde_json::{Value, json};

use crate::answer::{Block, FULL_CONTEXT, Refusal};
use crate::protocol::{Turn, events, openai_error};

/// Formats the turn as server-sent events; codex supports nothing else.
pub(crate) fn turn(turn: &Turn<'_>) -> String {
    let Turn { answer, serial, model, .. } = turn;
    let id = format!("resp_{serial}");
    let items: Vec<Value> = answer.blocks.iter().enumerate().map(|(index, block)| match block {
        Block::Text(words) => json!({
            "type": "message", "id": format!("msg_{serial}_{index}"), "role": "assistant",
            "content": [{"type": "output_text", "text": words, "annotations": []}],
        }),
        Block::ToolUse { name, input } => {
            let id = turn.call_id(index);
            match input.as_str() {
                Some(text) => json!({
                    "type": "custom_tool_call", "id": format!("ctc_{id}"), "call_id": id, "name": name,
                    "input": text,
                }),
                None => json!({
                    "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
                    "arguments": input.to_string(),
                }),
            }
        }
    }).collect();
    let (input, output) = (answer.tokens.all_input(), answer.tokens.output);
    let mut sent = vec![json!({"type": "response.created", "response": {"id": id}})];
    sent.extend(items.iter().enumerate().map(|(index, item)| {
        json!({"type": "response.output_item.done", "output_index": index, "item": item})
    }));
    sent.push(json!({"type": "response.completed", "response": {
        "id": id, "model": model, "status": "completed", "output": items,
        "usage": {
            "input_tokens": input,
            "input_tokens_details": {"cached_tokens": answer.tokens.cache_read},
            "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input + output,
        },
    }}));
    events(&sent)
}

/// Formats an error. That the context is full is reported within a stream.
pub(crate) fn error(refusal: &Refusal) -> (u16, String) {
    let error = openai_error(refusal);
    if refusal.kind != FULL_CONTEXT {
        return (refusal.status, error.to_string());
    }
    let failed = json!({"id": "resp_failed", "status": "failed", "error": error.get("error")});
    (200, events(&[json!({"type": "response.failed", "response": failed})]))
}
