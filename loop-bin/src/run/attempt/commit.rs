//! The commit of what has passed, with the user's git hooks. What those change is checked as well.

use ralph_project::checks::{Check, RUN_MARK};
use ralph_project::under_way::Attempt;

use super::check::{check, not_passed, run};
use super::{Around, Course, Passed, Proof, Reviewed, Stopped};
use crate::run::decide::WorkEnd;
use board::{LoopFile, Made, Refusal, Story};
use work_copy::{Imported, Start, Workspace};

/// How often git hooks may put the files of one story in order.
const MOST_FORMATTINGS: usize = 2;

/// What is to be committed.
pub(in crate::run) struct ToCommit<'a> {
    pub(in crate::run) message: &'a dyn Fn(&Passed) -> String,
    pub(in crate::run) passed: Passed,
    /// The loop's own files.
    pub(in crate::run) files: &'a [LoopFile],
}

/// Commits a story, with the loop's own files.
pub(super) fn commit_story(
    around: Around<'_>,
    copy: &mut Workspace,
    course: &Course,
    passed: Passed,
    files: &[LoopFile],
) -> Result<(Made, Passed), Stopped> {
    let message = |passed: &Passed| message(around, course, passed);
    commit(around, copy, &course.attempt, ToCommit { message: &message, passed, files })
}

/// Makes the commit. Git hooks that put files in order and refuse get one of what they left, once that has
/// passed the checks as well; what they change in the commit itself is checked too.
pub(in crate::run) fn commit(
    around: Around<'_>,
    copy: &mut Workspace,
    attempt: &Attempt,
    ToCommit { message, mut passed, files }: ToCommit<'_>,
) -> Result<(Made, Passed), Stopped> {
    let context = around.context;
    for _ in 0..=MOST_FORMATTINGS {
        let wanted = copy.with_files(files.iter().map(LoopFile::text))?;
        let stop = || context.is_interrupted();
        let git = copy.git().with_var(RUN_MARK, around.run);
        let limit = context.check_limit();
        match board::commit(&git, &wanted, &message(&passed), limit, &stop)? {
            Ok(made) if made.is_altered => {
                return check_hooks_work(around, copy, attempt, made, passed);
            }
            Ok(made) => return Ok((made, passed)),
            Err(Refusal::Stopped) => {
                let stopped = WorkEnd::failed(Refusal::Stopped.to_string());
                let signal = context.interrupts.signal();
                return Err(signal.map_or(stopped, WorkEnd::LandingStopped).into());
            }
            Err(refusal @ Refusal::Impossible(_)) => {
                return Err(WorkEnd::Impossible(refusal.to_string()).into());
            }
            Err(refusal @ Refusal::ByHook(_)) => {
                let now =
                    copy.stage(Start::of(attempt), around.books.ours(), &Imported::default())?;
                if now.tree == passed.staged.tree {
                    return Err(WorkEnd::failed(refusal.to_string()).into());
                }
                passed = check(around, copy, attempt, now)?;
            }
        }
    }
    Err(WorkEnd::failed("git hooks change the files every time they reject the commit").into())
}

/// The user's git hooks changed what is committed, so the checks have not seen it.
fn check_hooks_work(
    around: Around<'_>,
    copy: &mut Workspace,
    attempt: &Attempt,
    made: Made,
    passed: Passed,
) -> Result<(Made, Passed), Stopped> {
    let story = &attempt.story;
    around.reporter.line(format!("{story}: git hooks changed the commit; checking it again"));
    copy.git().run(&["read-tree", "--reset", "-u", &made.commit])?;
    let checks = run(around, copy, attempt)?;
    if let Some(check) = checks.last().filter(|check| !check.passed()) {
        return Err(not_passed(around, check).into());
    }
    Ok((made, Passed { checks, ..passed }))
}

fn message(around: Around<'_>, course: &Course, passed: &Passed) -> String {
    let Course { attempt, facts, .. } = course;
    let commit = &around.context.config.commit;
    let checks: Vec<String> = passed.checks.iter().map(shown).collect();
    let story = Story {
        id: &attempt.story,
        title: &attempt.title,
        summary: facts.summary.as_deref(),
        checks: &checks,
        proof: facts.second_look.proof.as_ref().map(Proof::in_words),
        review: facts.second_look.review.as_ref().map(Reviewed::in_words),
        attempt: attempt.number,
        cost_usd: passed.cost_usd,
    };
    board::message(&commit.message, &commit.kind, &story)
}

/// A check that passed, as the commit names it.
fn shown(check: &Check) -> String {
    let name = check.name();
    if check.excused.is_some() { format!("{name} (failed as before)") } else { name }
}
