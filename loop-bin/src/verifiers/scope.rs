//! Refuses changes outside the story's scope. The guard denies single edits; this finds files however
//! they were changed, for example by an agent without hooks.

use std::path::PathBuf;

use globset::{Glob, GlobSetBuilder};
use ralph_base::listing::first_few;
use ralph_base::state::Event;
use ralph_core::guard::{Facts as GuardFacts, out_of_scope};
use ralph_project::surroundings::scope_of;
use ralph_project::verification::Finding;

use crate::run::attempt::Stopped;
use crate::run::attempt::verify::{Stage, Verifier, Work};

#[derive(Debug)]
pub(super) struct Scope;

impl Verifier for Scope {
    fn name(&self) -> &'static str {
        "scope"
    }

    fn is_due(&self, work: &Work<'_>) -> bool {
        work.stage != Stage::Committed && work.job.context.config.guard.in_force(self.name())
    }

    fn verify(&self, work: &mut Work<'_>) -> Result<Vec<Finding>, Stopped> {
        let why = outside_scope(work, self.name());
        Ok(why.into_iter().map(|why| Finding::refused(self.name(), why)).collect())
    }
}

fn outside_scope(work: &Work<'_>, rule: &str) -> Option<String> {
    let (job, copy) = (work.job, &work.copy);
    let scope = scope_of(&work.attempt.story, &job.context.config);
    if scope.is_empty() {
        return None;
    }
    let top = copy.top();
    // A glob can only match a name that is UTF-8.
    let path = |file: &PathBuf| top.join(file.to_string_lossy().into_owned());
    let facts = GuardFacts { root: copy.root().to_owned(), ..GuardFacts::default() };
    // Invalid globs were refused when the settings were read.
    let mut globs = GlobSetBuilder::new();
    for glob in scope.iter().filter_map(|glob| Glob::new(glob).ok()) {
        globs.add(glob);
    }
    let globs = globs.build().unwrap_or_default();
    let fits = |inside: &camino::Utf8Path| globs.is_match(inside);
    let outside = out_of_scope(work.staged.files.iter().map(path).collect(), &facts, fits);
    if outside.is_empty() {
        return None;
    }
    let short = outside.iter().map(|path| path.strip_prefix(&facts.root).unwrap_or(path));
    let target = first_few(short, 10);
    let (rule, tool) = (rule.to_owned(), "commit".to_owned());
    job.reporter.note(&job.key, Event::Denied { rule, tool, target: target.clone(), asked: false });
    Some(format!(
        "the story may only touch {}, but the attempt also changed {target}; leave those files \
         unchanged, and describe what else is needed in your summary",
        scope.join(", ")
    ))
}
