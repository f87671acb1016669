//! The differences between agents: one row each in `dialect/agents.toml`.

mod payload;

use ralph_core::hook::{Decision, Reply};
use serde_json::{Value, json};

pub use payload::{inputs, set};

row! {
    /// An agent.
    #[expect(missing_docs, reason = "the table says what each field is")]
    pub Dialect {
        texts: name start behind resume model pass variable servers user project home fresh exit code context;
        lists: instead lacks events shells reads edits writes patches path output code_texts;
        flags: millis exit_unknown deny_flat stop_by_exit;
        lines
    }
}

row! {
    /// A rule for the meaning of a line of an agent's output.
    #[expect(missing_docs, reason = "the table says what each field is")]
    pub Line {
        texts: session model text call tool input command file done output code step cost error;
        lists: when tokens;
        flags: failed zero end whole;
    }
}

include!(concat!(env!("OUT_DIR"), "/agents.rs"));

impl Line {
    /// Returns whether an event matches this rule.
    pub fn fits(&self, event: &Value) -> bool {
        self.when.iter().all(|word| match word.split_once('=') {
            Some((path, wanted)) => match event.pointer(&format!("/{path}")) {
                Some(Value::String(text)) => text == wanted,
                Some(Value::Bool(flag)) => wanted.parse() == Ok(*flag),
                Some(Value::Number(number)) => number.as_i64() == wanted.parse().ok(),
                _ => false,
            },
            None => {
                let found = event.pointer(&format!("/{word}"));
                found.is_some_and(|found| !found.is_null() && found != "")
            }
        })
    }
}

impl Dialect {
    /// Returns the agent of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        AGENTS.iter().find(|agent| agent.name == name)
    }

    /// Returns the agent's own name of one of Claude's events; `None` if it has no such event.
    pub fn own_event(&self, event: &str) -> Option<&'static str> {
        let mut events =
            self.events.iter().map(|pair| pair.split_once('=').unwrap_or((pair, pair)));
        events.find(|(_, claudes)| *claudes == event).map(|(own, _)| own)
    }

    /// Returns the exit code at the end of a text of the agent.
    pub fn exit_code(&self, text: &str) -> Option<i64> {
        let (_, rest) = text.rsplit_once(self.exit).filter(|_| !self.exit.is_empty())?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest.get(..digits)?.parse().ok()
    }

    /// Returns the reply to the agent's event `own`, which corresponds to Claude's `event`. A block
    /// after a tool call would hide the tool's output from most agents, so it becomes context.
    pub fn reply(&self, decision: Decision, own: &str, event: &str) -> Reply {
        let json = |value: Value| Reply { stdout: Some(value.to_string()), ..Reply::default() };
        match decision {
            Decision::Deny(reason) if self.deny_flat => {
                json(json!({"decision": "deny", "reason": reason}))
            }
            Decision::Block(reason) if event.starts_with("PostToolUse") => {
                self.reply(Decision::Context(reason), own, event)
            }
            Decision::Block(reason) if self.stop_by_exit => {
                Reply { stdout: None, stderr: Some(reason), exit_code: 2 }
            }
            Decision::Context(text) if !self.context.is_empty() => {
                json(json!({self.context: text}))
            }
            other => other.worded(own),
        }
    }
}

#[cfg(test)]
#[path = "dialect/tests.rs"]
mod tests;
