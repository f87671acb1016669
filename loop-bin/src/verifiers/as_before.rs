//! The user's tests as they were: where a story changed files of tests, the checks run once more with those
//! files as they were when it began. That needs no knowledge of languages, and finds tests that were deleted,
//! skipped, emptied or made to expect what the code now does.

use std::path::PathBuf;

use ralph_base::listing::first_few;
use ralph_project::checks::Check;
use ralph_project::config::Weakened;
use ralph_project::strikes::{is_test_file, with_cause};
use ralph_project::verification::Finding;
use work_copy::git_output::differences_between;

use super::trial::tests_with;
use crate::run::attempt::Stopped;
use crate::run::attempt::verify::{Stage, Verifier, Work};

/// How many tests are named.
const NAMED: usize = 5;

#[derive(Debug)]
pub(super) struct AsBefore;

impl Verifier for AsBefore {
    fn name(&self) -> &'static str {
        "earlier tests"
    }

    fn is_due(&self, work: &Work<'_>) -> bool {
        work.stage != Stage::Committed
            && work.job.context.config.tests.weakened != Weakened::Ignore
            // Not in place: a kill would leave the user's tree half reverted.
            && !work.copy.is_in_place
            && !work.checks.is_empty()
    }

    fn verify(&self, work: &mut Work<'_>) -> Result<Vec<Finding>, Stopped> {
        let Some(base) = work.attempt.base.clone() else { return Ok(Vec::new()) };
        let changed = differences_between(&work.copy.store(), &base, &work.staged.tree)?;
        let tests = || changed.iter().filter(|one| is_test_file(&one.path));
        if tests().all(|one| one.old.is_absent()) {
            return Ok(Vec::new());
        }
        let files: Vec<PathBuf> = tests().map(|one| one.path.clone()).collect();
        let (reporter, story) = (&work.job.reporter, &work.attempt.story);
        reporter.doing("running the tests as they were before the story");
        reporter.line(format!("{story}: running the tests as they were before the story"));
        let checks = tests_with(work, &base, &files, None)?;
        let Some(failed) = checks.iter().find(|check| !check.passed() && !check.ran_no_test) else {
            return Ok(Vec::new());
        };
        let what = no_longer_pass(work, failed);
        if work.job.refused_by.contains(self.name()) {
            return Ok(vec![Finding::remark(self.name(), "", what)]);
        }
        let how = "make the code pass them as they were; only if the story asks for other behaviour, \
                   change them and say so in your summary";
        let tests = failed.verdict_of(&work.job.context.config);
        let why = with_cause(&format!("{what}; {how}"), tests.as_ref(), &failed.excerpt());
        Ok(vec![Finding::refused(self.name(), why)])
    }
}

fn no_longer_pass(work: &Work<'_>, failed: &Check) -> String {
    let verdict = failed.verdict_of(&work.job.context.config);
    let names = verdict.map(|verdict| verdict.failing).unwrap_or_default();
    let names = if names.is_empty() {
        format!("`{}` {}", failed.name(), failed.verdict())
    } else {
        first_few(names.iter(), NAMED)
    };
    format!("tests that were there before do not pass as they were: {names}")
}
