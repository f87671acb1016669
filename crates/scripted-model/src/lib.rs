//! A model on loopback that follows a script, for probes and tests.
//!
//! The real agent uses it like the real service, runs the tools that the script calls and fires its
//! hooks. Every request is kept, so that its reader can check what the model received. It supports
//! Anthropic's Messages, OpenAI's Responses and chat completions, and Gemini's `generateContent`,
//! but no encryption and no authentication.
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
mod reach;
mod request;
mod responses;
mod script;
mod server;
mod step;
mod tools;

pub use answer::{Answer, Block, Refusal, Tokens};
pub use reach::Reach;
pub use request::Request;
pub use script::Script;
pub use server::Model;
pub use step::Step;
