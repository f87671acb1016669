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

mod blobs;
mod checkpoint;
mod command;
mod commit;
mod contents;
mod dead_locks;
mod found_again;
mod head;
mod hooks;
mod ignore;
mod just_committed;
mod looks;
mod outputs;
mod position;
mod repo;
mod restore;
mod retry;
mod rollback;
mod settings;
mod sighting;
mod snapshot;
mod stamp;
mod stash;
mod status;
mod undo;

pub use checkpoint::{Checkpoint, CheckpointError};
pub use command::{Git, GitError};
pub(crate) use commit::Watch;
pub use commit::{end_orphaned_commit, is_commit_orphaned};
pub(crate) use contents::{content_now, contents_at};
pub use dead_locks::{is_held, locks, remove_dead_locks, wait_for_locks};
pub use found_again::Beginning;
pub use ignore::hidden::may_have_new_rules;
pub(crate) use ignore::hidden::{are_rules_changed, hidden_since};
pub use ignore::uncovered::uncovered_without;
pub(crate) use ignore::uncovered::{cover_again, uncovered_since};
pub use just_committed::JustCommitted;
pub use looks::Looks;
pub use position::Position;
pub use repo::{Repo, RepoError};
pub use restore::changed::changed_since;
pub(crate) use restore::changed::unchanged_since;
pub use restore::nested::Inner;
pub use restore::note::interrupted;
pub use restore::procedure::{RestoreError, Restored, SaveAs, restore};
pub use restore::staged::stage_again;
pub(crate) use retry::retried;
pub use rollback::{
    Discarded, RollbackError, changes_of, discarded, find, finish_interrupted, return_to, rollback,
    rollback_changes,
};
pub use settings::{Settings, SettingsChange};
pub use sighting::{HeadWatch, forget_sighting, last_sighting, note_head};
pub use snapshot::access::{OpenedFolders, open_to_read};
pub use snapshot::index::unstage_all;
pub use snapshot::ledger::{PutBack, forget_removed, put_back_removed};
pub use snapshot::take::{LaidOver, Record, Snapshot, SnapshotError, saved_id};
pub use snapshot::target::Target;
pub use stash::{Stash, StashEntry};
pub use status::Status;
pub use undo::bring_back::undo;
pub use undo::draft::keep_draft;
pub use undo::kept_files::{Fate, KeptFiles};
pub(crate) use undo::safe_copy::SafeCopy;
pub(crate) use undo::taken_out::keep_taken_out;
pub use undo::unreturned::{Unreturned, keep_unreturned, unreturned};
