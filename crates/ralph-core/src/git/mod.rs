//! Git: status, snapshots of the whole work tree, checkpoints, rollback and undo.
//!
//! A rollback never loses anything: files are saved before they are removed, and undo restores
//! them.
//!
//! ```
//! use ralph_core::git::{Checkpoint, Repo, rollback, undo};
//! use ralph_base::state::StateDir;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let test = test_support::TestRepo::new();
//! # let project = test.root();
//! let repo = Repo::open(project)?;
//! let state = StateDir::of_project(project);
//! Checkpoint::create(&repo, &state, "before the attempt")?;
//!
//! # fs_err::write(project.join("a.txt"), "broken")?;
//! let rolled_back = rollback(&repo, &state, None, "2 tests failed")?;
//! # assert_eq!(fs_err::read_to_string(project.join("a.txt"))?, "a\n");
//! assert!(rolled_back.saved.name.starts_with("refs/ralph/discarded/"));
//!
//! undo(&repo, &state, &rolled_back.saved.name)?;
//! # assert_eq!(fs_err::read_to_string(project.join("a.txt"))?, "broken");
//! # Ok(())
//! # }
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `command` | the only code that starts git |
//! | `run`, `error` | running one call to completion, also a commit with the user's hooks; errors |
//! | `objects` | git objects, read in one go |
//! | `repo` | a work tree: its location, and whether it may be changed |
//! | `status` | differences between HEAD, index and disk |
//! | `diff` | differences between two trees; paths in git's output |
//! | `prepared_ref` | a ref that stays locked until another operation has succeeded |
//! | `files` | files on disk: inspected, written and removed one by one |
//! | `snapshot`, `import` | the tree saved as a commit, and loaded; the stream that writes it |
//! | `checkpoint` | the state at the start of an attempt |
//! | `changed` | differences from a saved state |
//! | `restore` | the return to a saved state: save, note, HEAD, files, index, removals |
//! | `rollback` | the return to the checkpoint; discarded attempts |
//! | `undo` | a discarded attempt's changes, restored |
//!
//! # How a rollback loses nothing
//!
//! The loop discards an attempt by keeping it as a ref and resetting the copy.
//! A hook may roll back before that, in the copy or in the tree of another loop, and an
//! embedder may do so anywhere; this is what the core does then.
//!
//! A *snapshot* is a commit under `refs/ralph/`, written by one `git fast-import` that touches
//! neither index nor HEAD nor files, and then read back.
//! Its tree is HEAD's tree with every changed and new file laid over it, byte for byte as on disk.
//! Its first parent is HEAD, its last one a commit of the index.
//! What a tree cannot hold (branch, exact file modes, the loop's run) stands in its message.
//!
//! A *rollback* returns to the checkpoint's snapshot:
//!
//! 1. Take a snapshot of everything that could be overwritten or removed.
//! 2. Leave a note in the git folder, so that an interrupted rollback is finished by the next one.
//! 3. Move HEAD, unless another process was faster; then change files and index.
//! 4. Remove files that the target does not have: only those that were saved, and that its own
//!    ignore rules do not hide.
//!
//! An *undo* lays what the attempt had changed over the tree, as files; HEAD and index stay.
//! It needs no snapshot: a file that is neither as the rollback left it nor as the attempt had
//! it is a conflict, and nothing is changed.
//! Ignored files and repositories inside are never touched.
//! While a rebase, merge, cherry-pick, revert or bisect is under way, a rollback is refused.
//! What a hook discarded in the copy is brought into the project, under a name of its own,
//! before the copy gets another repository.

mod changed;
mod checkpoint;
mod command;
mod diff;
mod error;
mod files;
mod import;
mod objects;
mod prepared_ref;
mod repo;
mod restore;
mod rollback;
mod run;
mod snapshot;
mod status;
mod undo;

pub use changed::changed_since;
pub use checkpoint::Checkpoint;
pub use command::{Git, Patience};
pub use error::{GitError, SnapshotError};
pub use objects::{content_now, contents_at};
pub use repo::{Repo, RepoError};
pub use rollback::{Discarded, discarded, rollback, rollback_changes};
pub use snapshot::{Snapshot, saved_id};
pub use status::Status;
pub use undo::{changes_of, undo};
