//! A model that says what a script tells it to: the Messages API on loopback, for tests.
//!
//! The real client talks to it as to the real service, runs the tools that the script asks for and
//! fires its hooks. Every request is kept, so that a test sees what the model was told. It knows no
//! encryption, no authentication and no other endpoint than the one that the client needs.
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
mod events;
mod http;
mod request;
mod script;
mod server;

pub use answer::{Answer, Block, Refusal, Tokens};
pub use request::{Request, ToolResult};
pub use script::Script;
pub use server::Model;
