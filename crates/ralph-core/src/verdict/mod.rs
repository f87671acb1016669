//! Decides whether a command ran tests, and whether they passed.
//!
//! Three steps: what was run (the parsed command, looked up in the table of runners), how it ended
//! (the exit code, if it is that command's), and what was printed (the runner's summary). Summaries
//! are read by their common words and formats, so that unlisted runners are understood as well.
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
