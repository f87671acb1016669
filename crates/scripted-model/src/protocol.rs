//! The protocols of the services, by the path of a request.

use std::time::SystemTime;

use serde_json::{Value, json};

use crate::answer::{Answer, Refusal, WRONG_KEY};
use crate::{chat, gemini, messages, responses};

/// A turn to be sent.
pub(crate) struct Turn<'a> {
    pub(crate) answer: &'a Answer,
    /// A number that makes the ids unique.
    pub(crate) serial: usize,
    pub(crate) model: &'a str,
    pub(crate) is_streamed: bool,
}

/// The protocol of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Messages,
    Responses,
    Chat,
    Gemini,
}

impl Turn<'_> {
    pub(crate) fn call_id(&self, index: usize) -> String {
        format!("toolu_{:018}_{index:05}", self.serial)
    }
}

impl Protocol {
    /// Returns the protocol for this path, if there is one.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        match path {
            "/v1/messages" => Some(Self::Messages),
            "/v1/responses" => Some(Self::Responses),
            "/v1/chat/completions" => Some(Self::Chat),
            _ if path.ends_with("enerateContent") => Some(Self::Gemini),
            _ => None,
        }
    }

    pub(crate) fn turn(self, turn: &Turn<'_>) -> String {
        match self {
            Self::Messages => messages::turn(turn),
            Self::Responses => responses::turn(turn),
            Self::Chat => chat::turn(turn),
            Self::Gemini => gemini::turn(turn),
        }
    }

    /// Returns the status and the body of an error response.
    pub(crate) fn error(self, refusal: &Refusal) -> (u16, String) {
        match self {
            Self::Messages => (refusal.status, messages::error(refusal)),
            Self::Responses => responses::error(refusal),
            Self::Chat => (refusal.status, openai_error(refusal).to_string()),
            Self::Gemini => (refusal.status, gemini::error(refusal)),
        }
    }
}

/// Builds an error object in OpenAI's format.
pub(crate) fn openai_error(refusal: &Refusal) -> Value {
    let code = if refusal.kind == WRONG_KEY { "invalid_api_key" } else { refusal.kind };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let resets_at = refusal.resets_in.map(|wait| (now + wait).as_secs());
    json!({"error": {
        "type": code, "code": code, "message": refusal.message, "param": null,
        "resets_at": resets_at,
    }})
}

/// Formats server-sent events named after the `type` of their objects.
pub(crate) fn events(sent: &[Value]) -> String {
    let named = |event: &Value| {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        format!("event: {kind}\ndata: {event}\n\n")
    };
    sent.iter().map(named).collect()
}

/// Formats server-sent events without names.
pub(crate) fn data(sent: &[Value]) -> String {
    sent.iter().map(|event| format!("data: {event}\n\n")).collect()
}
