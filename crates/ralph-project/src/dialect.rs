//! What is different from agent to agent: one row each in `dialect/agents.toml`.

mod payload;

use ralph_core::hook::{Decision, Reply};
use serde_json::{Value, json};

pub use payload::inputs;

/// One agent; the fields are explained in the table.
#[derive(Debug, PartialEq)]
#[expect(missing_docs, reason = "the table says what each is")]
pub struct Dialect {
    pub name: &'static str,
    pub start: &'static str,
    pub behind: &'static str,
    pub resume: &'static str,
    pub model: &'static str,
    pub pass: &'static str,
    pub variable: &'static str,
    pub servers: &'static str,
    pub millis: bool,
    pub measured: &'static [&'static str],
    pub lacks: &'static [&'static str],
    pub events: &'static [&'static str],
    shells: &'static [&'static str],
    reads: &'static [&'static str],
    edits: &'static [&'static str],
    writes: &'static [&'static str],
    patches: &'static [&'static str],
    path: &'static [&'static str],
    output: &'static [&'static str],
    told: &'static [&'static str],
    exit: &'static str,
    code: &'static str,
    pub exit_unknown: bool,
    deny_flat: bool,
    context_flat: bool,
    stop_by_exit: bool,
    pub lines: &'static [Line],
}

/// What a line of an agent's output means; the fields are explained in the table.
#[derive(Debug, PartialEq)]
#[expect(missing_docs, reason = "the table says what each is")]
pub struct Line {
    pub when: &'static [&'static str],
    pub session: &'static str,
    pub model: &'static str,
    pub text: &'static str,
    pub call: &'static str,
    pub tool: &'static str,
    pub input: &'static str,
    pub command: &'static str,
    pub file: &'static str,
    pub done: &'static str,
    pub output: &'static str,
    pub code: &'static str,
    pub failed: bool,
    pub end: bool,
    pub step: &'static str,
    pub tokens: &'static [&'static str],
    pub cost: &'static str,
    pub error: &'static str,
    pub whole: bool,
}

include!(concat!(env!("OUT_DIR"), "/agents.rs"));

impl Line {
    const EMPTY: Self = Self {
        when: &[],
        session: "",
        model: "",
        text: "",
        call: "",
        tool: "",
        input: "",
        command: "",
        file: "",
        done: "",
        output: "",
        code: "",
        failed: false,
        end: false,
        step: "",
        tokens: &[],
        cost: "",
        error: "",
        whole: false,
    };

    /// Whether an event is such a line.
    pub fn fits(&self, event: &Value) -> bool {
        self.when.iter().all(|word| match word.split_once('=') {
            Some((path, wanted)) => match event.pointer(&format!("/{path}")) {
                Some(Value::String(text)) => text == wanted,
                other => other.is_some_and(|found| found.to_string() == wanted),
            },
            None => {
                let found = event.pointer(&format!("/{word}"));
                found.is_some_and(|found| !found.is_null() && found != "")
            }
        })
    }
}

impl Dialect {
    const EMPTY: Self = Self {
        name: "",
        start: "",
        behind: "",
        resume: "",
        model: "",
        pass: "",
        variable: "",
        servers: "",
        millis: false,
        measured: &[],
        lacks: &[],
        events: &[],
        shells: &[],
        reads: &[],
        edits: &[],
        writes: &[],
        patches: &[],
        path: &[],
        output: &[],
        told: &[],
        exit: "",
        code: "",
        exit_unknown: false,
        deny_flat: false,
        context_flat: false,
        stop_by_exit: false,
        lines: &[],
    };

    /// The agent of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        AGENTS.iter().find(|agent| agent.name == name)
    }

    /// The agent's own name of one of Claude's events; none if it has no such event.
    pub fn own_event(&self, event: &str) -> Option<&'static str> {
        let mut events =
            self.events.iter().map(|pair| pair.split_once('=').unwrap_or((pair, pair)));
        events.find(|(_, claudes)| *claudes == event).map(|(own, _)| own)
    }

    /// The exit code that a text of the agent's ends with.
    pub fn exit_code(&self, text: &str) -> Option<i64> {
        let (_, rest) = text.rsplit_once(self.exit).filter(|_| !self.exit.is_empty())?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest.get(..digits)?.parse().ok()
    }

    /// The reply to an event of the agent's, `own`, which is this one of Claude's. A block after a tool call would
    /// hide the tool's output from most agents, so it becomes context.
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
            Decision::Context(text) if self.context_flat => {
                json(json!({"additionalContext": text}))
            }
            other => other.reply_to(own),
        }
    }
}

#[cfg(test)]
#[path = "dialect/tests.rs"]
mod tests;
