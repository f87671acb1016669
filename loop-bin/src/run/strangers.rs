//! Files that steer the loop: settings, lifecycle scripts, prompt templates, the lessons that go into
//! every prompt, and plans that would be chosen before the one that is worked on. They are the user's
//! to make, or the loop's; one that is there only since an agent was at work is a stranger.
//!
//! A plan that would be chosen later is like a story at the end of the plan: an agent may write it,
//! and the user is told.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_core::state::{self, FOREIGN_LIFECYCLE_DIR, StateDir, is_same_file};

/// What steers the loop at one moment.
#[derive(Debug)]
pub(super) struct Steering {
    known: BTreeSet<Utf8PathBuf>,
    /// Where scripts of another loop of this kind are run from, if we have none of our own.
    foreign: Option<Utf8PathBuf>,
    /// The plan that is worked on.
    plan: Utf8PathBuf,
    /// Those that would be chosen after it.
    later: BTreeSet<Utf8PathBuf>,
}

impl Steering {
    /// Looks at what there is while a plan is worked on.
    pub(super) fn look(state: &StateDir, plan: &Utf8Path) -> Self {
        let has_own = state.lifecycle().symlink_metadata().is_ok();
        let project = state.root().parent().filter(|_| !has_own);
        let foreign = project.map(|root| root.join(FOREIGN_LIFECYCLE_DIR));
        let later = later_plans(state, plan);
        let mut steering = Self { known: BTreeSet::new(), foreign, plan: plan.to_owned(), later };
        for root in steering.roots(state) {
            walk(&root, &mut |path| {
                steering.known.insert(path.to_owned());
                true
            });
        }
        steering
    }

    /// What is there now and was not then; a new folder as a whole.
    pub(super) fn new_since(&self, state: &StateDir) -> Vec<Utf8PathBuf> {
        let mut new = Vec::new();
        for root in self.roots(state) {
            walk(&root, &mut |path| {
                let is_known = self.known.contains(path);
                if !is_known {
                    new.push(path.to_owned());
                }
                is_known
            });
        }
        new
    }

    /// Plans that were not there then and come after the one that is worked on.
    pub(super) fn new_plans(&self, state: &StateDir) -> Vec<Utf8PathBuf> {
        later_plans(state, &self.plan).difference(&self.later).cloned().collect()
    }

    fn roots(&self, state: &StateDir) -> Vec<Utf8PathBuf> {
        let mut roots = prompts(state);
        roots.extend([state.config(), state.lifecycle(), state.guardrails()]);
        roots.extend(self.foreign.clone());
        let earlier = state.plans().into_iter().take_while(|plan| !is_same_file(plan, &self.plan));
        // A folder that is a link leads to files that are somebody else's: the link is the stranger.
        roots.extend(earlier.map(|plan| state::in_the_way(&plan, false).unwrap_or(plan)));
        roots.into_iter().collect()
    }
}

/// Those that are there and come after one; none where that one has a place of its own.
fn later_plans(state: &StateDir, plan: &Utf8Path) -> BTreeSet<Utf8PathBuf> {
    let after = state.plans().into_iter().skip_while(|other| !is_same_file(other, plan)).skip(1);
    after.filter(|other| other.symlink_metadata().is_ok()).collect()
}

/// Where a prompt is looked for is beside a plan: in the numbered folders, and beside them.
pub(super) fn prompts(state: &StateDir) -> BTreeSet<Utf8PathBuf> {
    let beside = state.prd_numbers().into_iter().map(|number| state.plan(number));
    let beside = beside.chain(state.other_plans().into_iter().filter(|plan| is_ours(state, plan)));
    beside.map(|plan| StateDir::prompt_beside(&plan)).collect()
}

fn is_ours(state: &StateDir, path: &Utf8Path) -> bool {
    path.parent() == Some(state.root())
}

/// Everything at and below a path that is there; a folder is entered if `enter` says so of it.
fn walk(path: &Utf8Path, enter: &mut dyn FnMut(&Utf8Path) -> bool) {
    let Ok(metadata) = fs_err::symlink_metadata(path) else { return };
    if enter(path) && metadata.is_dir() {
        for entry in path.read_dir_utf8().into_iter().flatten().flatten() {
            walk(entry.path(), enter);
        }
    }
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn what_is_new_among_settings_scripts_and_templates_is_found() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        for name in ["hooks/started", "hooks/custom/notify", "PRD-1/plan.md", "PRD-1/prompt.md"] {
            scratch.file(&format!(".ralph/{name}"), "old");
        }
        let before = Steering::look(&state, &state.plan(1));
        for name in [
            "config.toml",
            "guardrails.md",
            "hooks/started",
            "hooks/finished",
            "hooks/custom/own",
            "hooks/more/a",
            "prompt.md",
            "PRD-1/prompt.md",
            "PRD-1/progress.md",
            "PRD-0/plan.md",
            "PRD-2/plan.md",
            "PRD-2/prompt.md",
        ] {
            scratch.file(&format!(".ralph/{name}"), "new");
        }
        scratch.file(".fresher/hooks/started", "never run, because there are scripts of ours");
        let found = before.new_since(&state);
        let names: BTreeSet<&str> = found
            .iter()
            .filter_map(|path| Some(path.strip_prefix(state.root()).ok()?.as_str()))
            .collect();
        let expected = [
            "PRD-0/plan.md",
            "PRD-2/prompt.md",
            "config.toml",
            "guardrails.md",
            "hooks/custom/own",
            "hooks/finished",
            "hooks/more",
            "prompt.md",
        ];
        assert_eq!(names, BTreeSet::from(expected));
        assert_eq!(found.len(), expected.len());
        assert_eq!(before.new_plans(&state), [state.plan(2)], "one for later");
    }

    #[test]
    fn a_new_link_to_a_plan_is_the_stranger_and_not_the_plan() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        scratch.file(".ralph/PRD-1/plan.md", "old");
        scratch.file(".ralph/PRD-2/plan.md", "old");
        let before = Steering::look(&state, &state.plan(1));
        std::os::unix::fs::symlink("PRD-2", state.prd(0)).unwrap();
        assert_eq!(before.new_since(&state), [state.prd(0)]);
    }

    #[test]
    fn without_scripts_of_ours_those_of_another_loop_count() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        let before = Steering::look(&state, &state.plan(1));
        let foreign = scratch.file(".fresher/hooks/started", "");
        scratch.file(".ralph/hooks/started", "");
        let mut expected = vec![state.lifecycle(), foreign.parent().unwrap().to_owned()];
        expected.sort();
        let mut found = before.new_since(&state);
        found.sort();
        assert_eq!(found, expected);
    }
}
