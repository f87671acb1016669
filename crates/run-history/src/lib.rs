//! The history of a project's runs: read from its journal and refs, and rendered as lines, JSON,
//! Markdown and HTML.
//!
//! [`RunHistory`] only changes through [`RunHistory::take`], whether the journal is read or the
//! loop appends to it. So `status`, the live view, the last lines of a run and its report agree.

pub mod failing;
mod forecast;
mod history;
mod lines;
mod needs;
mod report;
mod run;
pub mod saved;
mod stops;
mod tally;
pub mod words;

pub use forecast::{CostSum, Forecast};
pub use history::{REQUESTS, RunHistory};
pub use needs::{ASKS, BlockedStory, Needs, Review, Situation};
pub use report::Report;
pub use run::{Attempt, Check, LOOP, Run};
pub use saved::SavedAttempt;
pub use tally::{RunTally, Spent, StoryTally, Tally};
