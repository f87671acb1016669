//! Turns in the format of Gemini's `generateContent` and `streamGenerateContent`.

use serde_json::{Value, json};

use crate::answer::{Block, Refusal, USAGE_LIMIT, WRONG_KEY};
use crate::protocol::{Turn, data};

/// Formats the turn as one server-sent event, or as one object.
pub(crate) fn turn(turn: &Turn<'_>) -> String {
    let parts = turn.answer.blocks.iter().map(|block| match block {
        Block::Text(words) => json!({"text": words}),
        Block::ToolUse { name, input } => json!({"functionCall": {"name": name, "args": input}}),
    });
    let parts: Vec<Value> = parts.collect();
    let tokens = &turn.answer.tokens;
    let content = json!({"role": "model", "parts": parts});
    let whole = json!({
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": tokens.all_input(),
            "cachedContentTokenCount": tokens.cache_read,
            "candidatesTokenCount": tokens.output,
            "totalTokenCount": tokens.all_input() + tokens.output,
        },
        "modelVersion": turn.model,
    });
    if turn.is_streamed { data(&[whole]) } else { whole.to_string() }
}

/// Formats an error. A usage limit is the daily quota: Gemini itself waits for any other.
pub(crate) fn error(refusal: &Refusal) -> String {
    let (status, quota) = match refusal.kind {
        USAGE_LIMIT => ("RESOURCE_EXHAUSTED", "GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
        WRONG_KEY => ("UNAUTHENTICATED", ""),
        kind => (kind, ""),
    };
    let google = "type.googleapis.com/google.rpc.";
    let quota = (!quota.is_empty()).then(|| {
        let violations = json!([{"quotaId": quota, "quotaValue": "250"}]);
        json!({"@type": format!("{google}QuotaFailure"), "violations": violations})
    });
    let details: Vec<Value> = quota.into_iter().collect();
    json!({"error": {
        "code": refusal.status, "message": refusal.message, "status": status, "details": details,
    }})
    .to_string()
}
