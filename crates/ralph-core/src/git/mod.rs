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

mod access;
mod as_they_were;
mod blobs;
mod brought;
mod changed;
mod checkpoint;
mod clean;
mod command;
mod commit;
mod contents;
mod dead_locks;
mod diff;
mod draft;
mod flags;
mod found_again;
mod head;
mod hidden;
mod hooks;
mod ignore;
mod import;
mod index;
mod index_flags;
mod inventory;
mod just_committed;
mod kept_files;
mod ledger;
mod looks;
mod moved;
mod nested;
mod on_disk;
mod outputs;
mod own_rules;
mod position;
mod repo;
mod restore;
mod restore_note;
mod retry;
mod rollback;
mod settings;
mod sighting;
mod snapshot;
mod staged;
mod stamp;
mod stash;
mod status;
mod taken_out;
mod target;
mod uncovered;
mod undo;
mod unreturned;
mod worktree;

pub use access::{OpenedFolders, open_to_read};
pub use changed::changed_since;
pub(crate) use changed::unchanged_since;
pub use checkpoint::{Checkpoint, CheckpointError};
pub use command::{Git, GitError};
pub(crate) use commit::Watch;
pub use commit::{end_orphaned_commit, is_commit_orphaned};
pub(crate) use contents::{content_now, contents_at};
pub use dead_locks::{is_held, locks, remove_dead_locks, wait_for_locks};
pub use draft::keep_draft;
pub use found_again::Beginning;
pub use hidden::may_have_new_rules;
pub(crate) use hidden::{are_rules_changed, hidden_since};
pub use index::unstage_all;
pub use just_committed::JustCommitted;
pub use kept_files::{Fate, KeptFiles};
pub use ledger::{PutBack, forget_removed, put_back_removed};
pub use looks::Looks;
pub use nested::Inner;
pub use position::Position;
pub use repo::{Repo, RepoError};
pub use restore::{RestoreError, Restored, SaveAs, restore};
pub use restore_note::interrupted;
pub(crate) use retry::retried;
pub use rollback::{
    Discarded, RollbackError, changes_of, discarded, find, finish_interrupted, return_to, rollback,
    rollback_changes,
};
pub use settings::{Settings, SettingsChange};
pub use sighting::{HeadWatch, forget_sighting, last_sighting, note_head};
pub use snapshot::{LaidOver, Record, Snapshot, SnapshotError, saved_id};
pub use staged::stage_again;
pub use stash::{Stash, StashEntry};
pub use status::Status;
pub(crate) use taken_out::keep_taken_out;
pub use target::Target;
pub use uncovered::uncovered_without;
pub(crate) use uncovered::{cover_again, uncovered_since};
pub use undo::undo;
pub use unreturned::{Unreturned, keep_unreturned, unreturned};
