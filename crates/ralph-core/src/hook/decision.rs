//! What a hook answers, in exactly the shapes that the client was seen to obey.

use serde_json::json;

/// What a hook decided.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Decision {
    /// Nothing to say. There is no "allow": it would silence the user's own permission prompts.
    #[default]
    NoOpinion,
    /// The tool call must not happen (`PreToolUse`).
    Deny(String),
    /// The agent is told, next to a tool's result; or it may not stop yet.
    Block(String),
    /// Something for the agent to know.
    Context(String),
    /// Something for the person to know; the agent goes its way.
    Notice(String),
}

/// What a hook process prints and how it exits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// For the client.
    pub stdout: Option<String>,
    /// For the agent, where only that reaches it.
    pub stderr: Option<String>,
    /// Zero but for the one event that knows no other way.
    pub exit_code: u8,
}

impl Decision {
    /// The reply to an event of this name.
    pub fn reply_to(&self, event: &str) -> Reply {
        match self {
            Self::NoOpinion => Reply::default(),
            // `TeammateIdle` is only documented to obey exit code 2 with a reason on stderr.
            Self::Block(reason) if event == "TeammateIdle" => {
                Reply { stdout: None, stderr: Some(reason.clone()), exit_code: 2 }
            }
            Self::Deny(reason) => Reply::json(&json!({
                "hookSpecificOutput": {
                    // Without the event's name the client ignores the decision and runs the tool.
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "deny",
                    "permissionDecisionReason": reason,
                }
            })),
            Self::Block(reason) => Reply::json(&json!({"decision": "block", "reason": reason})),
            Self::Notice(text) => Reply::json(&json!({"systemMessage": text})),
            // What is printed here as it is becomes part of what the client asks its summary for.
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
        assert_eq!(decision.reply_to(event), expected);
    }

    #[test]
    fn answers_have_the_shapes_that_the_client_obeys() {
        check(
            Decision::Deny("R".into()),
            "PreToolUse",
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"R"}}"#,
        );
        for event in ["PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop", "TaskCompleted"]
        {
            check(Decision::Block("R".into()), event, r#"{"decision":"block","reason":"R"}"#);
        }
        check(
            Decision::Context("C".into()),
            "UserPromptSubmit",
            r#"{"hookSpecificOutput":{"additionalContext":"C","hookEventName":"UserPromptSubmit"}}"#,
        );
    }

    #[test]
    fn before_a_compaction_the_client_takes_plain_text() {
        check(Decision::Context("C".into()), "PreCompact", "C");
    }

    #[test]
    fn a_notice_is_for_the_person_and_decides_nothing() {
        check(Decision::Notice("N".into()), "Stop", r#"{"systemMessage":"N"}"#);
    }

    #[test]
    fn no_opinion_prints_nothing_whatever_the_event() {
        for event in ["PreToolUse", "Stop", "TeammateIdle", ""] {
            assert_eq!(Decision::NoOpinion.reply_to(event), Reply::default());
        }
    }

    #[test]
    fn an_idle_teammate_is_held_back_by_the_exit_code() {
        let reply = Decision::Block("R".into()).reply_to("TeammateIdle");
        assert_eq!(reply, Reply { stdout: None, stderr: Some("R".into()), exit_code: 2 });
    }
}
