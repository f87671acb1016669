//! A model that says what a script tells it to, on loopback, for tests.
//!
//! The real agent talks to it as to the real service, runs the tools that the script asks for and
//! fires its hooks. Every request is kept, so that a test sees what the model was told. It speaks
//! Anthropic's Messages, OpenAI's Responses and chat completions, and Gemini's `generateContent`; it
//! knows no encryption and no authentication.
//!
//! ```
//! use scripted_model::{Answer, Model, Script};
//!
//! # fn main() -> std::io::Result<()> {
//! let script = Script::of([Answer::bash("git status"), Answer::text("all is well")]);
//! let model = Model::start(script)?;
//! assert!(model.base_url().starts_with("http://127.0.0.1:"));
//! assert!(model.requests().is_empty());
//! # Ok(())
//! # }
//! ```

mod answer;
mod chat;
mod gemini;
mod http;
mod messages;
mod protocol;
mod request;
mod responses;
mod script;
mod server;
mod tools;

pub use answer::{Answer, Block, Refusal, Tokens};
pub use request::{Request, ToolResult};
pub use script::Script;
pub use server::Model;
