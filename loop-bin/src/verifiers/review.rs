//! The review: another agent reads checked work before it lands.

use std::time::Instant;

use camino::Utf8Path;
use ralph_base::state::{self, StateDir};
use ralph_core::plan::Plan;
use ralph_project::checks::{Check, RUN_MARK};
use ralph_project::prompt::{self, Template, Values};
use ralph_project::review::{ReviewAnswer, command_line, shown_diff};

use crate::exit::Failure;
use crate::run::attempt::verify::{Stage, Verifier, Work};
use crate::run::attempt::{Stopped, Used, log_of, open_log, read_template, supervision};
use crate::run::decide::WorkEnd;
use crate::run::start::trouble_with;
use crate::terminal::{Tone, counted, seconds};
use client::{AgentRun, Refusal, RunEnd, Session, Supervision, Totals, Turn, with_files_of};
use ralph_project::config::Config;
use ralph_project::diagnosis::Diagnosis;
use ralph_project::project::Project;
use ralph_project::verification::{Finding, Grade};

#[derive(Debug)]
pub(super) struct Review;

impl Verifier for Review {
    fn name(&self) -> &'static str {
        "review"
    }

    fn before(
        &self,
        project: &Project,
        config: &Config,
        plan: Option<&Plan>,
        path: &str,
    ) -> Result<Vec<Diagnosis>, Failure> {
        if !config.review.enabled {
            return Ok(Vec::new());
        }
        if let Some(plan) = plan {
            template(plan.path())?;
        }
        let line = command_line(config);
        let used = Diagnosis::Good(format!("each story is reviewed before it lands: `{line}`"));
        let instead = "pass another with --review-agent";
        let trouble =
            trouble_with(("reviewer", instead), &config.review.command, project.root(), path);
        Ok([used].into_iter().chain(trouble.map(Diagnosis::Problem)).collect())
    }

    fn is_due(&self, work: &Work<'_>) -> bool {
        work.stage == Stage::New && work.job.context.config.review.enabled
    }

    fn verify(&self, work: &mut Work<'_>) -> Result<Vec<Finding>, Stopped> {
        let (story, reporter) = (&work.job.key.story, &work.job.reporter);
        reporter.doing("being reviewed");
        reporter.line(format!("{story}: being reviewed"));
        let prompt = review_prompt(work)?;
        let asked = ask_reviewer(work, &prompt);
        work.copy.clear_away();
        let (run, printed) = asked?;
        if let RunEnd::Signalled(signal) = run.end {
            return Err(WorkEnd::LandingStopped(signal).into());
        }
        Ok(vec![match Reviewed::of(&run, &printed) {
            Reviewed::Refused(why) => Finding::refused(self.name(), why),
            Reviewed::Missing(why) => {
                reporter.toned(Tone::Warning, format!("{story} not reviewed: {why}"));
                let remark = Finding::remark(self.name(), "", format!("not reviewed: {why}"));
                Finding { line: format!("none: {why}"), ..remark }
            }
            Reviewed::Approved(remarks) => {
                let (line, grade) = match remarks.len() {
                    0 => ("approved".to_owned(), Grade::Fine),
                    count => {
                        let remarks = counted(count, "remark", "remarks");
                        (format!("approved with {remarks}"), Grade::Remark)
                    }
                };
                reporter.toned(Tone::Good, format!("{story} reviewed: {line}"));
                remarks.iter().for_each(|what| reporter.line(format!("{story}: {what}")));
                Finding { remarks, ..Finding::new(self.name(), grade, line) }
            }
        }])
    }
}

/// The template of the prompt: the user's, beside the plan, or our own.
fn template(plan: &Utf8Path) -> Result<Template, Failure> {
    read_template(&StateDir::review_prompt_beside(plan), prompt::REVIEW)
}

/// The result of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reviewed {
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
            _ if matches!(run.refusal(), Some(Refusal::Down | Refusal::Unreachable)) => {
                return missing("the reviewer's service did not answer");
            }
            RunEnd::Exited(_) | RunEnd::Finished => {}
            RunEnd::Unruly(why) => return missing(why),
            RunEnd::Silent(_)
            | RunEnd::Signalled(_)
            | RunEnd::Forbidden(_)
            | RunEnd::Unguarded(_) => {
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
}

fn review_prompt(work: &Work<'_>) -> Result<String, Failure> {
    let Work { job, attempt, .. } = work;
    let (git, books) = (work.copy.store(), &job.books);
    let base = work_copy::git_output::base_of(&git, attempt.base.as_deref())?;
    let tree = &work.staged.tree;
    // The story's own attributes count, but no program that they name.
    let diff = ["diff", "--no-color", "--no-ext-diff", "--no-textconv", &base, tree];
    let diff = git.with_var("GIT_ATTR_SOURCE", tree).run(&diff)?;
    let given = state::read(work.copy.records().plan_given())?;
    let plan = Plan::parse(&books.plan, given, &books.options).ok();
    let story = plan.as_ref().and_then(|plan| plan.story(&attempt.story));
    let shown =
        |check: &Check| format!("`{}` {}\n{}", check.name(), check.verdict(), check.excerpt());
    let mut checks: Vec<String> = work.checks.iter().map(shown).collect();
    let found = work.findings.iter().map(|finding| finding.line.clone());
    checks.extend(found.filter(|line| !line.is_empty()));
    let values = Values {
        story_id: &attempt.story,
        story_title: &attempt.title,
        story_details: story.map_or("", |story| &story.details),
        diff: &shown_diff(&diff),
        checks: &checks.join("\n"),
        spec_dir: &job.context.config.run.specs,
        ..Values::default()
    };
    Ok(template(&books.plan)?.render(&values))
}

/// Returns how the reviewer ended, and all that it printed.
fn ask_reviewer(work: &mut Work<'_>, prompt: &str) -> Result<(AgentRun, String), Failure> {
    let (job, copy) = (work.job, &work.copy);
    let context = &job.context;
    let line = with_files_of(context.project.root(), &command_line(&context.config));
    let path = log_of(context.state(), work.attempt).with_extension("review.log");
    let earlier = path.metadata().map_or(0, |found| found.len());
    let log = open_log(context, &path)?;
    let vars = [(RUN_MARK.to_owned(), job.run.clone())];
    // In a separate folder, so that the reviewer cannot change the checked work.
    let room = copy.lay_out()?;
    let begun = Instant::now();
    let mut session = Session::start(
        &line,
        &room,
        (&vars, &copy.doors.reviewer),
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
    work.used.push(Used { seconds, tokens, session_tokens: 0, ended, is_verifier: true });
    let log = state::read(&path)?;
    let printed = log.get(earlier as usize..).unwrap_or_default();
    Ok((run, String::from_utf8_lossy(printed).into_owned()))
}
