//! A turn in the service's format: as server-sent events, or as one object.

use serde_json::{Value, json};

use crate::answer::{Answer, Block, Refusal};

/// The turn as server-sent events. `serial` makes the ids unique.
pub(crate) fn stream(answer: &Answer, serial: usize, model: &str) -> String {
    let mut text = String::new();
    let mut send = |event: Value| {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        text.push_str(&format!("event: {kind}\ndata: {event}\n\n"));
    };
    let start = envelope(answer, serial, model, (json!([]), Value::Null));
    send(json!({"type": "message_start", "message": start}));
    for (index, block) in answer.blocks.iter().enumerate() {
        let (empty, delta) = match block {
            Block::Text(words) => {
                (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": words}))
            }
            Block::ToolUse { name, input } => (
                json!({"type": "tool_use", "id": call_id(serial, index), "name": name, "input": {}}),
                json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            ),
        };
        send(json!({"type": "content_block_start", "index": index, "content_block": empty}));
        send(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        send(json!({"type": "content_block_stop", "index": index}));
    }
    send(json!({
        "type": "message_delta",
        "delta": {"stop_reason": answer.stop_reason(), "stop_sequence": null},
        "usage": {"output_tokens": answer.tokens.output},
    }));
    send(json!({"type": "message_stop"}));
    text
}

/// The turn as one object, for a client that does not stream.
pub(crate) fn whole(answer: &Answer, serial: usize, model: &str) -> String {
    let blocks = answer.blocks.iter().enumerate().map(|(index, block)| match block {
        Block::Text(words) => json!({"type": "text", "text": words}),
        Block::ToolUse { name, input } => {
            json!({"type": "tool_use", "id": call_id(serial, index), "name": name, "input": input})
        }
    });
    let end = (blocks.collect(), answer.stop_reason().into());
    envelope(answer, serial, model, end).to_string()
}

/// An error in the service's format.
pub(crate) fn error(refusal: &Refusal) -> String {
    json!({"type": "error", "error": {"type": refusal.kind, "message": refusal.message}})
        .to_string()
}

/// A message around its content and its stop reason, which a stream sends later.
fn envelope(answer: &Answer, serial: usize, model: &str, end: (Value, Value)) -> Value {
    json!({
        "id": format!("msg_{serial:024}"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": end.0,
        "stop_reason": end.1,
        "stop_sequence": null,
        "usage": {
            "input_tokens": answer.tokens.input,
            "cache_creation_input_tokens": answer.tokens.cache_creation,
            "cache_read_input_tokens": answer.tokens.cache_read,
            "output_tokens": answer.tokens.output,
        },
    })
}

fn call_id(serial: usize, index: usize) -> String {
    format!("toolu_{serial:018}_{index:05}")
}
