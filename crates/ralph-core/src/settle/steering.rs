//! What steers a run and those after it, in one number: our settings and the client's in the project,
//! the lifecycle scripts, our own ignore rules, and the plans besides the one that is worked on.
//!
//! The loop holds its settings in memory and puts the files back after its agent; a hook in the
//! agent's session reads them from disk. The loop tells its agent's hooks the number that it began
//! with, so that no hook settles a story by settings that the agent has changed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;

use camino::Utf8Path;

use crate::install::Place;
use crate::state::{StateDir, is_same_file};

/// The number of what is there now, while this plan is worked on. What is absent counts as well: a file that is made is a change.
///
/// ```
/// use ralph_core::settle::steering_fingerprint;
/// use ralph_core::state::StateDir;
///
/// let scratch = test_support::Scratch::new();
/// let state = StateDir::of_project(scratch.root());
/// let before = steering_fingerprint(&state, &state.plan(1));
/// scratch.file(".ralph/config.toml", "[verify]\ncommands = []\n");
/// assert_ne!(steering_fingerprint(&state, &state.plan(1)), before);
/// ```
pub fn steering_fingerprint(state: &StateDir, plan: &Utf8Path) -> String {
    let mut hasher = DefaultHasher::new();
    let others = state.plans().into_iter().filter(|other| !is_same_file(other, plan));
    let root = state.root().parent().unwrap_or(Utf8Path::new("."));
    let clients = [Place::project(root).settings, Place::project_local(root).settings];
    let ours = [state.config(), state.ignore_file(), state.lifecycle()];
    for path in others.chain(clients).chain(ours) {
        add(&path, &mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

fn add(path: &Utf8Path, hasher: &mut DefaultHasher) {
    let Ok(metadata) = fs_err::symlink_metadata(path) else { return };
    (path.as_str(), metadata.permissions().mode()).hash(hasher);
    if metadata.is_dir() {
        let mut entries: Vec<_> = path.read_dir_utf8().into_iter().flatten().flatten().collect();
        entries.sort_by(|one, other| one.path().cmp(other.path()));
        entries.iter().for_each(|entry| add(entry.path(), hasher));
    } else if path.is_file() {
        // A link counts as what it leads to; a pipe would never end.
        fs_err::read(path).ok().hash(hasher);
    }
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn every_change_of_settings_and_scripts_counts_and_nothing_else_does() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        scratch.file(".ralph/config.toml", "[verify]\ncommands = [\"false\"]\n");
        let script = scratch.script(".ralph/hooks/custom/notify", "#!/bin/sh\n");
        let fingerprint = || steering_fingerprint(&state, &state.plan(1));
        let mut last = fingerprint();
        scratch.file(".ralph/PRD-1/plan.md", "- [ ] A-1: a\n");
        scratch.file(".ralph/PRD-1/progress.md", "a\n");
        assert_eq!(fingerprint(), last);
        let mut is_new = |what: &str| {
            let now = fingerprint();
            assert_ne!(std::mem::replace(&mut last, now.clone()), now, "{what}");
        };
        scratch.file(".ralph/config.toml", "[verify]\ncommands = []\n");
        is_new("the settings");
        scratch.script(".ralph/hooks/post_iteration", "#!/bin/sh\n");
        is_new("another script");
        scratch.file(".ralph/PRD-2/plan.md", "- [ ] B-1: b\n");
        is_new("another plan");
        scratch.file(".ralph/PRD-2/plan.md", "- [x] B-1: b\n");
        is_new("a tick in another plan");
        fs_err::set_permissions(&script, std::fs::Permissions::from_mode(0o600)).unwrap();
        is_new("a script's mode");
        scratch.file(".claude/settings.json", "{}\n");
        is_new("the client's settings");
        fs_err::remove_file(state.config()).unwrap();
        is_new("no settings");
    }
}
