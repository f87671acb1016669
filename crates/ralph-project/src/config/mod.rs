//! Configuration: one optional file; variables override the file, and flags override variables.
//!
//! ```
//! use ralph_project::config::{Config, Flag};
//! use ralph_base::env::Env;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = "[limits]\nattempts_per_story = 5\n[loop]\nmax_iterations = 10\n";
//! let env = Env::of([("MAX_ITERATIONS", "08")]);
//! let flags = [Flag::new("loop.mode", "planning")];
//! let config = Config::from_parts("config.toml", file, &env, &flags)?;
//! assert_eq!(config.limits.attempts_per_story, 5);
//! assert_eq!(config.run.max_iterations, 8);
//!
//! let typo = Config::from_parts("config.toml", "[limits]\natempts_per_story = 5\n", &env, &[]);
//! assert!(typo.unwrap_err().to_string().contains("config.toml:2"));
//! # Ok(())
//! # }
//! ```

pub mod check;
mod error;
mod keys;
mod load;
mod of_hooks;
mod schema;
mod seconds;
mod tables;
mod values;

use of_hooks::OfHooks;

pub use error::ConfigError;
pub use keys::{Key, Kind};
pub use load::{FindMistake, Flag, as_variable};
pub use schema::schema;
pub use seconds::Seconds;
pub use tables::{
    Agent, CommitSettings, Config, Hooks, Limits, LoopSettings, Notify, Review, Rollback,
    SandboxSettings, Scope, Session, Stop, Tests, Verify, WorkspaceSettings, keys,
};
pub use values::{
    Baseline, FailBehavior, Mode, Probing, Prove, PullRequests, RollbackOn, SandboxMode, Skip,
    Weakened,
};
