//! Replies of a hook, in exactly the formats that the client is known to accept.

use serde::Serialize;
use serde_json::json;

/// A hook's decision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// No opinion. There is no "allow": it would skip the user's own permission prompts.
    #[default]
    NoOpinion,
    /// The tool call must not happen (`PreToolUse`).
    Deny(String),
    /// The user is asked whether the tool call may happen (`PreToolUse`).
    Ask(String),
    /// The agent gets the reason with a tool's result, or may not stop yet.
    Block(String),
    /// Additional context for the agent.
    Context(String),
    /// A message for the user; the agent continues.
    Notice(String),
    /// The same at the end of another tool's feature list.
    Ended {
        /// The message for the user.
        notice: String,
        /// How many features are left, for scripts that read answers.
        remaining_features: usize,
    },
}

/// The output and exit code of a hook process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// The output for the client.
    pub stdout: Option<String>,
    /// A message for the agent, for events where only stderr reaches it.
    pub stderr: Option<String>,
    /// Zero, except for `TeammateIdle`, which requires exit code 2.
    pub exit_code: u8,
}

/// A decision that the client would ignore for this event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the client ignores `{decision:?}` as an answer to `{event}`")]
pub struct UnsupportedDecision {
    /// The decision.
    pub decision: Decision,
    /// The name of the event.
    pub event: String,
}

impl Decision {
    /// Returns the reply to an event; an error if the client would ignore it.
    pub fn reply_to(&self, event: &str) -> Result<Reply, UnsupportedDecision> {
        let is_tool_result = matches!(event, "PostToolUse" | "PostToolUseFailure");
        let fits = match self {
            Self::NoOpinion | Self::Notice(_) | Self::Ended { .. } => true,
            Self::Deny(_) | Self::Ask(_) => event == "PreToolUse",
            Self::Block(_) => {
                let held = ["Stop", "SubagentStop", "TaskCompleted", "TeammateIdle"];
                is_tool_result || held.contains(&event) || event == "UserPromptSubmit"
            }
            Self::Context(_) => {
                let with_context =
                    ["UserPromptSubmit", "SessionStart", "SubagentStart", "PreCompact"];
                is_tool_result || with_context.contains(&event)
            }
        };
        let unsupported =
            || UnsupportedDecision { decision: self.clone(), event: event.to_owned() };
        if fits { Ok(self.worded(event)) } else { Err(unsupported()) }
    }

    /// Returns the reply without a check, for other agents, which have other event names.
    pub fn worded(&self, event: &str) -> Reply {
        let permission = |decision: &str, reason: &str| {
            Reply::json(&json!({
                "hookSpecificOutput": {
                    // Without the event's name the client ignores the decision and runs the tool.
                    "hookEventName": "PreToolUse",
                    "permissionDecision": decision,
                    "permissionDecisionReason": reason,
                }
            }))
        };
        match self {
            Self::NoOpinion => Reply::default(),
            // For `TeammateIdle` only exit code 2 with a reason on stderr is documented to work.
            Self::Block(reason) if event == "TeammateIdle" => {
                Reply { stdout: None, stderr: Some(reason.clone()), exit_code: 2 }
            }
            Self::Deny(reason) => permission("deny", reason),
            Self::Ask(reason) => permission("ask", reason),
            Self::Block(reason) => Reply::json(&json!({"decision": "block", "reason": reason})),
            Self::Notice(text) => Reply::json(&json!({"systemMessage": text})),
            Self::Ended { notice, remaining_features } => Reply::json(
                &json!({"systemMessage": notice, "remaining_features": remaining_features}),
            ),
            // Plain output becomes part of the client's prompt for its summary.
            Self::Context(text) if event == "PreCompact" => {
                Reply { stdout: Some(text.clone()), ..Reply::default() }
            }
            Self::Context(text) => Reply::json(&json!({
                "hookSpecificOutput": {"hookEventName": event, "additionalContext": text}
            })),
        }
    }
}

impl Reply {
    fn json(value: &serde_json::Value) -> Self {
        Self { stdout: Some(value.to_string()), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(decision: Decision, event: &str, stdout: &str) {
        let expected = Reply { stdout: Some(stdout.to_owned()), ..Reply::default() };
        assert_eq!(decision.reply_to(event), Ok(expected));
    }

    #[test]
    fn answers_have_the_format_that_the_client_expects() {
        let deny = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"R"}}"#;
        check(Decision::Deny("R".into()), "PreToolUse", deny);
        for event in ["PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop", "TaskCompleted"]
        {
            check(Decision::Block("R".into()), event, r#"{"decision":"block","reason":"R"}"#);
        }
        let context = r#"{"hookSpecificOutput":{"additionalContext":"C","hookEventName":"UserPromptSubmit"}}"#;
        check(Decision::Context("C".into()), "UserPromptSubmit", context);
        check(Decision::Context("C".into()), "PreCompact", "C");
        check(Decision::Notice("N".into()), "Stop", r#"{"systemMessage":"N"}"#);
        let ended = Decision::Ended { notice: "N".into(), remaining_features: 2 };
        check(ended, "Stop", r#"{"remaining_features":2,"systemMessage":"N"}"#);
        for event in ["PreToolUse", "Stop", "TeammateIdle", ""] {
            assert_eq!(Decision::NoOpinion.reply_to(event), Ok(Reply::default()));
        }
        // An idle teammate is blocked by the exit code.
        let reply = Decision::Block("R".into()).reply_to("TeammateIdle");
        assert_eq!(reply, Ok(Reply { stdout: None, stderr: Some("R".into()), exit_code: 2 }));
    }

    #[test]
    fn a_decision_that_the_client_would_ignore_is_an_error() {
        for (decision, event) in [
            (Decision::Deny("R".into()), "Stop"),
            (Decision::Ask("R".into()), "PostToolUse"),
            (Decision::Block("R".into()), "SessionEnd"),
            (Decision::Context("R".into()), "Stop"),
        ] {
            let error = decision.reply_to(event).unwrap_err().to_string();
            assert!(error.contains(event) && error.contains("ignores"), "{error}");
        }
    }
}
