//! The example plan, which a person must replace before a run.

use ralph_core::plan::{Plan, State, Story};

use crate::here;

/// The plan that `init` writes.
pub(crate) const PLAN: &str = include_str!("example.md");

/// Finds stories of the example that `init` writes; they must be replaced before a run.
pub(crate) fn example_in(plan: &Plan) -> Option<String> {
    let is_example = |story: &Story| PLAN.contains(&format!(": {}\n", story.title));
    let mut open = plan.stories().iter().filter(|story| story.state == State::Open);
    let place =
        format!("{} of {}", open.find(|story| is_example(story))?.id, here::shown(plan.path()));
    Some(format!("{place} is still the example that `ralph-loop init` wrote; replace or remove it"))
}
