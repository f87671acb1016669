//! What lifecycle scripts change between two stories: it becomes part of the next checkpoint, and
//! of the next commit. Where a crash comes before that, the next start goes on with it.
//!
//! What somebody else changed after the crash is told from it by the time of a file's last change,
//! which nobody can set by hand.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long a script that is ended, or whatever comes until the next checkpoint, may take.
const SLACK: i64 = 5;

/// When files were changed that are the run's own, though nothing has committed them: unix seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Scripted {
    since: i64,
    /// None if a script may take as long as it likes.
    until: Option<i64>,
    /// Whether an iteration was counted that has not begun.
    pub(crate) is_before_iteration: bool,
}

impl Scripted {
    /// A script begins now, perhaps after others since the last story.
    pub(crate) fn begun(name: &str, last: Option<Self>, now: i64, limit: Option<Duration>) -> Self {
        let limit = limit.map(|limit| i64::try_from(limit.as_secs()).unwrap_or(i64::MAX));
        Self {
            since: last.map_or(now, |last| last.since),
            until: limit.map(|limit| now.saturating_add(limit).saturating_add(SLACK)),
            is_before_iteration: name == "next_iteration",
        }
    }

    /// All that is there now is the run's own: its checkpoint was returned to just now.
    pub(crate) fn until_now(now: i64) -> Self {
        Self { since: i64::MIN, until: Some(now.saturating_add(SLACK)), is_before_iteration: false }
    }

    /// Whether all of these files, relative to `top`, were changed then.
    pub(crate) fn covers(&self, top: &Path, files: &[PathBuf]) -> bool {
        files.iter().all(|file| last_change(&top.join(file)).is_some_and(|at| self.is_then(at)))
    }

    fn is_then(&self, at: i64) -> bool {
        at >= self.since && self.until.is_none_or(|until| at <= until)
    }
}

/// Of a file that is gone, the folder tells.
fn last_change(path: &Path) -> Option<i64> {
    path.ancestors().find_map(|path| Some(fs_err::symlink_metadata(path).ok()?.ctime()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(scripted: Scripted, at: i64, expected: bool) {
        assert_eq!(scripted.is_then(at), expected, "{scripted:?} {at}");
    }

    #[test]
    fn what_was_changed_from_the_first_script_to_the_end_of_the_last_is_theirs() {
        let first = Scripted::begun("post_iteration", None, 100, Some(Duration::from_secs(30)));
        check(first, 99, false);
        check(first, 100, true);
        check(first, 135, true);
        check(first, 136, false);
        let both =
            Scripted::begun("next_iteration", Some(first), 120, Some(Duration::from_secs(30)));
        check(both, 100, true);
        check(both, 155, true);
        check(both, 156, false);
        assert!(both.is_before_iteration && !first.is_before_iteration);
        check(Scripted::begun("started", None, 100, None), i64::MAX, true);
        check(Scripted::until_now(100), 0, true);
        check(Scripted::until_now(100), 200, false);
    }
}
