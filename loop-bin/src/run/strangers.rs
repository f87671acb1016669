//! Files that steer the loop: settings, lifecycle scripts, prompt templates, and the lessons that go
//! into every prompt. They are the user's to make, or the loop's; one that is there only since an agent was at work is a stranger.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_core::state::{FOREIGN_LIFECYCLE_DIR, StateDir};

/// What steers the loop at one moment.
#[derive(Debug)]
pub(super) struct Steering {
    known: BTreeSet<Utf8PathBuf>,
    /// Where scripts of another loop of this kind are run from, if we have none of our own.
    foreign: Option<Utf8PathBuf>,
}

impl Steering {
    /// Looks at what there is.
    pub(super) fn look(state: &StateDir) -> Self {
        let has_own = state.lifecycle().symlink_metadata().is_ok();
        let project = state.root().parent().filter(|_| !has_own);
        let foreign = project.map(|root| root.join(FOREIGN_LIFECYCLE_DIR));
        let mut known = BTreeSet::new();
        for root in roots(state, foreign.as_deref()) {
            walk(&root, &mut |path| {
                known.insert(path.to_owned());
                true
            });
        }
        Self { known, foreign }
    }

    /// What is there now and was not then; a new folder as a whole.
    pub(super) fn new_since(&self, state: &StateDir) -> Vec<Utf8PathBuf> {
        let mut new = Vec::new();
        for root in roots(state, self.foreign.as_deref()) {
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
}

/// Where a prompt is looked for is beside a plan: in the numbered folders, and beside them.
pub(super) fn prompts(state: &StateDir) -> BTreeSet<Utf8PathBuf> {
    let beside = state.prd_numbers().into_iter().map(|number| state.plan(number));
    let beside = beside.chain(state.other_plans().into_iter().filter(|plan| is_ours(state, plan)));
    beside.map(|plan| StateDir::prompt_beside(&plan)).collect()
}

fn roots(state: &StateDir, foreign: Option<&Utf8Path>) -> Vec<Utf8PathBuf> {
    let mut roots = prompts(state);
    roots.extend([state.config(), state.lifecycle(), state.guardrails()]);
    roots.extend(foreign.map(Utf8Path::to_owned));
    roots.into_iter().collect()
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
        let before = Steering::look(&state);
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
    }

    #[test]
    fn without_scripts_of_ours_those_of_another_loop_count() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        let before = Steering::look(&state);
        let foreign = scratch.file(".fresher/hooks/started", "");
        scratch.file(".ralph/hooks/started", "");
        let mut expected = vec![state.lifecycle(), foreign.parent().unwrap().to_owned()];
        expected.sort();
        let mut found = before.new_since(&state);
        found.sort();
        assert_eq!(found, expected);
    }
}
