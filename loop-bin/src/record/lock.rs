//! Who works in the project: at most one process, which holds the lock.

use camino::Utf8Path;
use jiff::Timestamp;
use ralph_base::state::{Held, Lock, LockError, RunDir};

use crate::exit::Failure;

/// Returns a name that sorts by time and is unique on this machine.
pub(crate) fn run_name() -> String {
    format!("{}-{}", Timestamp::now().strftime("%Y%m%d-%H%M%S"), std::process::id())
}

/// Takes the project's lock, or reports its holder.
pub(crate) fn take_lock(run_dir: &RunDir, doing: &str) -> Result<Lock, Failure> {
    take(&run_dir.lock(), doing)
}

/// Takes a lock, or reports its holder.
pub(crate) fn take(lock: &Utf8Path, doing: &str) -> Result<Lock, Failure> {
    match Lock::take(lock, doing) {
        Ok(lock) => Ok(lock),
        Err(LockError::Held(held)) => Err(Failure::Locked(held_by(&held).into())),
        Err(error) => Err(error.into()),
    }
}

/// The process that holds the project, if any.
pub(crate) fn holder(run_dir: &RunDir) -> Option<Held> {
    Lock::holder(&run_dir.lock()).or_else(|| Lock::holder(&run_dir.requests_lock()))
}

/// Names that process, and says what to do.
pub(crate) fn held_by(held: &Held) -> String {
    let who = held.by.as_ref().map(|by| format!(" (process {})", by.pid)).unwrap_or_default();
    format!(
        "another ralph-loop{who} is running in this project; wait for it to finish, or end it \
         with `ralph-loop stop` (after its story) or `ralph-loop stop --now`"
    )
}
