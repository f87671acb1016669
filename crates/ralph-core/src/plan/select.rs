//! Which story is next, and whether there is one.

use super::story::{Format, Plan, State, Story};
use std::collections::BTreeSet;

/// The answer to "what now?".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next<'a> {
    /// Work on this one.
    Story(&'a Story),
    /// Every story that is not optional is done.
    Complete,
    /// Something is left, but nothing that can be worked on.
    Stuck {
        /// Open stories that wait for others.
        waiting: Vec<&'a Story>,
        /// Stories that are blocked, or set aside by the caller.
        blocked: Vec<&'a Story>,
    },
}

impl Plan {
    /// The next story: the first open one in the file, in `prd.json` the one with the lowest
    /// priority number, whose dependencies are all done. `set_aside` holds ids to pass over.
    ///
    /// A story of an optional section is chosen only if a story that counts depends on it.
    pub fn next_story(&self, set_aside: &BTreeSet<String>) -> Next<'_> {
        let needed = self.stories.iter().zip(self.needed()).filter(|(_, needed)| *needed);
        let mut left: Vec<&Story> = needed.map(|(story, _)| story).collect();
        left.retain(|story| story.state != State::Done);
        if self.format == Format::Prd {
            left.sort_by_key(|story| story.priority.unwrap_or(i64::MAX));
        }
        if left.is_empty() {
            return Next::Complete;
        }
        let can_go = |story: &&Story| story.state == State::Open && !set_aside.contains(&story.id);
        let ready = |story: &&&Story| can_go(story) && self.is_ready(story);
        if let Some(story) = left.iter().find(ready) {
            return Next::Story(story);
        }
        let (waiting, blocked) = left.into_iter().partition(can_go);
        Next::Stuck { waiting, blocked }
    }

    /// Whether all that a story depends on is done.
    pub fn is_ready(&self, story: &Story) -> bool {
        let is_done = |id: &String| self.story(id).is_some_and(|one| one.state == State::Done);
        story.depends.iter().all(is_done)
    }

    /// Marks the stories that are not optional and all that these depend on.
    fn needed(&self) -> Vec<bool> {
        let mut needed: Vec<bool> = self.stories.iter().map(|story| !story.optional).collect();
        let mut to_visit: Vec<&Story> =
            self.stories.iter().filter(|story| !story.optional).collect();
        while let Some(story) = to_visit.pop() {
            for at in story.depends.iter().filter_map(|id| self.by_key.get(&id.to_lowercase())) {
                let found = (needed.get_mut(*at), self.stories.get(*at));
                if let (Some(slot @ false), Some(other)) = found {
                    *slot = true;
                    to_visit.push(other);
                }
            }
        }
        needed
    }
}
