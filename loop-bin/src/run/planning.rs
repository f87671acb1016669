//! Planning: the agent writes or refreshes the plan in the copy. Nothing else of what it does is kept
//! but as an attempt, and the user's plan changes only when all went well.

use std::path::PathBuf;

use ralph_core::plan::{self, Plan, Planned, progress};
use ralph_core::prompt::{self, Template, Values};
use ralph_core::state;
use ralph_core::under_way::{Attempt, Beginning};

use super::Run;
use super::decide::{Action, Counters, Event, Finish, State, Wish, WorkEnd, step};
use super::iteration::{Judged, Watched, judge};
use crate::exit::{Failure, Success};
use crate::saved;
use crate::terminal::counted;
use crate::workspace::Start;

/// Stands for the story, in logs, scripts and receipts.
const NAME: &str = "planning";

/// How much of the progress the prompt holds.
const LONGEST_PROGRESS: usize = 16 * 1024;

impl Run {
    /// One session of the agent that writes the plan, and the end of the run.
    pub(super) fn write_plan(mut self) -> Result<Success, Failure> {
        let mut state = State::new(&self.context.config, Counters::default());
        state.story = Some(NAME.to_owned());
        state.counters.iteration = 1;
        self.save(&state, &Action::RunStarted);
        let finish =
            self.planned(&mut state).unwrap_or_else(|failure| Finish::Error(failure.to_string()));
        let finished = self.run_finished(&state, &finish);
        let (state, _) = step(state, finished);
        self.save(&state, &Action::End(finish.clone()));
        Ok(self.close(&state, finish))
    }

    fn planned(&mut self, state: &mut State) -> Result<Finish, Failure> {
        let context = &self.context;
        let (mode, plan) = (NAME.to_owned(), context.plan.to_string());
        context.note(None, &state::Event::LoopStarted { mode, plan });
        let shown = context.plan.strip_prefix(context.project.root()).unwrap_or(&context.plan);
        context.view.line(format!("planning: {shown}"));
        let specs = &context.config.run.specs;
        if !context.project.root().join(specs).exists() {
            context
                .view
                .warn(format!("there is no folder {specs}; the agent plans from the code alone"));
        }
        if context.run_started_script()? == Wish::Stop {
            return Ok(Finish::HookAbort);
        }
        match self.run_next_iteration(state)? {
            Event::Announced(Wish::GoOn) => {}
            Event::Announced(Wish::Skip) => return Ok(Finish::NoChanges),
            _ => return Ok(Finish::HookAbort),
        }
        let (tip, branch) = (self.target.tip()?, self.target.current_branch());
        let start = Start { tip: tip.as_deref(), branch: &branch };
        self.prepare_workspace(start)?;
        let before = plan::read_file(&self.books.plan)?;
        if let Some(before) = &before {
            self.workspace.give(&self.books.plan, before)?;
        }
        self.begin_planning(start)?;
        let finish = self.let_plan(state, before)?;
        self.keep_rest(start, &finish)?;
        let outcome = match finish {
            Finish::Complete => super::Outcome::Success,
            _ => super::Outcome::Failed,
        };
        match self.run_post_iteration(state, outcome)? {
            Event::Reported(Wish::Stop) => Ok(Finish::HookAbort),
            _ => Ok(finish),
        }
    }

    fn begin_planning(&mut self, start: Start<'_>) -> Result<(), Failure> {
        let git = self.workspace.source().git();
        let attempt = Attempt::begin(Beginning {
            run: self.context.run.clone(),
            story: NAME.to_owned(),
            title: NAME.to_owned(),
            iteration: 1,
            number: saved::next_number(&git, NAME)?,
            plan: self.books.plan.clone(),
            progress: self.books.progress.clone(),
            work: self.workspace.root().to_owned(),
            target: start.branch.to_owned(),
            base: start.tip.map(str::to_owned),
        });
        attempt.save(&self.context.run_dir)?;
        self.attempt = Some(attempt);
        self.journal_note(&state::Event::IterationStarted { iteration: 1 });
        Ok(())
    }

