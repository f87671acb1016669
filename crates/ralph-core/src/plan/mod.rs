//! Plans: which story is next, and how is it ticked without touching another byte?
//!
//! One interface for Markdown plans of several shapes, `feature_list.json`, `prd.json` and
//! Task Master's `tasks.json`. A
//! [`Plan`] owns the bytes of its file and the stories found in them; every change gives new bytes
//! and leaves writing them to the caller. What a user sees is described in `docs/plans.md`.
//!
//! ```
//! use ralph_core::plan::{Next, Options, Plan, State, agents_plan};
//! use std::collections::BTreeSet;
//!
//! let text = b"- [x] US-001: Model\r\n- [ ] US-002: View (depends: US-001)\r\n";
//! let plan = Plan::parse("plan.md".into(), text.to_vec(), &Options::default())?;
//! let Next::Story(story) = plan.next_story(&BTreeSet::new()) else { panic!("all done") };
//! assert_eq!((story.id.as_str(), story.title.as_str()), ("US-002", "View"));
//!
//! // The agent ticks its own story in its own file: that is its word, and the plan stays as it is.
//! let ticked = b"- [x] US-001: Model\r\n- [x] US-002: View (depends: US-001)\r\n";
//! let agents = agents_plan(&plan, Some(ticked), "US-002");
//! assert_eq!(agents.claimed, Some(State::Done));
//! assert_eq!(plan.with_added(&agents), text);
//!
//! // The checks have passed, so now it is ticked.
//! assert_eq!(plan.tick("us-002")?, ticked);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | what it knows |
//! | --- | --- |
//! | `story.rs`, `error.rs` | a plan that was read; why a plan cannot be read |
//! | `parse.rs` | which format it is, and the checks that all formats share |
//! | `syntax.rs`, `checkbox.rs` | a line of Markdown; a box |
//! | `blocks.rs`, `text.rs`, `outline.rs` | the lines together; their text; kinds of sections |
//! | `markdown.rs`, `heading.rs`, `list.rs` | Markdown stories, and the two shapes of them |
//! | `json.rs` | JSON plans, read and changed in place |
//! | `spec_tools.rs` | what spec-kit, Kiro and OpenSpec mean by their plans |
//! | `ids.rs`, `depends.rs` | ids and dependencies |
//! | `select.rs`, `edit.rs` | what is next; ticking, blocking and opening |
//! | `agents_plan.rs`, `added.rs` | what an agent did to its file of the plan; its new stories |
//! | `issue.rs` | an issue as a story |
//! | `planned.rs` | what planning may leave |
//! | `find.rs` | which of several files is the plan |

mod added;
mod agents_plan;
mod blocks;
mod checkbox;
mod depends;
mod edit;
mod error;
mod find;
mod heading;
mod ids;
mod issue;
mod json;
mod list;
mod markdown;
mod outline;
mod parse;
mod planned;
mod select;
mod spec_tools;
mod story;
mod syntax;
mod text;

pub use agents_plan::{AgentsPlan, agents_plan};
pub use error::{Error, MAX_PLAN_BYTES};
pub use find::{FindError, find, find_only, load, read_file};
pub use planned::{Planned, planned};
pub use select::Next;
pub use story::{Format, Options, Plan, State, Story, StoryCounts, Warning};

#[cfg(test)]
mod fixture_tests;
#[cfg(test)]
mod tests;
