//! Plans: which story is next, and how is it ticked without touching another byte?

mod blocks;
mod depends;
mod edit;
mod feature_list;
mod find;
mod heading;
mod ids;
mod json;
mod lines;
mod list;
mod loop_progress;
mod markdown;
mod merge;
mod parse;
mod prd;
pub mod progress;
mod repair;
mod select;
mod story;
mod syntax;

pub use edit::UnknownStory;
pub use find::{Candidate, FindError, find, load, read_file};
pub use ids::is_safe_id;
pub use loop_progress::{LoopField, LoopProgress};
pub use parse::{Error, MAX_PLAN_BYTES, Problem};
pub use repair::{Finding, Repaired, repair};
pub use select::Next;
pub use story::{Counts, Format, Options, Plan, State, Story, Warning};

#[cfg(test)]
mod fixture_tests;
#[cfg(test)]
mod tests;
