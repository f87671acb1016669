//! The numbered plans of a project: what waits in the others, and the turn to the next one.

use camino::Utf8Path;
use ralph_base::state::{StateDir, plan_name};
use ralph_core::plan::{Next, Plan};

use super::Run;
use super::books::Books;
use super::decide::Finish;
use super::iteration::{Choice, receipt};
use crate::exit::Failure;
use crate::saved;
use crate::terminal::counted;

/// The other numbered plans, the lowest number first; none if this one is not a numbered one.
pub(super) fn other_prds(
    state: &StateDir,
    own: &Utf8Path,
    load: &dyn Fn(&Utf8Path) -> Result<Plan, Failure>,
) -> Result<Vec<(u32, Plan)>, Failure> {
    let mut others = Vec::new();
    if prd_number(state, own).is_none() {
        return Ok(others);
    }
    for number in state.prd_numbers() {
        let path = state.plan(number);
        if path != own && path.is_file() {
            others.push((number, load(&path)?));
        }
    }
    Ok(others)
}

/// Those that follow with open stories, in one line.
pub(super) fn followed_by(others: &[(u32, Plan)]) -> Option<String> {
    let open = others.iter().filter(|(_, plan)| plan.counts().open > 0);
    let told = open.map(|(number, plan)| format!("PRD-{number} ({})", plan.counts().open));
    let told: Vec<String> = told.collect();
    if told.is_empty() { None } else { Some(format!("then {}", told.join(", "))) }
}

fn prd_number(state: &StateDir, plan: &Utf8Path) -> Option<u32> {
    state.prd_numbers().into_iter().find(|number| state.plan(*number) == plan)
}

impl Run {
    /// No story of this plan can be worked on any more; with the reason, if that is not because all
    /// of them are done. The run goes on with the next plan, where that is wanted.
    pub(super) fn leave_plan(&mut self, stuck: Option<String>) -> Result<Choice, Failure> {
        if self.context.part.is_some() {
            // Which plan is next is the run's to say, once all workers are through with this one.
            return Ok(Choice::Finish(stuck.map_or(Finish::Complete, Finish::Blocked)));
        }
        match self.turn_to_next_plan(stuck)? {
            Some(finish) => Ok(Choice::Finish(finish)),
            None => self.choose(),
        }
    }

    /// Goes on with the next plan, where that is wanted; why the run ends, if there is none.
    pub(super) fn turn_to_next_plan(
        &mut self,
        stuck: Option<String>,
    ) -> Result<Option<Finish>, Failure> {
        if self.context.config.run.all_prds {
            let counters = &mut self.record.counters;
            counters.plans_left.insert(self.books.plan.clone());
            if let (Some(why), None) = (&stuck, &counters.stuck) {
                counters.stuck = Some(why.clone());
            }
            let left = &self.record.counters.plans_left;
            let has_work = |plan: &Plan| {
                matches!(plan.next_story(&Default::default()), Next::Story(_))
                    && !left.contains(plan.path())
            };
            let next = self.other_prds()?.into_iter().find(|(_, plan)| has_work(plan));
            if let Some((number, plan)) = next {
                self.turn_to(number, &plan)?;
                return Ok(None);
            }
        }
        let stuck = stuck.or_else(|| self.record.counters.stuck.clone());
        Ok(Some(stuck.map_or(Finish::Complete, Finish::Blocked)))
    }

    /// The other numbered plans.
    pub(super) fn other_prds(&self) -> Result<Vec<(u32, Plan)>, Failure> {
        let load = |path: &Utf8Path| self.books_of(path).load(&self.target);
        other_prds(self.context.state(), &self.books.plan, &load)
    }

    /// All plans of the run as it ends.
    pub(super) fn plans_of_run(&self, own: Plan) -> Vec<Plan> {
        let mut plans = vec![own];
        if self.context.config.run.all_prds {
            let others = self.other_prds().unwrap_or_default();
            plans.extend(others.into_iter().map(|(_, plan)| plan));
        }
        plans
    }

    fn books_of(&self, plan: &Utf8Path) -> Books {
        let context = &self.context;
        let source = &self.workspace.source;
        Books::of(plan, &context.project, &context.config, source, &context.run_dir)
    }

    /// Goes on with another plan. Stories of two plans may have the same ids, so what is counted by
    /// story begins anew; the limits of the run stay what they are.
    fn turn_to(&mut self, number: u32, plan: &Plan) -> Result<(), Failure> {
        self.end_session("this plan has no story left to work on")?;
        // Its progress and its blocked stories are not the next plan's.
        self.record_progress()?;
        self.show_receipts();
        self.record.counters.forget_stories();
        let open = counted(plan.counts().open, "open story", "open stories");
        let shown = self.shown_plan();
        self.context.view.line(format!(
            "{shown} has no story left to work on; continuing with PRD-{number}: {open}"
        ));
        self.books = self.books_of(plan.path());
        let root = self.context.project.root();
        self.books.asked_for = saved::asked_for(&self.workspace.source.git(), root, plan)?;
        *self.context.plan_name.borrow_mut() = plan_name(root, plan.path());
        self.record.plan.clone_from(&self.books.plan);
        self.record.story = None;
        self.save();
        Ok(())
    }

    /// What each story of the plan took.
    pub(super) fn show_receipts(&self) {
        for (story, spent) in &self.record.counters.story_spent {
            self.context.view.line(format!("{story}: {}", receipt(*spent)));
        }
    }
}
