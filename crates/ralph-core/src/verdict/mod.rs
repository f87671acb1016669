//! Did this command run tests, and how did they end?
//!
//! Three questions, in this order: what was run (the parsed command, against the table of
//! runners), how it ended (the exit code, if it is that command's), and what was printed (the
//! runner's own summary). The reading of summaries knows no runner: it knows the words and shapes
//! that summaries share, so that a runner nobody has listed is understood as well.
//!
//! ```
//! use ralph_core::verdict::{Kind, Run, judge};
//!
//! let verdict = judge(&Run {
//!     command: "cd app && npx jest 2>&1 | tail -6",
//!     exit_code: Some(0), // that of `tail`
//!     output: "Tests:       1 failed, 3 passed, 4 total\n",
//!     ..Run::default()
//! });
//! assert_eq!(verdict.kind, Kind::Failed);
//! assert_eq!(verdict.runner, Some("jest"));
//! assert_eq!(verdict.counts.passed, 3);
//! ```

mod command;
mod failing_line;
mod judge;
mod kind;
mod output;
mod runners;

pub use command::test_folders;
pub use judge::{Run, judge};
pub use kind::{Counts, Kind, Verdict};