    /// The agent at work, and what becomes of its plan.
    fn let_plan(&mut self, state: &mut State, before: Option<Vec<u8>>) -> Result<Finish, Failure> {
        let allowance = self.allowance(state);
        let (time, sum) = (allowance.time.map(|(time, _)| time), allowance.cost_usd);
        let prompt = self.planning_prompt()?;
        let watched = self.start_agent(NAME, 1, &prompt, time, sum.map(|(sum, _)| sum))?;
        let Watched { ended, shares, .. } = watched;
        self.report.tokens = ended.as_ref().map(|run| run.seen.tokens);
        self.report.cost_usd = ended.as_ref().and_then(|run| run.seen.cost_usd);
        let exit_code = ended.as_ref().and_then(crate::agent::Run::exit_code);
        let left = self.workspace.left(&self.books.plan);
        let end = judge(&Judged {
            run: ended.as_ref(),
            claim: None,
            is_marked_blocked: false,
            open_tasks: &[],
            last_verdict: None,
            has_changed: &|| left != before,
            allowance,
            limits: &self.context.config.limits,
            elapsed: self.context.elapsed(),
            quota_streak: 0,
            signal: self.context.interrupts.signal(),
        });
        state.account(shares, exit_code);
        match end {
            WorkEnd::Well => self.take_plan(before.as_deref(), left),
            WorkEnd::Signalled(signal) => Ok(Finish::Manual(signal)),
            WorkEnd::Spent(why) | WorkEnd::StorySpent(why) => Ok(Finish::Budget(why)),
            WorkEnd::Quota(_) => {
                Ok(Finish::Budget("the agent's service refused; start again later".into()))
            }
            WorkEnd::Failed(why)
            | WorkEnd::TimedOut(why)
            | WorkEnd::Blocked(why)
            | WorkEnd::Partial(why)
            | WorkEnd::Unusable(why) => Ok(Finish::Error(why)),
            WorkEnd::HandedOver(_) => Ok(Finish::Error("the agent's context was full".into())),
        }
    }

    fn planning_prompt(&self) -> Result<String, Failure> {
        let progress = fs_err::read(&self.books.progress).unwrap_or_default();
        let shown = |path| self.workspace.shown_path(path);
        let (plan, beside) = (shown(&self.books.plan), shown(&self.books.progress));
        let values = Values {
            plan_path: plan.as_str(),
            progress_path: beside.as_str(),
            progress: &progress::excerpt(&progress, LONGEST_PROGRESS),
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
            self.context.view.line(format!("the plan as it was is kept in {kept}"));
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
        let planned = plan::planned(before.as_ref(), &after);
        if !planned.lost.is_empty() {
            let stories = planned.lost.join(", ");
            return Err(format!("it removed {stories}, done before, and they fit nowhere in it"));
        }
        parse(planned.bytes.clone()).map_err(|error| error.to_string())?;
        let told = [
            (&planned.unticked, "ticked", " while planning, with nothing checked; ignored"),
            (&planned.ticked_again, "reopened", ", done before and no different now; ticked again"),
            (&planned.grown, "changed", ", done before; open again for what is new in them"),
            (&planned.put_back, "removed", ", done before; restored"),
            (&planned.removed, "removed", ", not done before; the plan is without"),
        ];
        let told = told.iter().filter(|(stories, ..)| !stories.is_empty());
        let findings: Vec<String> = told
            .map(|(stories, did, what)| format!("{did} {}{what}", stories.join(", ")))
            .collect();
        findings.iter().for_each(|what| self.context.view.warn(format!("the agent {what}")));
        if !findings.is_empty() {
            self.journal_note(&state::Event::PlanRepaired { findings });
        }
        Ok(planned)
    }

    /// Whatever else the agent did is kept as an attempt and nowhere else; a draft of the plan that
    /// was not taken too.
    fn keep_rest(&mut self, start: Start<'_>, finish: &Finish) -> Result<(), Failure> {
        let attempt = self.current()?;
        let mut taken: Vec<PathBuf> = Vec::new();
        if *finish == Finish::Complete {
            taken.extend(self.workspace.below_top(&self.books.plan).map(PathBuf::from));
        }
        let staged = self.workspace.stage_with_state(start, &taken)?;
        if !staged.files.is_empty() {
            let why = format!("what planning left: {}", finish.word());
            let name = self.keep(&attempt, &staged, "failed", &why)?;
            let id = name.trim_start_matches("refs/ralph/attempts/");
            self.context.view.line(format!(
                "{NAME}: everything else that the agent left is kept; `ralph-loop attempts {id}` \
                 shows it"
            ));
        }
        if self.workspace.is_in_place() {
            self.workspace.reset(start)?;
        }
        Ok(())
    }
}
