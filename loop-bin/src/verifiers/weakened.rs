//! Tests that the story removed, skipped or made to check less.

use ralph_project::config;
use ralph_project::verification::Finding;
use ralph_project::weakening::{holds_tests, weakened};

use crate::run::attempt::Stopped;
use crate::run::attempt::verify::{Stage, Verifier, Work};

#[derive(Debug)]
pub(super) struct Weakening;

impl Verifier for Weakening {
    fn name(&self) -> &'static str {
        "weakened"
    }

    fn is_due(&self, work: &Work<'_>) -> bool {
        work.stage != Stage::Committed
            && work.job.context.config.tests.weakened != config::Weakened::Ignore
    }

    fn verify(&self, work: &mut Work<'_>) -> Result<Vec<Finding>, Stopped> {
        let files: Vec<[String; 3]> =
            work.texts(holds_tests)?.into_iter().map(Into::into).collect();
        let found = weakened(&files);
        let is_refused = work.job.context.config.tests.weakened == config::Weakened::Refuse;
        if let (Some(lost), true) = (&found.lost, is_refused) {
            let how =
                "put them back, or say in your summary why the story cannot be done with them";
            return Ok(vec![Finding::refused(
                self.name(),
                format!("the tests were weakened: {lost}; {how}"),
            )]);
        }
        let remark = |what: String| Finding::remark(self.name(), "tests weakened", what);
        Ok(found.lost.into_iter().chain(found.changed).map(remark).collect())
    }
}
