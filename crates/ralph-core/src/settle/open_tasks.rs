//! What the agent added to its story and did not do.

use std::io;

use super::attempt::Attempt;
use super::named_files::first_few;
use super::procedure::Place;
use crate::plan::{self, AddedTasks, Plan, added_tasks};

/// The tasks that are named at most.
const NAMED: usize = 5;

/// Why the story is not done by the agent's own account: it added boxes to it and left them open.
/// To be asked before the plan is repaired, which opens those that the agent ticked; they are
/// remembered, because the attempt may go on after that.
pub fn open_tasks(place: &Place<'_>, attempt: &Attempt) -> io::Result<Option<String>> {
    let Ok(Some(now)) = plan::read_file(&attempt.plan) else { return Ok(None) };
    let (Ok(before), Ok(after)) =
        (attempt.plan_before(place), Plan::parse(&attempt.plan, now, &place.plan_options()))
    else {
        return Ok(None);
    };
    let AddedTasks { mut open, ticked } = added_tasks(&before, &after, &attempt.story);
    if open.is_empty() && ticked.is_empty() {
        return Ok(None);
    }
    if let Some(mut known) = Attempt::load(place.state)?.filter(|now| now.is_same_as(attempt)) {
        open.retain(|task| !known.done_tasks.contains(task));
        let new: Vec<String> =
            ticked.into_iter().filter(|task| !known.done_tasks.contains(task)).collect();
        if !new.is_empty() {
            known.done_tasks.extend(new);
            known.save(place.state)?;
        }
    }
    Ok((!open.is_empty()).then(|| told(&attempt.story, &open)))
}

fn told(story: &str, open: &[String]) -> String {
    let named = first_few(open, NAMED);
    format!(
        "the agent added open tasks to {story}: {named}; do them too, or add a story of its own at \
         the end of the plan"
    )
}
