//! Lands finished stories: one commit per story goes to a branch of the loop by compare-and-swap,
//! then the user's branch and files follow if nothing is overwritten. Callers need no ref names.
//!
//! | file | contents |
//! | --- | --- |
//! | `local.rs` | the board of this repository: the target branch and where the work currently is |
//! | `cause.rs` | the outcome of a landing, and why work waits |
//! | `waiting.rs` | work that waits, and how the user can take it |
//! | `follow.rs` | the order in which files, index and branch are updated, and crash recovery |
//! | `step.rs` | a single such update: obstacles, the index, the files |
//! | `checkout.rs` | the project's checkout: git operations in progress, the note, undo |
//! | `index_lock.rs` | git's lock on the project's index, marked as ours |
//! | `loop_files.rs` | changes to plan and progress, in a commit and in the user's own files |
//! | `books.rs` | the plan, progress and lessons of a run, and what a commit changes in them |
//! | `saved.rs` | attempts, saved as commits |
//! | `commit.rs`, `message.rs` | the commit itself, with the user's git hooks, and its message |
//! | `refs.rs` | queries about branches and commits |
//! | `notes.rs` | notes about landed commits |

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
mod notes;
mod refs;
pub mod saved;
mod step;
#[cfg(test)]
mod test_case;
mod waiting;

pub use books::{Books, progress_path};
pub use cause::Advance;
pub use commit::{
    NewCommit, Refusal, commit, commit_plainly, commit_tree, made_again, trouble_with_signing,
    verify,
};
pub use follow::{finish_interrupted, is_interrupted};
pub use local::{Board, Tip};
pub use loop_files::{LoopFile, Mark, PlanChanges, PlanFiles};
pub use message::{Story, lints_commits, message};
pub use notes::{NOTES, Note, move_refs, note_of, noted, push_notes};
pub use refs::{forget, is_ancestor, resolve};
pub use waiting::Waiting;
