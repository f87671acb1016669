//! The board takes what is done: one commit a story lands on a branch of ours, by compare-and-swap, and the
//! user's branch and files follow if that overwrites nothing. Callers know no names of refs.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `local.rs` | the board of this repository: where work lands, and where it is now |
//! | `cause.rs` | what became of a landing, and why work waits |
//! | `waiting.rs` | what waits, and how the user takes it |
//! | `follow.rs` | the order in which branch, index and files follow, and what a crash leaves |
//! | `step.rs` | one such step: what is in its way, the index, the files |
//! | `checkout.rs` | the project's checkout: what is at work there, notes and undo |
//! | `index_lock.rs` | git's lock on the project's index, marked as ours |
//! | `loop_files.rs` | plan and progress, in a commit and in the user's own text |
//! | `books.rs`, `loop_files.rs` | what the plan of a run says now, and what a commit changes in plan, progress and lessons |
//! | `saved.rs` | attempts, kept as commits |
//! | `commit.rs`, `message.rs` | the commit itself, with the user's git hooks, and what it says |
//! | `refs.rs` | what git says of branches and commits |

mod books;
mod cause;
mod checkout;
mod commit;
mod follow;
#[cfg(test)]
mod follow_tests;
mod index_lock;
#[cfg(test)]
mod land_tests;
mod local;
mod loop_files;
mod message;
mod refs;
pub mod saved;
mod step;
#[cfg(test)]
mod test_case;
mod waiting;

pub use books::{Books, progress_path};
pub use cause::Advance;
pub use commit::{Made, Refusal, commit, commit_plainly, commit_tree, signed, verify};
pub use follow::{finish_interrupted, is_interrupted};
pub use local::{Board, Tip};
pub use loop_files::{LoopFile, Mark, PlanChanges, PlanFiles};
pub use message::{Story, UNCHECKED, lints_commits, message};
pub use refs::{forget, is_ancestor, resolve};
pub use waiting::Waiting;
