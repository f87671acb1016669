//! Git: status, snapshots of the whole work tree, checkpoints, rollback and undo.
//!
//! A rollback never loses anything: what it removes is saved first, and undo is a rollback of the
//! rollback.
//!
//! ```
//! use ralph_core::git::{Checkpoint, Repo, rollback, undo};
//! use ralph_core::state::StateDir;
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
//! | `paths`, `processes` | names as git reads them; who else is at work |
//! | `dead_locks` | locks that a killed git left behind |
//! | `repo` | a work tree: where it is, and whether it may be touched |
//! | `status`, `staged` | what differs from HEAD, on disk and in the index |
//! | `objects`, `contents` | what git keeps, read in one go; whole files, as they were and as they are |
//! | `refs` | the names of our refs |
//! | `snapshot/` | the tree saved as a commit, written through, and read back |
//! | `checkpoint` | where an attempt began |
//! | `restore/` | a saved state comes back: save, note, HEAD, files, index, removals |
//! | `rollback` | back to the checkpoint; the list of what that discarded |
//! | `brought`, `undo` | what an attempt had changed; how it comes back |

mod brought;
mod checkpoint;
mod command;
mod commit;
mod contents;
mod dead_locks;
mod error;
mod objects;
mod paths;
mod processes;
mod refs;
mod repo;
mod restore;
mod rollback;
mod run;
mod snapshot;
mod staged;
mod status;
mod undo;

pub use checkpoint::{Checkpoint, CheckpointError};
pub use command::{Git, Patience};
pub(crate) use contents::{content_now, contents_at};
pub use dead_locks::{is_held, locks, remove_dead_locks};
pub use error::GitError;
pub use refs::saved_id;
pub use repo::{Repo, RepoError};
pub use restore::changed::changed_since;
pub use restore::procedure::{RestoreError, Restored};
pub use rollback::{
    Discarded, RollbackError, changes_of, discarded, find, finish_interrupted, rollback,
    rollback_changes,
};
pub use snapshot::error::SnapshotError;
pub use snapshot::take::Snapshot;
pub use snapshot::target::Target;
pub use status::{Position, Status};
pub use undo::undo;
