//! Commits the work of an attempt with the user's git hooks. What the hooks change is verified too.

use ralph_project::under_way::Attempt;

use super::verify::{Stage, Work, verify};
use super::{Course, Desk, Job, Passed, Stopped};
use crate::run::decide::WorkEnd;
use board::{LoopFile, NewCommit, Refusal, Story};
use work_copy::{Imported, Start, Workspace};

/// How often git hooks may fix the files of one story.
const MOST_FORMATTINGS: usize = 2;

/// Commits a story together with the loop's own files.
pub(super) fn commit_story(
    job: &Job,
    desk: &mut Desk,
    course: &Course,
    passed: Passed,
    files: &[LoopFile],
) -> Result<(NewCommit, Passed), Stopped> {
    let message = |passed: &Passed| message(job, course, passed);
    commit(job, &mut desk.copy, &course.attempt, (passed, files), &message)
}

/// Makes the commit. If git hooks fix files and refuse, it is tried again with the fixed files once those have
/// passed the checks; changes that hooks make in the commit itself are checked too.
pub(in crate::run) fn commit(
    job: &Job,
    copy: &mut Workspace,
    attempt: &Attempt,
    (mut passed, files): (Passed, &[LoopFile]),
    message: &dyn Fn(&Passed) -> String,
) -> Result<(NewCommit, Passed), Stopped> {
    let context = &job.context;
    for _ in 0..=MOST_FORMATTINGS {
        let wanted = copy.with_files(files.iter().map(LoopFile::text))?;
        if !copy.needs_full_commits() {
            let (git, base) = (copy.store(), attempt.base.as_deref());
            let made = board::commit_plainly(&git, &wanted, base, &message(&passed))?;
            return Ok((made, passed));
        }
        let stop = || context.is_interrupted();
        let (base, limit) = (attempt.base.as_deref(), context.check_limit());
        let made =
            board::commit(copy, (&wanted, base), &message(&passed), (&job.run, limit), &stop)?;
        copy.programs_ran()?;
        match made {
            Ok(made) if made.is_altered => {
                return check_hooks_work(job, copy, attempt, made, passed);
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
                let ours = &job.books.ours;
                let mut now = copy.stage(Start::of(attempt), ours, &Imported::default())?;
                if now.tree == passed.staged.tree {
                    return Err(WorkEnd::failed(refusal.to_string()).into());
                }
                now.aside.append(&mut passed.staged.aside);
                let work = Work::changed(job, copy, attempt, now);
                passed = verify_again(Work { findings: passed.findings, ..work }, passed.cost_usd)?;
            }
        }
    }
    Err(WorkEnd::failed("git hooks change the files every time they reject the commit").into())
}

/// The user's git hooks changed the commit, so the checks have not seen this version.
fn check_hooks_work(
    job: &Job,
    copy: &mut Workspace,
    attempt: &Attempt,
    made: NewCommit,
    passed: Passed,
) -> Result<(NewCommit, Passed), Stopped> {
    let story = &attempt.story;
    job.reporter.line(format!("{story}: git hooks changed the commit; checking it again"));
    copy.git().run(&["read-tree", "--reset", "-u", &made.commit])?;
    let Passed { staged, findings, cost_usd } = passed;
    let work = Work::changed(job, copy, attempt, staged);
    Ok((made, verify_again(Work { stage: Stage::Committed, findings, ..work }, cost_usd)?))
}

fn verify_again(mut work: Work<'_>, cost_usd: Option<f64>) -> Result<Passed, Stopped> {
    verify(&mut work)?;
    Ok(Passed { staged: work.staged, findings: work.findings, cost_usd })
}

fn message(job: &Job, course: &Course, passed: &Passed) -> String {
    let Course { attempt, facts, .. } = course;
    let commit = &job.context.config.commit;
    let assisted_by = || {
        let (name, model) =
            (job.context.agent_name(attempt)?, job.context.model_in_words(attempt, &facts.model));
        Some(if model.is_empty() { name.to_owned() } else { format!("{name}:{model}") })
    };
    let story = Story {
        assisted_by: if commit.assisted_by { assisted_by() } else { None },
        is_linted: board::lints_commits(job.context.project.root()),
        id: &attempt.story,
        title: &attempt.title,
        summary: facts.summary.as_deref(),
        findings: &passed.findings,
        agent: job.context.agent_in_words(attempt),
        attempt: attempt.number,
        cost_usd: passed.cost_usd,
        is_cost_open: job.context.config.session.stories_per_session > 1,
    };
    board::message(&commit.message, &commit.kind, &story)
}
