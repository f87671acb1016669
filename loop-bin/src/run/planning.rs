//! Planning: the agent writes or refreshes the plan in the copy. Nothing else of what it does is kept
//! but as an attempt, and the user's plan changes only when all went well.

use std::path::PathBuf;

use ralph_base::state::{self, StoryKey};
use ralph_core::plan::{self, Plan, Planned};
use ralph_project::config::Limits;
use ralph_project::prompt::{self, Template, Values};

use super::Run;
use super::decide::{Finish, Next, Outcome, SessionEnd, Then, Wish};
use super::iteration::{Judged, Watched, judge};
use super::scripts::{NEXT_ITERATION, STARTED};
use crate::agent::AgentRun;
use crate::exit::Failure;
use crate::saved;
use crate::terminal::counted;
use crate::workspace::Start;

/// Stands for the story, in logs, scripts and receipts.
const NAME: &str = "planning";

/// How much of the progress the prompt holds.
const LONGEST_PROGRESS: usize = 16 * 1024;

impl Run {
    /// One session of the agent that writes the plan.
    pub(super) fn write_plan(&mut self) -> Result<Finish, Failure> {
        if self.attempt.is_none() && self.is_copy_taken()? {
            return Err(Failure::because(
                "the copy holds an interrupted attempt of a worker; run `ralph-loop` to continue it, \
                 then plan",
            ));
        }
        self.record.story = Some(NAME.to_owned());
        self.record.counters.iteration = 1;
        let context = &self.context;
        let (mode, plan) = (NAME.to_owned(), self.books.plan.to_string());
        context.note(None, &state::Event::LoopStarted { mode, plan });
        context.view.line(format!("planning: {}", self.shown_plan()));
        let specs = &context.config.run.specs;
        if !context.project.root().join(specs).exists() {
            let why = format!("{specs} does not exist; the agent plans from the code alone");
            context.view.warn(why);
        }
        if self.run_started_script() == Wish::Stop {
            return Ok(Finish::stopped_by(STARTED));
        }
        loop {
            match self.run_next_iteration() {
                Wish::GoOn => break,
                Wish::Stop => return Ok(Finish::stopped_by(NEXT_ITERATION)),
                Wish::Skip => {
                    if let Some(finish) = self.wait_after_skip()? {
                        return Ok(finish);
                    }
                }
            }
        }
        self.record.counters.iteration = 1;
        let (tip, branch) = (self.target.look()?.0, self.target.current_branch());
        let start = Start { tip: tip.as_deref(), branch: &branch };
        self.prepare_workspace(start)?;
        let before = plan::read_file(&self.books.plan)?;
        if let Some(before) = &before {
            self.workspace.give(&self.books.plan, before)?;
        }
        let git = self.workspace.source.git();
        let key = StoryKey::new(&self.context.plan_name.borrow(), NAME);
        let number = saved::number_after(&saved::at_story(&git, &key)?);
        let attempt = self.new_attempt(NAME, NAME, number, start);
        self.put_under_way(&attempt)?;
        self.attempt = Some(attempt);
        self.journal_note(&state::Event::IterationStarted {
            iteration: 1,
            title: String::new(),
            attempt: 1,
        });
        let finish = self.let_plan(before)?;
        self.keep_rest(start, &finish)?;
        let outcome = match finish {
            Finish::Complete => Outcome::Success,
            _ => Outcome::Failed,
        };
        self.end_iteration(outcome)?;
        Ok(self.run_post_iteration(NAME, outcome, Then::GoOn).unwrap_or(finish))
    }

