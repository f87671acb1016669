//! Tests that the story removed, skipped or emptied.

use ralph_project::config::Weakened;
use ralph_project::verification::Finding;
use ralph_project::weakening::weakened_since;

use crate::run::attempt::Stopped;
use crate::run::attempt::verify::{Stage, Verifier, Work};

#[derive(Debug)]
pub(super) struct Weakening;

impl Verifier for Weakening {
    fn name(&self) -> &'static str {
        "weakened"
    }

    fn is_due(&self, work: &Work<'_>) -> bool {
        work.stage != Stage::Committed && work.job.context.config.tests.weakened != Weakened::Ignore
    }

    fn verify(&self, work: &mut Work<'_>) -> Result<Vec<Finding>, Stopped> {
        let Some(base) = &work.attempt.base else { return Ok(Vec::new()) };
        let what = weakened_since(&work.copy.repo_of_objects(), base, &work.staged.files)?;
        let finding = |what: String| match work.job.context.config.tests.weakened {
            Weakened::Refuse => {
                Finding::refused(self.name(), format!("the tests were weakened: {what}"))
            }
            _ => Finding::remark(self.name(), "tests weakened", what),
        };
        Ok(what.into_iter().map(finding).collect())
    }
}
