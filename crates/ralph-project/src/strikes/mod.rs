//! What a failing test run means for the current attempt: continue, or roll back?
//!
//! ```
//! use ralph_project::strikes::{Circumstances, Outcome, decide};
//! use ralph_project::config::RollbackOn;
//!
//! let outcome = decide(&Circumstances {
//!     on: RollbackOn::Failure,
//!     after_failures: 3,
//!     failures_so_far: 1,
//!     ..Circumstances::default()
//! });
//! assert_eq!(outcome, Outcome::Strike { left: 1 });
//! ```

mod answer;
mod checkpoint;
mod decide;
mod failure_context;
mod lessons;
mod memory;
mod test_files;

pub use answer::{Done, answer, cause, with_cause};
pub use checkpoint::{Bound, checkpoint, note_commits};
pub use decide::{Circumstances, Outcome, decide};
pub use failure_context::{append_failures, clear_failure, last_failure, record_failure};
pub use lessons::{LESSONS_TITLE, LONGEST_LESSON, add_lesson, lessons};
pub use memory::{HookRollback, Memory};
pub use test_files::is_test_file;
