//! State on disk: the path of each file, and the only functions that write the files.
//!
//! ```
//! use ralph_base::state::{Event, Id, Journal, StateDir};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("ralph-doc-{}", std::process::id()));
//! # let folder = camino::Utf8PathBuf::from_path_buf(folder).unwrap();
//! let state = StateDir::of_project(&folder);
//! let session = Id::parse("2f34ec4b-e866-4eb9-9c21-1d11a42caab5")?;
//! assert!(state.session(&session).reads().ends_with("session.log"));
//! assert!(Id::parse("../../etc").is_err());
//!
//! let journal = Journal::new(&state, "my-tool");
//! journal.append(&Event::StoryDone { scale: None })?;
//! assert_eq!(journal.tail(1)?.first().unwrap().source, "my-tool");
//! # std::fs::remove_dir_all(folder)?;
//! # Ok(())
//! # }
//! ```

/// Defines methods that return the path of one file each: `name: folder / "file";`.
macro_rules! paths {
    ($($(#[$doc:meta])* $name:ident: $folder:ident / $file:expr;)*) => {
        $($(#[$doc])* pub fn $name(&self) -> camino::Utf8PathBuf { crate::state::below(&self.$folder, $file) })*
    };
}

/// Joins a folder and a name with one allocation and without inlining: hooks build dozens of paths.
#[inline(never)]
pub(crate) fn below(folder: &camino::Utf8Path, name: &str) -> camino::Utf8PathBuf {
    let folder = folder.as_str();
    let mut path = String::with_capacity(folder.len() + 1 + name.len());
    path.push_str(folder);
    if !folder.is_empty() && !folder.ends_with('/') {
        path.push('/');
    }
    path.push_str(name);
    path.into()
}

mod dir;
mod event;
mod id;
mod journal;
mod last_verdict;
mod lock;
mod place;
mod read;
mod run_dir;
mod scale;
mod session_dir;
mod story_key;
mod write;

pub use dir::{
    CLIENT_FOLDER, FOREIGN_LIFECYCLE_DIR, PROJECT_MARKER, StateDir, UNTOUCHED, belongs_to_a_plan,
    is_in_use,
};
pub use event::{Event, HookFailure, Record, StopFacts};
pub use id::{BadId, Id};
pub use journal::{Echo, Journal, Marks, name_of_worker, now, run_and_worker, stamp};
pub use last_verdict::LastVerdict;
pub use lock::{Held, Holder, Lock, LockError};
pub use place::{OnTheWay, beneath, names};
pub use read::{
    Tail, open_regular, read, read_at_most, read_beneath, read_if_there, read_record, read_text,
    tail,
};
pub use run_dir::{RESTORE_NOTE, RunDir};
pub use scale::Scale;
pub use session_dir::{LoopDir, SessionDir};
pub use story_key::{StoryKey, TASK_MASTER, current_tag, fingerprint, keep_tag, plan_name};
pub use write::{
    Cap, append_capped, append_line, drain, edit_users, keep_content_as_found, leads_elsewhere,
    make_private, open_log, remove_beginning, remove_if_there, remove_stale_temporaries, replace,
    replace_unsynced, replace_users,
};
