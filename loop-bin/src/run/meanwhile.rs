//! What others do to plan and settings while a run goes on: it counts, and it is said.

use std::collections::BTreeSet;

use ralph_base::state::Event;
use ralph_core::plan::{Plan, State};

use super::Run;
use super::context::Context;
use super::decide::CONFIG_CHANGED;

impl Run {
    /// Says what is new since the run last looked.
    pub(super) fn look_for_changes(&mut self, plan: &Plan) {
        let done = plan.stories().iter().filter(|story| story.state == State::Done);
        let done: Vec<&str> = done.map(|story| story.id.as_str()).collect();
        let counters = &mut self.record.counters;
        let mut ticked = counters.newly_ticked(&done);
        // What another worker has landed, or is about to say so, was checked.
        let landed = counters.rest.iter().filter_map(|other| other.done.clone());
        let landed: BTreeSet<String> = landed.flatten().collect();
        ticked.retain(|id| !landed.contains(id) && !self.others.taken.contains_key(id));
        counters.ticked.retain(|id| !landed.contains(id) && !self.others.taken.contains_key(id));
        let is_new = !counters.is_config_changed && self.context.is_config_changed();
        counters.is_config_changed |= is_new;
        for story in ticked {
            let what = "ticked by somebody else during the run; not checked".to_owned();
            self.context.view.warn(format!("{story}: {what}"));
            self.context.note(Some(&story), &Event::ChangedMeanwhile { what });
        }
        if is_new {
            self.context.view.warn(CONFIG_CHANGED);
            let what = CONFIG_CHANGED.to_owned();
            self.context.note(None, &Event::ChangedMeanwhile { what });
        }
    }
}

impl Context {
    fn is_config_changed(&self) -> bool {
        fs_err::read(self.state().config()).ok() != self.config_text
    }
}
