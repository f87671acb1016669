//! Commits while files outside of the story's scope are changed: they would be included.

use std::collections::BTreeSet;

use camino::Utf8Path;
use ralph_core::git::{Repo, Status};
use ralph_core::guard::{self, Denial, Facts, Glob};
use shell_reader::Script;

use crate::call::Call;

/// How many files the reason names.
const MOST_NAMED: usize = 10;

/// Denies a commit that would exceed the scope. Without a scope git is not run.
pub(super) fn check(call: &Call<'_>, facts: &Facts, script: &Script) -> Option<Denial> {
    let config = call.config();
    let scope = call.scope();
    if scope.is_empty() || !config.guard.in_force("scope") || !guard::commits(script, facts) {
        return None;
    }
    let repo = Repo::open(facts.tree()).ok()?;
    let status = Status::read(&repo).ok()?;
    let changed = status
        .changed
        .iter()
        .filter(|path| !repo.is_untouched(path))
        .filter_map(|path| camino::Utf8PathBuf::from_path_buf(repo.top().join(path)).ok());
    let fits = |inside: &Utf8Path| scope.iter().any(|glob| Glob::fits(glob, inside.as_str()));
    let outside: BTreeSet<String> = guard::out_of_scope(changed.collect(), facts, fits)
        .iter()
        .map(|path| facts.inside(path).unwrap_or(path).to_string())
        .collect();
    let named = outside.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    (!outside.is_empty()).then(|| Denial {
        rule: "scope".to_owned(),
        found: "git commit".to_owned(),
        reason: format!(
            "this story may only touch {}, but you also changed {named}",
            scope.join(", ")
        ),
        instead: "revert your changes to these files by editing them, then commit".to_owned(),
    })
}
