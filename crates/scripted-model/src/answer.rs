//! One turn of the model: what it says, what it asks for, what it costs, or how it refuses.

use std::time::Duration;

use serde_json::{Value, json};

/// The account's limit is reached until a stated time.
pub(crate) const USAGE_LIMIT: &str = "usage_limit_reached";
/// The key is wrong.
pub(crate) const WRONG_KEY: &str = "authentication_error";
/// The conversation no longer fits.
pub(crate) const FULL_CONTEXT: &str = "context_length_exceeded";

/// One turn of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What it says and asks for, in order.
    pub blocks: Vec<Block>,
    /// What it claims to have used.
    pub tokens: Tokens,
    /// How long it thinks before the first byte.
    pub delay: Duration,
    /// An error instead of all that.
    pub refusal: Option<Refusal>,
}

/// A part of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Words.
    Text(String),
    /// A call of one of the client's tools.
    ToolUse {
        /// The tool.
        name: String,
        /// Its input.
        input: Value,
    },
}

/// The token counts of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tokens {
    /// Read afresh.
    pub input: u64,
    /// Written into the cache.
    pub cache_creation: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Produced.
    pub output: u64,
}

impl Tokens {
    /// What was read, from the cache or not: most services count it so.
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
    /// The error's text.
    pub message: String,
    /// Further headers, such as `retry-after`.
    pub headers: Vec<(&'static str, String)>,
    /// How long a limit lasts from when it is sent.
    pub resets_in: Option<Duration>,
}

impl Answer {
    /// A turn of these parts.
    pub fn of(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self {
            blocks: blocks.into_iter().collect(),
            tokens: Tokens::default(),
            delay: Duration::ZERO,
            refusal: None,
        }
    }

    /// Words, after which the client's turn ends.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of([Block::Text(text.into())])
    }

    /// A call of one tool.
    pub fn tool(name: &str, input: Value) -> Self {
        Self::of([Block::ToolUse { name: name.to_owned(), input }])
    }

    /// A shell command.
    pub fn bash(command: &str) -> Self {
        Self::tool("Bash", json!({"command": command, "description": "a step of the script"}))
    }

    /// Reads a file.
    pub fn read(path: impl AsRef<str>) -> Self {
        Self::tool("Read", json!({"file_path": path.as_ref()}))
    }

    /// Writes a file.
    pub fn write(path: impl AsRef<str>, content: &str) -> Self {
        Self::tool("Write", json!({"file_path": path.as_ref(), "content": content}))
    }

    /// Replaces a passage of a file.
    pub fn edit(path: impl AsRef<str>, old: &str, new: &str) -> Self {
        let input = json!({"file_path": path.as_ref(), "old_string": old, "new_string": new});
        Self::tool("Edit", input)
    }

    /// An error of the service.
    pub fn refused(status: u16, kind: &'static str, message: &str) -> Self {
        let message = message.to_owned();
        let refusal = Refusal { status, kind, message, headers: Vec::new(), resets_in: None };
        Self { refusal: Some(refusal), ..Self::of([]) }
    }

    /// The account's limit is reached.
    pub fn rate_limited() -> Self {
        Self::refused(429, "rate_limit_error", "This request would exceed your rate limit.")
    }

    /// The limit of the account's plan is reached, for so many seconds.
    pub fn usage_limit(seconds: u64) -> Self {
        let message = format!("Usage limit reached, try again in {seconds} seconds.");
        let mut answer = Self::refused(429, USAGE_LIMIT, &message);
        if let Some(refusal) = &mut answer.refusal {
            refusal.resets_in = Some(Duration::from_secs(seconds));
        }
        answer.with_header("retry-after", seconds.to_string())
    }

    /// The service does not know the key.
    pub fn wrong_key() -> Self {
        Self::refused(401, WRONG_KEY, "Incorrect API key provided.")
    }

    /// The service has too much to do.
    pub fn overloaded() -> Self {
        Self::refused(529, "overloaded_error", "Overloaded")
    }

    /// The conversation no longer fits.
    pub fn prompt_too_long() -> Self {
        let message = "prompt is too long: 1000001 tokens > 1000000 maximum";
        Self::refused(400, FULL_CONTEXT, message)
    }

    /// The same with a header, which only an error has.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Some(refusal) = &mut self.refusal {
            refusal.headers.push((name, value.into()));
        }
        self
    }

    /// The same with other token counts.
    #[must_use]
    pub fn using(self, tokens: Tokens) -> Self {
        Self { tokens, ..self }
    }

    /// The same after some thought.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// This turn and another in one: the client runs their tools at the same time.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.blocks.extend(other.blocks);
        self
    }

    /// Why the turn ended, in the service's words.
    pub(crate) fn stop_reason(&self) -> &'static str {
        let calls = self.blocks.iter().any(|block| matches!(block, Block::ToolUse { .. }));
        if calls { "tool_use" } else { "end_turn" }
    }
}
