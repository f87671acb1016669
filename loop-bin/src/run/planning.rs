//! Planning: the agent writes or refreshes the plan; everything else that it changes is taken back.
//!
//! A planning run takes the steps of any run, with the plan as its one story: what is here are the
//! steps that differ.

use ralph_core::git::{self, Checkpoint, Position};
use ralph_core::plan::{self, Plan, Planned, progress};
use ralph_core::project_plan;
use ralph_core::prompt::{self, Template, Values};
use ralph_core::settle;
use ralph_core::state::{self, StateDir};

use super::draft::Draft;
use super::stage::Stage;
use super::work::{report_of, spent_by};
use crate::agent::Run;
use crate::exit::Failure;
use crate::step::{Choice, Event, Outcome, Settlement, State, WorkEnd};
use crate::terminal::counted;

/// Stands for the story, in logs, scripts and receipts.
const NAME: &str = "planning";

/// How many entries of the progress the prompt holds.
const ENTRIES: usize = 10;

impl Stage {
    pub(super) fn planning_started(&mut self) -> Result<Event, Failure> {
        self.note(&state::Event::LoopStarted {
            mode: NAME.to_owned(),
            plan: self.plan.to_string(),
        });
        let shown = self.plan.strip_prefix(self.project.root()).unwrap_or(&self.plan);
        self.view.line(format!("planning: {shown}"));
        let specs = &self.config.run.specs;
        if !self.project.root().join(specs).exists() {
            self.view
                .warn(format!("there is no folder {specs}; the agent plans from the code alone"));
        }
        self.run_started_script()
    }

    pub(super) fn choose_planning(&self) -> Event {
        let choice = Choice::Story(NAME.to_owned());
        Event::Chosen { choice, seconds: self.elapsed().as_secs_f64() }
    }

    pub(super) fn begin_planning(&mut self, state: &State) -> Result<Event, Failure> {
        let (_, status) = Checkpoint::create_for(
            &self.repo,
            self.state(),
            "before planning",
            Some(&self.run),
            None,
        )?;
        let draft = Draft::begin(&self.run, &self.plan, &status)?;
        draft.save(self.state())?;
        self.draft = Some(draft);
        let iteration = state.counters.iteration;
        self.view.line(format!("iteration {iteration}: {NAME}"));
        let number = u32::try_from(iteration).unwrap_or(u32::MAX);
        self.note(&state::Event::IterationStarted { iteration: number });
        Ok(Event::Begun)
    }

    pub(super) fn run_planner(&mut self, state: &State) -> Result<Event, Failure> {
        let draft = self.draft()?;
        let prompt = self.planning_prompt()?;
        self.allowance = self.allowance(state);
        self.forget_session()?;
        let run = self.watch_agent(NAME, state.counters.iteration, &prompt)?;
        self.note_window(&run);
        self.repo.quit_operation()?;
        self.finish_rollback_of_hooks(&draft.began)?;
        self.report = report_of(&run, None);
        let end = self.judge_planning(&run);
        Ok(Event::Worked { end, spent: spent_by(&run), exit_code: run.exit_code(), failures: 0 })
    }

    /// There is one story, so that its limits are those of the run.
    fn judge_planning(&mut self, run: &Run) -> WorkEnd {
        let end = match self.judge(run, None, false) {
            WorkEnd::StorySpent(why) => WorkEnd::Spent(why),
            end => end,
        };
        self.count_quota(run, &end);
        end
    }

    /// Takes the plan as the agent left it, or says why not.
    pub(super) fn settle_draft(&mut self, state: &State) -> Result<Event, Failure> {
        let draft = self.draft()?;
        self.take_back_all_but_the_plan(&draft, "changed while planning")?;
        let found = plan::read_file(&self.plan).unwrap_or_default();
        let settlement = match found {
            None => Settlement::Failed(format!("the agent did not write {}", self.plan)),
            Some(found) => match self.planned(&draft, found) {
                Err(why) => Settlement::Failed(format!("the agent left no usable plan: {why}")),
                Ok(planned) if draft.before() == Some(planned.bytes.as_slice()) => {
                    Settlement::NothingChanged
                }
                Ok(planned) => {
                    if let Some(kept) = draft.copy_before(self.state())? {
                        self.view.line(format!("the plan as it was is kept in {kept}"));
                    }
                    self.take_plan(&planned)?;
                    self.tell_of_cost(state);
                    Settlement::Planned
                }
            },
        };
        Ok(Event::Settled(settlement))
    }

    fn take_plan(&mut self, planned: &Planned) -> Result<(), Failure> {
        if plan::read_file(&self.plan)?.as_ref() != Some(&planned.bytes) {
            state::replace_users(&self.plan, &planned.bytes)?;
        }
        self.draft = None;
        Draft::forget(self.state())?;
        Checkpoint::clear(self.state())?;
        let counts = self.load_plan()?.counts();
        let open = counted(counts.open, "open story", "open stories");
        self.view.line(format!("the plan has {open}"));
        Ok(())
    }

