//! The review: another agent reads checked work before it lands.

use std::time::Instant;

use ralph_base::state;
use ralph_core::plan::Plan;
use ralph_project::checks::{Check, RUN_MARK};
use ralph_project::prompt::Values;
use ralph_project::review::{ReviewAnswer, command_line, shown_diff};

use super::prepare::review_template;
use super::watch::{log_of, open_log, supervision};
use super::{Course, Desk, Job, Passed, Stopped, Used};
use crate::exit::Failure;
use crate::run::decide::WorkEnd;
use crate::terminal::{Tone, counted, seconds};
use client::{AgentRun, Refusal, RunEnd, Session, Supervision, Totals, Turn, with_files_of};

/// The result of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::run) enum Reviewed {
    /// The work may land; with comments.
    Approved(Vec<String>),
    /// The work is rejected, with the reason.
    Refused(String),
    /// There was no review, with the reason.
    Missing(String),
}

impl Reviewed {
    /// The result of a reviewer's run, given all that it printed.
    fn of(run: &AgentRun, printed: &str) -> Self {
        let missing = |why: &str| Self::Missing(why.to_owned());
        match &run.end {
            RunEnd::Overdue(limit) => {
                return Self::Missing(format!("it took longer than {}", seconds(*limit)));
            }
            _ if matches!(run.refusal(), Some(Refusal::Later(_))) => {
                return missing("a usage limit was reached");
            }
            RunEnd::Exited(_) | RunEnd::Finished => {}
            RunEnd::Unruly(why) => return missing(why),
            RunEnd::Silent(_) | RunEnd::Signalled(_) | RunEnd::Forbidden(_) => {
                return missing("it was interrupted");
            }
        }
        let seen = &run.seen;
        let (said, is_error) = match &seen.verdict {
            Some(verdict) => (verdict.text.as_str(), verdict.is_error),
            // An agent that prints events names its session there.
            None if seen.session.is_some() => (seen.said.text.as_str(), false),
            None => (printed, false),
        };
        if is_error || run.exit_code() != Some(0) {
            let mut words = [said, &seen.said.complaints].into_iter().flat_map(str::lines);
            let last = words.rfind(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
            return Self::Missing(format!("the reviewer failed: {}", last.trim()));
        }
        match ReviewAnswer::read(said) {
            None => missing("the answer could not be understood"),
            Some(answer) => match answer.blocking() {
                Some(why) => Self::Refused(why),
                None => Self::Approved(answer.advice()),
            },
        }
    }

    /// The comments to show to the user.
    pub(in crate::run) fn remarks(&self) -> Vec<String> {
        match self {
            Self::Approved(advice) => advice.clone(),
            Self::Refused(_) => Vec::new(),
            Self::Missing(why) => vec![format!("not reviewed: {why}")],
        }
    }

    /// Short text for messages.
    pub(in crate::run) fn in_words(&self) -> String {
        match self {
            Self::Approved(advice) if advice.is_empty() => "approved".to_owned(),
            Self::Approved(advice) => {
                format!("approved with {}", counted(advice.len(), "remark", "remarks"))
            }
            Self::Refused(why) => why.clone(),
            Self::Missing(why) => format!("none: {why}"),
        }
    }
}

/// Runs the review.
pub(super) fn review(
    job: &Job,
    desk: &Desk,
    course: &mut Course,
    passed: &Passed,
) -> Result<Reviewed, Stopped> {
    let (story, reporter) = (&job.key.story, &job.reporter);
    reporter.doing("being reviewed");
    reporter.line(format!("{story}: being reviewed"));
    let prompt = review_prompt(job, desk, course, passed)?;
    let asked = ask_reviewer(job, desk, course, &prompt);
    desk.copy.clear_away();
    let (run, printed) = asked?;
    if let RunEnd::Signalled(signal) = run.end {
        return Err(WorkEnd::LandingStopped(signal).into());
    }
    let reviewed = Reviewed::of(&run, &printed);
    match &reviewed {
        Reviewed::Refused(why) => return Err(WorkEnd::failed(why.clone()).into()),
        Reviewed::Missing(why) => {
            reporter.toned(Tone::Warning, format!("{story} not reviewed: {why}"));
        }
        Reviewed::Approved(advice) => {
            reporter.toned(Tone::Good, format!("{story} reviewed: {}", reviewed.in_words()));
            advice.iter().for_each(|what| reporter.line(format!("{story}: {what}")));
        }
    }
    Ok(reviewed)
}

fn review_prompt(
    job: &Job,
    desk: &Desk,
    course: &Course,
    passed: &Passed,
) -> Result<String, Failure> {
    let Course { attempt, facts, .. } = course;
    let (git, books) = (desk.copy.git(), &job.books);
    let base = work_copy::git_output::base_of(&git, attempt.base.as_deref())?;
    let diff = git.run(&["diff", "--no-color", "--no-ext-diff", &base, &passed.staged.tree])?;
    let given = state::read(desk.dir.plan_given())?;
    let plan = Plan::parse(&books.plan, given, &books.options).ok();
    let story = plan.as_ref().and_then(|plan| plan.story(&attempt.story));
    let shown =
        |check: &Check| format!("`{}` {}\n{}", check.name(), check.verdict(), check.excerpt());
    let mut checks: Vec<String> = passed.checks.iter().map(shown).collect();
    checks.extend(facts.second_look.proof.as_ref().map(|proof| proof.in_words()));
    let values = Values {
        story_id: &attempt.story,
        story_title: &attempt.title,
        story_details: story.map_or("", |story| &story.details),
        diff: &shown_diff(&diff),
        checks: &checks.join("\n"),
        spec_dir: &job.context.config.run.specs,
        ..Values::default()
    };
    Ok(review_template(&books.plan)?.render(&values))
}

/// Returns how the reviewer ended, and all that it printed.
fn ask_reviewer(
    job: &Job,
    desk: &Desk,
    course: &mut Course,
    prompt: &str,
) -> Result<(AgentRun, String), Failure> {
    let context = &job.context;
    let line = with_files_of(context.project.root(), &command_line(&context.config));
    let path = log_of(context.state(), &course.attempt).with_extension("review.log");
    let earlier = path.metadata().map_or(0, |found| found.len());
    let log = open_log(context, &path)?;
    let vars = [(RUN_MARK.to_owned(), desk.run.clone())];
    // In a separate folder, so that the reviewer cannot change the checked work.
    let room = desk.copy.lay_out()?;
    let begun = Instant::now();
    let mut session = Session::start(
        &line,
        &room,
        (&vars, &desk.copy.doors.reviewer),
        (prompt, Totals::default()),
        log,
    )?;
    let limit = context.config.agent.timeout.limit();
    let deadline = limit.into_iter().chain(context.time_for_checks()).min();
    let watch = Supervision { deadline, ..supervision(context) };
    let run = loop {
        // Without a mailbox the reviewer's stop hook cannot ask the loop.
        if let Turn::Ended(run) = session.watch(&watch, None, &mut |_| ())? {
            break *run;
        }
    };
    let (tokens, seconds) = (run.seen.tokens, begun.elapsed().as_secs_f64());
    let stories = vec![(job.key.clone(), tokens)];
    let ended = Some((Box::new(run.clone()), stories));
    course.used.push(Used { seconds, tokens, session_tokens: 0, ended, is_reviewer: true });
    let log = state::read(&path)?;
    let printed = log.get(earlier as usize..).unwrap_or_default();
    Ok((run, String::from_utf8_lossy(printed).into_owned()))
}
