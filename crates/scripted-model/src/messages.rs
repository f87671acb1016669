//! Turns in the format of Anthropic's Messages, which Claude Code uses.

use serde_json::{Value, json};

use crate::answer::{Block, FULL_CONTEXT, Refusal, USAGE_LIMIT};
use crate::protocol::{Turn, events};

/// Formats the turn as server-sent events, or as one object.
pub(crate) fn turn(turn: &Turn<'_>) -> String {
    if turn.is_streamed { stream(turn) } else { whole(turn) }
}

fn stream(turn: &Turn<'_>) -> String {
    let start = envelope(turn, json!([]), Value::Null);
    let mut sent = vec![json!({"type": "message_start", "message": start})];
    for (index, block) in turn.answer.blocks.iter().enumerate() {
        let (empty, delta) = match block {
            Block::Text(words) => {
                (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": words}))
            }
            Block::ToolUse { name, input } => (
                json!({"type": "tool_use", "id": turn.call_id(index), "name": name, "input": {}}),
                json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            ),
        };
        sent.push(json!({"type": "content_block_start", "index": index, "content_block": empty}));
        sent.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        sent.push(json!({"type": "content_block_stop", "index": index}));
    }
    sent.push(json!({
        "type": "message_delta",
        "delta": {"stop_reason": turn.answer.stop_reason(), "stop_sequence": null},
        "usage": {"output_tokens": turn.answer.tokens.output},
    }));
    sent.push(json!({"type": "message_stop"}));
    events(&sent)
}

fn whole(turn: &Turn<'_>) -> String {
    let blocks = turn.answer.blocks.iter().enumerate().map(|(index, block)| match block {
        Block::Text(words) => json!({"type": "text", "text": words}),
        Block::ToolUse { name, input } => {
            json!({"type": "tool_use", "id": turn.call_id(index), "name": name, "input": input})
        }
    });
    envelope(turn, blocks.collect(), turn.answer.stop_reason().into()).to_string()
}

/// Formats an error of the service.
pub(crate) fn error(refusal: &Refusal) -> String {
    let kind = match refusal.kind {
        USAGE_LIMIT => "rate_limit_error",
        FULL_CONTEXT => "invalid_request_error",
        kind => kind,
    };
    json!({"type": "error", "error": {"type": kind, "message": refusal.message}}).to_string()
}

/// Builds a message with this content and stop reason; a stream sends these later.
fn envelope(turn: &Turn<'_>, content: Value, stop_reason: Value) -> Value {
    let tokens = &turn.answer.tokens;
    json!({
        "id": format!("msg_{:024}", turn.serial),
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": {
            "input_tokens": tokens.input,
            "cache_creation_input_tokens": tokens.cache_creation,
            "cache_read_input_tokens": tokens.cache_read,
            "output_tokens": tokens.output,
        },
    })
}