    /// The plan that the agent wrote, with its ticks undone and what was done before put back.
    fn planned(&self, draft: &Draft, found: Vec<u8>) -> Result<Planned, String> {
        let options = project_plan::options(&self.config);
        let parse = |bytes: Vec<u8>| Plan::parse(&self.plan, bytes, &options);
        let before = draft.before().and_then(|before| parse(before.to_vec()).ok());
        let after = parse(found).map_err(|error| error.to_string())?;
        let planned = plan::planned(before.as_ref(), &after);
        if !planned.lost.is_empty() {
            let stories = planned.lost.join(", ");
            return Err(format!("it removed {stories}, done before, and they fit nowhere in it"));
        }
        parse(planned.bytes.clone()).map_err(|error| error.to_string())?;
        let undone = [
            (&planned.unticked, "ticked", " while planning, with nothing checked; undone"),
            (&planned.ticked_again, "opened", ", done before and no different now; ticked again"),
            (&planned.grown, "changed", ", done before; open again for what is new in them"),
            (&planned.put_back, "removed", ", done before; put back"),
            (&planned.removed, "removed", ", not done before; the plan is without"),
        ];
        let tell = |(stories, did, what): (&Vec<String>, &str, &str)| {
            (!stories.is_empty()).then(|| format!("{did} {}{what}", stories.join(", ")))
        };
        let findings: Vec<String> = undone.into_iter().filter_map(tell).collect();
        findings.iter().for_each(|what| self.view.warn(format!("the agent {what}")));
        if !findings.is_empty() {
            self.note(&state::Event::PlanRepaired { findings });
        }
        Ok(planned)
    }

    /// An agent that tells its cost at its end only may have spent more than it was allowed.
    fn tell_of_cost(&self, state: &State) {
        let (spent, most) = (state.counters.spent.cost_usd, self.config.limits.max_cost_usd);
        if most > 0.0 && spent > most {
            self.view.warn(format!("planning cost ${spent:.2}, and ${most:.2} were allowed"));
        }
    }

    /// Takes back all that the agent did; its draft of the plan is kept.
    pub(super) fn take_back_draft(
        &mut self,
        outcome: Outcome,
        why: &str,
    ) -> Result<Event, Failure> {
        let draft = self.draft()?;
        let headline = why.lines().next().unwrap_or_default();
        self.view.line(format!("{NAME}: {headline}"));
        self.take_back_all_but_the_plan(&draft, headline)?;
        self.put_plan_back(&draft, headline)?;
        self.outcome = Some(outcome);
        Ok(Event::RolledBack { changed: false })
    }

    fn put_plan_back(&mut self, draft: &Draft, why: &str) -> Result<(), Failure> {
        let why = format!("a draft of the plan: {why}");
        if let Some(kept) = draft.take_back(&self.repo, self.state(), &why)? {
            self.view.line(format!("{NAME}: the plan is as it was; {kept}"));
        }
        Draft::forget(self.state())?;
        Checkpoint::clear(self.state())?;
        self.draft = None;
        Ok(())
    }

    fn take_back_all_but_the_plan(&self, draft: &Draft, why: &str) -> Result<(), Failure> {
        // The plan may be a file of the tree that goes back.
        let written = plan::read_file(draft.plan()).unwrap_or_default();
        // Commits that change no file of the user's are no less the agent's, and neither is a branch.
        let (now, began) = (Position::read(&self.repo)?, draft.position());
        let restored = match now == began {
            true if self.dirty_files()?.is_empty() => None,
            true => git::rollback_changes(&self.repo, self.state(), None, why)?,
            false => Some(git::rollback(&self.repo, self.state(), None, why)?),
        };
        let Some(restored) = restored else { return Ok(()) };
        if now.branch != began.branch {
            let (left, entered) = (began.branch_name(), now.branch_name());
            self.view.warn(format!("the agent left {left} for {entered}; {left} is checked out"));
        }
        if let Some(written) = written
            && plan::read_file(draft.plan()).ok().flatten().as_ref() != Some(&written)
        {
            state::replace_users(draft.plan(), &written)?;
        }
        let saved_as = restored.saved.name.clone();
        let id = git::saved_id(&saved_as).to_owned();
        self.view.warn(format!(
            "the agent changed more than the plan; taken back (`ralph-loop undo {id}`)"
        ));
        self.tell_left_alone(&restored.left_alone);
        let to = draft.head().cloned().unwrap_or_default();
        self.note(&state::Event::RolledBack { to, saved_as, why: why.to_owned() });
        Ok(())
    }

    /// What planning that never got to its end left: the plan is what it was, and so is the tree,
    /// unless somebody has moved the branch since.
    pub(super) fn take_back_left_draft(&mut self) -> Result<(), Failure> {
        let Some(draft) = Draft::load(self.state())? else { return Ok(()) };
        const WHY: &str = "left by planning that was ended";
        if !draft.is_moved_since(&self.repo)? {
            if Checkpoint::load(self.state())?.is_some() {
                self.take_back_all_but_the_plan(&draft, WHY)?;
            }
            return self.put_plan_back(&draft, WHY);
        }
        self.view.line("the branch moved since planning was interrupted; kept as it is");
        let is_missing = draft.plan().symlink_metadata().is_err();
        if !is_missing && !settle::is_plan_committed(&self.repo, draft.plan())? {
            return self.put_plan_back(&draft, WHY);
        }
        // Whoever moved it chose the plan that is committed there, or a branch that has none.
        if is_missing && let Some(copy) = draft.copy_before(self.state())? {
            self.view
                .warn(format!("{} is not there; as it was, it is kept as {copy}", draft.plan()));
        }
        Draft::forget(self.state())?;
        Ok(Checkpoint::clear(self.state())?)
    }

    fn draft(&self) -> Result<Draft, Failure> {
        let none = || std::io::Error::other("nothing is being planned");
        Ok(self.draft.clone().ok_or_else(none)?)
    }

    fn planning_prompt(&self) -> Result<String, Failure> {
        let progress_path = StateDir::progress_beside(&self.plan);
        let logged = progress::logged(&fs_err::read(&progress_path).unwrap_or_default());
        let values = Values {
            plan_path: self.plan.as_str(),
            progress_path: progress_path.as_str(),
            progress: &progress::last_entries(&logged, ENTRIES),
            spec_dir: &self.config.run.specs,
            ..Values::default()
        };
        Ok(Template::parse(prompt::PLANNING).map_err(Failure::usage)?.render(&values))
    }
}
