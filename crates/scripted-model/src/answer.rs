//! One turn of the model: text, tool calls and token counts, or a refusal.

use std::time::Duration;

use serde_json::{Value, json};

/// The error type of an account limit that ends at a stated time.
pub(crate) const USAGE_LIMIT: &str = "usage_limit_reached";
/// The error type of a wrong key.
pub(crate) const WRONG_KEY: &str = "authentication_error";
/// The error type of a conversation that no longer fits the context.
pub(crate) const FULL_CONTEXT: &str = "context_length_exceeded";

/// One turn of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Its text and tool calls, in order.
    pub blocks: Vec<Block>,
    /// The token counts that it reports.
    pub tokens: Tokens,
    /// The delay before the first byte.
    pub delay: Duration,
    /// An error to send instead.
    pub refusal: Option<Refusal>,
}

/// A part of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Text.
    Text(String),
    /// A call of one of the client's tools.
    ToolUse {
        /// The name of the tool.
        name: String,
        /// Its input.
        input: Value,
    },
}

/// The token counts of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tokens {
    /// Input tokens that were not cached.
    pub input: u64,
    /// Tokens written into the cache.
    pub cache_creation: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Output tokens.
    pub output: u64,
}

impl Tokens {
    /// Returns all input tokens, cached or not, as most services count them.
    pub(crate) fn all_input(self) -> u64 {
        self.input + self.cache_creation + self.cache_read
    }
}

impl Default for Tokens {
    fn default() -> Self {
        Self { input: 1000, cache_creation: 0, cache_read: 0, output: 20 }
    }
}

/// An error of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The status of the response.
    pub status: u16,
    /// The error's type, as Anthropic's service names it.
    pub kind: &'static str,
    /// The error message.
    pub message: String,
    /// Additional headers, such as `retry-after`.
    pub headers: Vec<(&'static str, String)>,
    /// The duration of a limit, from the moment it is sent.
    pub resets_in: Option<Duration>,
}

impl Answer {
    /// Creates a turn from these parts.
    pub fn of(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self {
            blocks: blocks.into_iter().collect(),
            tokens: Tokens::default(),
            delay: Duration::ZERO,
            refusal: None,
        }
    }

    /// Creates a text, after which the client's turn ends.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of([Block::Text(text.into())])
    }

    /// Creates a tool call.
    pub fn tool(name: &str, input: Value) -> Self {
        Self::of([Block::ToolUse { name: name.to_owned(), input }])
    }

    /// Creates a call that runs a shell command.
    pub fn bash(command: &str) -> Self {
        Self::tool("Bash", json!({"command": command, "description": "a step of the script"}))
    }

    /// Creates a call that reads a file.
    pub fn read(path: impl AsRef<str>) -> Self {
        Self::tool("Read", json!({"file_path": path.as_ref()}))
    }

    /// Creates a call that writes a file.
    pub fn write(path: impl AsRef<str>, content: &str) -> Self {
        Self::tool("Write", json!({"file_path": path.as_ref(), "content": content}))
    }

    /// Creates a call that replaces a passage of a file.
    pub fn edit(path: impl AsRef<str>, old: &str, new: &str) -> Self {
        let input = json!({"file_path": path.as_ref(), "old_string": old, "new_string": new});
        Self::tool("Edit", input)
    }

    /// Creates an error of the service.
    pub fn refused(status: u16, kind: &'static str, message: &str) -> Self {
        let message = message.to_owned();
        let refusal = Refusal { status, kind, message, headers: Vec::new(), resets_in: None };
        Self { refusal: Some(refusal), ..Self::of([]) }
    }

    /// Creates the error for an exhausted usage limit that lasts this many seconds.
    pub fn usage_limit(seconds: u64) -> Self {
        let message = format!("Usage limit reached, try again in {seconds} seconds.");
        let mut answer = Self::refused(429, USAGE_LIMIT, &message);
        if let Some(refusal) = &mut answer.refusal {
            refusal.resets_in = Some(Duration::from_secs(seconds));
        }
        answer.with_header("retry-after", seconds.to_string())
    }

    /// Creates the error for an unknown key.
    pub fn wrong_key() -> Self {
        Self::refused(401, WRONG_KEY, "Incorrect API key provided.")
    }

    /// Creates the error for an overloaded service.
    pub fn overloaded() -> Self {
        Self::refused(529, "overloaded_error", "Overloaded")
    }

    /// Creates the error for a conversation that no longer fits the context.
    pub fn prompt_too_long() -> Self {
        let message = "prompt is too long: 1000001 tokens > 1000000 maximum";
        Self::refused(400, FULL_CONTEXT, message)
    }

    /// Adds a header to an error; has no effect on other turns.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Some(refusal) = &mut self.refusal {
            refusal.headers.push((name, value.into()));
        }
        self
    }

    /// Replaces the token counts.
    #[must_use]
    pub fn using(self, tokens: Tokens) -> Self {
        Self { tokens, ..self }
    }

    /// Sets the delay.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Appends another turn's parts: the client runs the tools of both at the same time.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.blocks.extend(other.blocks);
        self
    }

    /// Returns why the turn ended, as named by the service.
    pub(crate) fn stop_reason(&self) -> &'static str {
        let calls = self.blocks.iter().any(|block| matches!(block, Block::ToolUse { .. }));
        if calls { "tool_use" } else { "end_turn" }
    }
}
