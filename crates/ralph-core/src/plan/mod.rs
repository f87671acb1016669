//! Plans: choosing the next story, and ticking it without changing any other byte.
//!
//! One interface for Markdown plans of several shapes, `feature_list.json`, `prd.json` and
//! Task Master's `tasks.json`. A [`Plan`] owns the bytes of its file and the stories found in them;
//! every change returns new bytes, and the caller writes them. `docs/plans.md` is the user guide.
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
//! | file | contents |
//! | --- | --- |
//! | `story.rs`, `error.rs` | a parsed plan; parse errors |
//! | `parse.rs` | format detection, and the checks that all formats share |
//! | `syntax.rs`, `checkbox.rs` | a single line of Markdown; a checkbox |
//! | `blocks.rs`, `text.rs`, `outline.rs` | the blocks of a file; their text; kinds of sections |
//! | `markdown.rs`, `heading.rs`, `list.rs` | Markdown stories, as headings and as list items |
//! | `json.rs` | JSON plans, read and changed in place |
//! | `spec_tools.rs` | the conventions of spec-kit, Kiro and OpenSpec |
//! | `ids.rs`, `depends.rs` | ids and dependencies |
//! | `select.rs`, `edit.rs` | choosing the next story; ticking, blocking and reopening |
//! | `agents_plan.rs`, `added.rs` | an agent's changes to its copy of the plan; its new stories |
//! | `issue.rs` | an issue converted to a story |
//! | `planned.rs` | the changes that a planning run may make |
//! | `find.rs` | choosing the plan among several files |

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
