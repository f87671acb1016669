//! Choosing the next story.

use super::story::{Format, Plan, State, Story};
use std::collections::BTreeSet;

/// The result of choosing the next story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next<'a> {
    /// The story to work on.
    Story(&'a Story),
    /// Every story that is not optional is done.
    Complete,
    /// Stories are left, but none of them can be worked on.
    Stuck {
        /// Open stories whose dependencies are not done.
        waiting: Vec<&'a Story>,
        /// Blocked stories, and stories set aside by the caller.
        blocked: Vec<&'a Story>,
    },
}

fn can_go(story: &Story, set_aside: &BTreeSet<String>) -> bool {
    story.state == State::Open && !set_aside.contains(&story.id)
}

impl Plan {
    /// Returns the next story: the first open one in the file (in `prd.json`, by lowest priority
    /// number) whose dependencies are all done. `set_aside` holds ids to skip.
    ///
    /// An optional story is chosen only if a required story depends on it.
    pub fn next_story(&self, set_aside: &BTreeSet<String>) -> Next<'_> {
        let left = self.left();
        if left.is_empty() {
            return Next::Complete;
        }
        if let Some(story) = self.ready_stories(set_aside).first() {
            return Next::Story(story);
        }
        let can_go = |story: &&Story| can_go(story, set_aside);
        let (waiting, blocked) = left.into_iter().partition(can_go);
        Next::Stuck { waiting, blocked }
    }

    /// Returns all stories that could be worked on now, the next one first.
    pub fn ready_stories(&self, set_aside: &BTreeSet<String>) -> Vec<&Story> {
        let mut ready = self.left();
        ready.retain(|story| can_go(story, set_aside) && self.is_ready(story));
        ready
    }

    /// Returns the required stories that are not done, in working order.
    fn left(&self) -> Vec<&Story> {
        let needed = self.stories.iter().zip(self.needed()).filter(|(_, needed)| *needed);
        let mut left: Vec<&Story> = needed.map(|(story, _)| story).collect();
        left.retain(|story| story.state != State::Done);
        if self.format == Format::Prd {
            left.sort_by_key(|story| story.priority.unwrap_or(i64::MAX));
        }
        left
    }

    /// Returns whether all dependencies of a story are done.
    pub fn is_ready(&self, story: &Story) -> bool {
        let is_done = |id: &String| self.story(id).is_some_and(|one| one.state == State::Done);
        story.depends.iter().all(is_done)
    }

    /// Marks the required stories: those that are not optional, and all that they depend on.
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
