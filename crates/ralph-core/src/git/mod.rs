//! Git: status, snapshots of the whole work tree, checkpoints, rollback and undo.
//!
//! A rollback never loses anything: what it removes is saved first, and undo lays it over the tree
//! again.
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
//! | file | what lives there |
//! | --- | --- |
//! | `command` | the only git spawner |
//! | `run`, `error` | one call run to its end; why it gave no answer |
//! | `commit` | a commit with the user's own git hooks |
//! | `paths`, `objects` | names as git reads them; what git keeps, read in one go |
//! | `repo` | a work tree: where it is, and whether it may be touched |
//! | `status` | what differs from HEAD, on disk and in the index |
//! | `diff` | what differs between two trees |
//! | `refs` | the names of our refs |
//! | `prepared_ref` | a ref that is locked until something else has worked |
//! | `files` | files on disk: looked at, written and removed one by one |
//! | `snapshot`, `import` | the tree saved as a commit, and read back; how it is written |
//! | `checkpoint` | where an attempt began |
//! | `changed` | what differs from a checkpoint |
//! | `restore` | the return to a saved state: save, note, HEAD, files, index, removals |
//! | `rollback` | back to the checkpoint, and what that discarded |
//! | `undo` | what an attempt had changed, laid over the tree again |

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
