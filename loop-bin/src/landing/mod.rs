//! How checked work gets onto its branch: one commit a story, by compare-and-swap, and the project's
//! checkout follows if that overwrites nothing.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `refs.rs` | what git says of branches and commits |
//! | `target.rs` | which branch it is, and where work waits that cannot follow |
//! | `waiting.rs` | what waits there, why, and how the user takes it |
//! | `message.rs` | what the commit says |
//! | `commit.rs` | the commit itself, with the user's git hooks |
//! | `loop_files.rs` | plan and progress, in a commit and in the user's own text |
//! | `follow.rs` | the project's checkout, brought along with its branch |
//! | `checkout.rs` | one such move: what is in its way, the index, the files, and a note about it |
//! | `index_lock.rs` | git's lock on the project's index, marked as ours |

mod checkout;
mod commit;
mod follow;
mod index_lock;
mod loop_files;
mod message;
mod refs;
mod target;
mod waiting;

pub(crate) use commit::{Made, Refusal, commit, commit_tree, verify};
pub(crate) use follow::{finish_interrupted, is_interrupted};
pub(crate) use loop_files::{Change, LoopFile, Mark, PlanChanges, marks_of};
pub(crate) use message::{Story, UNCHECKED, message};
pub(crate) use refs::{Look, forget, is_ancestor, resolve};
pub(crate) use target::Target;
pub(crate) use waiting::{Advance, Waiting};
