//! The client's hook protocol: its input, and the replies that it is known to accept.
//!
//! ```
//! use ralph_core::hook::{Decision, Input};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let sent = br#"{"hook_event_name":"PreToolUse","session_id":"s1","cwd":"/srv/app",
//!     "tool_name":"Bash","tool_input":{"command":"git push"},"of_a_newer_client":true}"#;
//! let input = Input::parse(sent)?;
//! assert_eq!(input.bash().unwrap().command, "git push");
//!
//! let reply = Decision::Deny("pushing is the user's".into()).reply_to(&input.event)?;
//! assert!(reply.stdout.unwrap().contains(r#""permissionDecision":"deny""#));
//! # Ok(())
//! # }
//! ```

mod decision;
mod input;
mod repair;
mod run;

pub use decision::{Decision, Reply, UnsupportedDecision};
pub use input::{BackgroundTask, BashCall, BashResult, FileCall, Input};
pub use run::{exchange, run};
