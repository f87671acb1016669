//! The numbered plans of a project: what waits in the others, and the turn to the next one.

use ralph_core::plan::{Next, Plan};

use super::Run;
use super::books::Books;
use super::decide::Finish;
use super::iteration::{Choice, receipt};
use crate::exit::Failure;
use crate::saved;
use crate::terminal::counted;

impl Run {
    /// No story of this plan can be worked on any more; with the reason, if that is not because all
    /// of them are done. The run goes on with the next plan, where that is wanted.
    pub(super) fn leave_plan(&mut self, stuck: Option<String>) -> Result<Choice, Failure> {
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
                return self.choose();
            }
        }
        let stuck = stuck.or_else(|| self.record.counters.stuck.clone());
        Ok(Choice::Finish(stuck.map_or(Finish::Complete, Finish::Blocked)))
    }

    /// The other numbered plans with open stories, the lowest number first; none if this run's own
    /// plan is not a numbered one.
    pub(super) fn other_prds(&self) -> Result<Vec<(u32, Plan)>, Failure> {
        let state = self.context.state();
        let numbers = state.prd_numbers();
        let mut others = Vec::new();
        if !numbers.iter().any(|number| state.plan(*number) == self.books.plan) {
            return Ok(others);
        }
        for number in numbers {
            let path = state.plan(number);
            if path == self.books.plan || !path.is_file() {
                continue;
            }
            let plan = self.books_of(&path).load(&self.target)?;
            if plan.counts().open > 0 {
                others.push((number, plan));
            }
        }
        Ok(others)
    }

    fn books_of(&self, plan: &camino::Utf8Path) -> Books {
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
        self.context.view.line(format!("{shown} is done; continuing with PRD-{number}: {open}"));
        self.books = self.books_of(plan.path());
        self.books.asked_for = saved::asked_for(&self.workspace.source.git())?;
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
