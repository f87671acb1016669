//! The plan as it was when a run was last alive: what was written into it afterwards was not written
//! while its agent was watched.
//!
//! The note is written only when the plan changes while an agent is at work, so that most iterations
//! write none. It tells the file's times and size, not what is in it.

use std::os::unix::fs::MetadataExt;

use camino::{Utf8Path, Utf8PathBuf};

use crate::state::{self, StateDir};

/// Looks after the plan while the agent of a run is at work.
#[derive(Debug)]
pub struct PlanWatch {
    plan: Utf8PathBuf,
    note: Utf8PathBuf,
    seen: Option<String>,
}

impl PlanWatch {
    /// Begins to look after it.
    pub fn begin(state: &StateDir, plan: &Utf8Path) -> Self {
        let note = state.plan_seen();
        // A note of an earlier attempt tells of times that are over.
        let _ = state::remove_if_there(&note);
        Self { plan: plan.to_owned(), note, seen: stamp(plan) }
    }

    /// Notes how the plan is, if it changed.
    pub fn look(&mut self) {
        let now = stamp(&self.plan);
        if now == self.seen {
            return;
        }
        // Without the note a change counts as made afterwards, and then its text is kept. Of a plan
        // that is gone nothing is noted: the whole folder may be about to go.
        let _ = match &now {
            Some(text) => state::replace_unsynced(&self.note, text.as_bytes()),
            None => state::remove_if_there(&self.note),
        };
        self.seen = now;
    }
}

/// Whether the plan changed while an agent was at work, and is still as it was then.
pub(super) fn is_as_seen(state: &StateDir, plan: &Utf8Path) -> bool {
    let noted = fs_err::read_to_string(state.plan_seen()).ok();
    noted.is_some() && noted == stamp(plan)
}

fn stamp(plan: &Utf8Path) -> Option<String> {
    let now = fs_err::metadata(plan).ok()?;
    let (written, changed) = ((now.mtime(), now.mtime_nsec()), (now.ctime(), now.ctime_nsec()));
    Some(format!("{written:?} {changed:?} {} {}\n", now.ino(), now.size()))
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn a_change_is_seen_until_the_next_one() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        let plan = scratch.file("plan.md", "old");
        let mut watch = PlanWatch::begin(&state, &plan);
        watch.look();
        assert!(!is_as_seen(&state, &plan), "nothing changed");
        scratch.file("plan.md", "of the agent");
        watch.look();
        assert!(is_as_seen(&state, &plan));
        scratch.file("plan.md", "of somebody else");
        assert!(!is_as_seen(&state, &plan));
        fs_err::remove_file(&plan).unwrap();
        watch.look();
        assert!(!is_as_seen(&state, &plan) && !state.plan_seen().exists());
        PlanWatch::begin(&state, &plan);
        assert!(!is_as_seen(&state, &plan));
    }
}