    /// The agent at work, and what becomes of its plan.
    fn let_plan(&mut self, before: Option<Vec<u8>>) -> Result<Finish, Failure> {
        let allowance = self.allowance();
        let Watched { ended, .. } = self.start_agent(&self.planning_prompt()?, allowance)?;
        self.record.counters.last_exit_code = ended.as_ref().and_then(AgentRun::exit_code);
        let left = self.workspace.left(&self.books.plan);
        let end = judge(&Judged {
            run: ended.as_ref(),
            claim: None,
            agents: None,
            last_verdict: None,
            took: self.report.duration.unwrap_or_default(),
            has_changed: &|| left != before,
            allowance,
            limits: &self.context.config.limits,
            time_left: self.context.time_left(),
            quota_streak: 0,
            signal: self.context.interrupts.signal(),
        });
        let limits = Limits { wait_for_quota: false, ..self.context.config.limits.clone() };
        match self.record.counters.after(end, NAME, SessionEnd::Ended, &limits) {
            Next::Discard(_, Then::End(finish)) => Ok(finish),
            Next::Discard(kept, _) => Ok(Finish::Error(kept.why)),
            _ => self.take_plan(before.as_deref(), left),
        }
    }

    fn planning_prompt(&self) -> Result<String, Failure> {
        let progress = fs_err::read(&self.books.progress).unwrap_or_default();
        let shown = |path| self.workspace.shown_path(path);
        let (plan, beside) = (shown(&self.books.plan), shown(&self.books.progress));
        let values = Values {
            plan_path: plan.as_str(),
            progress_path: beside.as_str(),
            progress: &ralph_project::progress::progress_excerpt(&progress, LONGEST_PROGRESS),
            spec_dir: &self.context.config.run.specs,
            ..Values::default()
        };
        Ok(Template::parse(prompt::PLANNING).map_err(Failure::usage)?.render(&values))
    }

    /// Takes the plan as the agent left it, or says why not.
    fn take_plan(&self, before: Option<&[u8]>, left: Option<Vec<u8>>) -> Result<Finish, Failure> {
        let path = &self.books.plan;
        let Some(left) = left else {
            return Ok(Finish::Error(format!("the agent did not write {path}")));
        };
        let planned = match self.checked_plan(before, left) {
            Ok(planned) => planned,
            Err(why) => return Ok(Finish::Error(format!("the agent left no usable plan: {why}"))),
        };
        if before == Some(planned.bytes.as_slice()) {
            return Ok(Finish::NoChanges);
        }
        if let Some(before) = before {
            let kept = state::keep_content_as_found(path, before, &self.context.state().logs())?;
            self.context.view.line(format!("the previous plan is saved as {kept}"));
        }
        state::replace_users(path, &planned.bytes)?;
        let open = plan::load(path, &self.books.options)?.counts().open;
        let open = counted(open, "open story", "open stories");
        self.context.view.line(format!("the plan has {open}"));
        Ok(Finish::Complete)
    }

    /// The plan that the agent wrote, with its ticks ignored and what was done before restored.
    fn checked_plan(&self, before: Option<&[u8]>, left: Vec<u8>) -> Result<Planned, String> {
        let parse = |bytes: Vec<u8>| Plan::parse(&self.books.plan, bytes, &self.books.options);
        let before = before.and_then(|before| parse(before.to_vec()).ok());
        let after = parse(left).map_err(|error| error.to_string())?;
        let planned = plan::planned(before.as_ref(), &after)?;
        self.report_findings(planned.findings.clone());
        Ok(planned)
    }

    /// Whatever else the agent did is kept as an attempt and nowhere else; a draft of the plan that
    /// was not taken too.
    fn keep_rest(&mut self, start: Start<'_>, finish: &Finish) -> Result<(), Failure> {
        let attempt = self.current()?;
        let mut taken: Vec<PathBuf> = Vec::new();
        if *finish == Finish::Complete {
            taken.extend(self.workspace.source.below_top(&self.books.plan).map(PathBuf::from));
        }
        let staged = self.workspace.stage(start, &taken)?;
        if !staged.files.is_empty() {
            let why = format!("what planning left: {}", finish.word());
            self.keep_staged(&attempt, &staged, "failed", &why)?;
        }
        if self.workspace.is_in_place {
            self.workspace.reset(start)?;
        }
        Ok(())
    }
}
