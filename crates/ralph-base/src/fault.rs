//! Fault injection: `cargo xtask torture` kills our own processes at every change of state and
//! makes writes fail, to prove that nothing is lost.
//!
//! Nothing happens unless `RALPH_INTERNAL__FAULT` is set: `<point>` or `<point>:<n>` kills the
//! process when it reaches that point for the n-th time; `write:<n>` makes the n-th write of state
//! fail as on a full disk, and `writes:<n>` that one and all after it; `start:<n>` makes the n-th start of
//! an agent fail as on a machine without room for another process. Without the variable, a
//! point costs one read of a cached value.

use std::io;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::env::Env;

const VARIABLE: &str = "RALPH_INTERNAL__FAULT";

/// All points at which a process can be killed, separated by spaces; each is used exactly once.
pub const POINTS: &str = "\
    append.written attempt.begun attempt.forgotten checkpoint.saved discard.kept \
    discard.logged discard.saved follow.files follow.index follow.locked follow.moved \
    follow.noted follow.prepared follow.texts land.advanced land.committed land.journaled \
    land.kept land.logged lock.taken loop.agent-ended loop.finishing loop.step-saved loop.taken-over \
    replace.renamed replace.written restore.checked-out restore.files-removed \
    restore.files-written restore.head-moved restore.index-written restore.note-left \
    restore.note-removed restore.saved workspace.renewed \
    workspace.reset";

/// The requested fault.
struct Fault {
    name: String,
    left: AtomicU32,
}

static FAULT: LazyLock<Option<Fault>> =
    LazyLock::new(|| Some(parse(&Env::process().get(VARIABLE)?)));

fn parse(text: &str) -> Fault {
    let (name, count) = match text.rsplit_once(':') {
        Some((name, count)) => (name, count.parse().unwrap_or(1)),
        None => (text, 1),
    };
    Fault { name: name.to_owned(), left: AtomicU32::new(count) }
}

impl Fault {
    /// Counts down and returns the count before that; `None` if another fault was requested.
    fn count(&self, name: &str) -> Option<u32> {
        let less = |left: u32| left.checked_sub(1);
        let count = || self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        (self.name == name).then(|| count().unwrap_or_default())
    }
}

/// Marks a point where state has just changed or is about to, and may kill the process there.
pub fn point(name: &'static str) {
    if let Some(1) = FAULT.as_ref().and_then(|fault| fault.count(name)) {
        die();
    }
}

/// Marks a write of state; fails if that fault was requested.
pub(crate) fn write() -> io::Result<()> {
    let Some(fault) = FAULT.as_ref() else { return Ok(()) };
    let once = fault.count("write") == Some(1);
    let from_now_on = fault.count("writes").is_some_and(|left| left <= 1);
    let full = io::ErrorKind::StorageFull;
    if once || from_now_on { Err(io::Error::new(full, "made to fail on purpose")) } else { Ok(()) }
}

/// Marks the start of an agent; fails if that fault was requested.
pub fn start() -> io::Result<()> {
    let is_due = FAULT.as_ref().and_then(|fault| fault.count("start")) == Some(1);
    let full = io::Error::new(io::ErrorKind::WouldBlock, "made to fail on purpose");
    if is_due { Err(full) } else { Ok(()) }
}

/// Sends SIGKILL to this process through the shell: an `abort` leaves different traces, and the
/// standard library cannot send a signal.
#[expect(clippy::disallowed_methods, reason = "only ever reached by our own fault campaign")]
fn die() {
    let _ = std::process::Command::new("sh").args(["-c", "kill -KILL $PPID"]).status();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str, name: &str) -> Vec<Option<u32>> {
        let fault = parse(text);
        (0..3).map(|_| fault.count(name)).collect()
    }

    #[test]
    fn occurrences_of_a_fault_point_are_counted_down() {
        assert_eq!(counted("lock.taken", "lock.taken"), [Some(1), Some(0), Some(0)]);
        assert_eq!(counted("lock.taken:2", "lock.taken"), [Some(2), Some(1), Some(0)]);
        assert_eq!(counted("lock.taken:x", "lock.taken"), [Some(1), Some(0), Some(0)]);
        assert_eq!(counted("lock.taken:2", "write"), [None, None, None]);
    }

    #[test]
    fn points_are_sorted_and_unique() {
        assert!(POINTS.split(' ').is_sorted_by(|one, other| one < other));
    }
}
