//! Compares an agent's copy of the plan with the plan that the agent was given.
//!
//! The agent owns the work, not the plan: the project's plan stays unchanged. The agent may mark
//! its own story, and its new stories are appended (`added.rs`); every other change is reported and
//! has no effect.

use super::added::Added;
use super::edit::{self, Edit};
use super::story::{AgentStories, Marks, Plan, State, Story};
use std::collections::HashSet;

/// The changes that an agent made to its copy of the plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentsPlan {
    /// The agent's mark on its own story: done or blocked.
    pub claimed: Option<State>,
    /// New stories, to be appended by [`Plan::with_added`].
    pub(super) added: Vec<Added>,
    /// The agent's other changes and how each was handled, one sentence each.
    pub findings: Vec<String>,
}

/// Compares the plan that an agent `left` with the one that it was `given` to work on `own_story`;
/// `left` is `None` if the file is gone.
pub fn agents_plan(given: &Plan, left: Option<&[u8]>, own_story: &str) -> AgentsPlan {
    let mut agents = AgentsPlan::default();
    if left == Some(&given.bytes) {
        return agents;
    }
    match left.map(|bytes| Plan::parse(&given.path, bytes.to_vec(), &given.options)) {
        None => agents.note("deleted the plan; ignored"),
        Some(Err(error)) => {
            agents.note(format!("left an unreadable plan ({error}); ignored"));
        }
        Some(Ok(left)) if left.format != given.format => {
            agents.note("left a plan in another format; ignored");
        }
        Some(Ok(left)) => agents.compare(given, &left, own_story),
    }
    agents
}

impl Plan {
    /// Returns the bytes of this plan with an agent's new stories appended and open, however the
    /// agent marked them. Stories with an existing id are left out, and so are stories that would
    /// change how the plan is read. All other bytes stay the same.
    pub fn with_added(&self, agents: &AgentsPlan) -> Vec<u8> {
        self.extended(&agents.added).bytes
    }
}

impl AgentsPlan {
    /// Returns whether the agent added stories.
    pub fn adds_stories(&self) -> bool {
        !self.added.is_empty()
    }

    /// Keeps only the new stories with these ids.
    #[must_use]
    pub fn only<'a>(mut self, ids: impl Iterator<Item = &'a str> + Clone) -> Self {
        self.added.retain(|new| ids.clone().any(|id| id == new.id));
        self
    }

    /// Renames new stories whose ids are taken; returns one sentence for each.
    pub fn avoid_ids_of(&mut self, plan: &Plan) -> Vec<String> {
        let (mut plan, mut said) = (plan.clone(), Vec::new());
        for new in &mut self.added {
            if let Some(renamed) = new.renamed_in(&plan) {
                let (id, title, taken) = (&renamed.id, &new.title, &new.id);
                said.push(format!("added {taken} ({title}), renamed to {id}: the id was taken"));
                *new = renamed;
            }
            plan = plan.extended(std::slice::from_ref(new));
        }
        said
    }

    fn note(&mut self, sentence: impl Into<String>) {
        self.findings.push(sentence.into());
    }

    fn compare(&mut self, given: &Plan, left: &Plan, own_story: &str) {
        let own = given.story(own_story).map(|story| &story.id);
        let pairs = pairs(given, left);
        for (old, new) in &pairs {
            match new {
                None => self.note(format!("removed {}; ignored", old.id)),
                Some(new) => self.compare_story((given, old), (left, new), own == Some(&old.id)),
            }
        }
        let places = || pairs.iter().filter_map(|(_, new)| Some(new.as_ref()?.span.start));
        if !places().is_sorted() {
            self.note("changed the order of the stories; ignored");
        }
        if given.around() != left.around() {
            self.note("changed text around the stories; ignored");
        }
        let known: HashSet<usize> = places().collect();
        let new = left.stories.iter().filter(|story| !known.contains(&story.span.start));
        // Otherwise they are a person's.
        let policy =
            if own_story.is_empty() { AgentStories::Run } else { given.options.agent_stories };
        let added = |story: &&Story| match policy {
            AgentStories::Run if !story.held => Added::new(left, story, State::Open),
            _ => Added::held(left, story),
        };
        let new: Vec<Added> = new.map(|story| added(&story)).collect();
        let extended = given.extended(&new);
        for new in new {
            let (id, title) = (&new.id, &new.title);
            if policy == AgentStories::Refuse {
                self.note(format!("added {id} ({title}); refused, as the settings say"));
            } else if extended.story(id).is_some() {
                let until = if new.is_held() { ", held until a person accepts it" } else { "" };
                self.note(format!("added {id} ({title}); kept at the end{until}"));
                self.added.push(new);
            } else {
                self.note(format!(
                    "added {id} ({title}), which cannot be appended to the plan; ignored"
                ));
            }
        }
    }

    fn compare_story(&mut self, old: (&Plan, &Story), new: (&Plan, &Story), is_own: bool) {
        let (id, state) = (&old.1.id, new.1.state);
        let is_marked = old.1.state != state;
        if is_own {
            self.claimed = Some(state).filter(|state| is_marked && *state != State::Open);
        } else if is_marked {
            let verb = match state {
                State::Done => "ticked",
                State::Blocked => "blocked",
                State::Open => "reopened",
            };
            self.note(format!("{verb} {id}, which is not its story; ignored"));
        }
        let is_edited = words(old) != words(new) || old.1.optional != new.1.optional;
        if is_edited && is_own {
            self.note(format!("edited its own story {id}; ignored"));
        } else if is_edited || (!is_own && !is_marked && box_states(old) != box_states(new)) {
            self.note(format!("edited {id}, which is not its story; ignored"));
        }
    }
}

/// Pairs each story of the given plan with the agent's version: the story with the same id, else
/// the next one if it has the same title or both ids are derived from titles.
fn pairs<'a>(given: &'a Plan, left: &'a Plan) -> Vec<(&'a Story, Option<&'a Story>)> {
    let mut next = 0;
    let pair = |old: &'a Story| {
        let at = left.by_key.get(&old.id.to_ascii_lowercase()).copied().or_else(|| {
            let new = left.stories.get(next)?;
            let is_same =
                new.title == old.title || (new.is_named_by_title() && old.is_named_by_title());
            (is_same && given.story(&new.id).is_none()).then_some(next)
        });
        next = at.map_or(next, |at| at + 1);
        (old, at.and_then(|at| left.stories.get(at)))
    };
    given.stories.iter().map(pair).collect()
}

/// Returns the content of a story without marks and white space: changing those does not edit the
/// story.
pub(super) fn words((plan, story): (&Plan, &Story)) -> Vec<u8> {
    let Marks::Boxes(marks) = &story.marks else {
        let Story { id, title, details, depends, .. } = story;
        return format!("{id}\n{title}\n{details}\n{depends:?}").into_bytes();
    };
    let start = story.span.start;
    let cut = |mark: &std::ops::Range<usize>| mark.start - start..mark.end - start;
    let unmarked = marks.iter().map(|mark| Edit { range: cut(mark), text: Vec::new() });
    edit::without_white_space(edit::apply(plan.section(story), unmarked.collect()))
}

fn box_states((plan, story): (&Plan, &Story)) -> Vec<State> {
    plan.marks(story).iter().map(|mark| plan.box_state(mark)).collect()
}

#[cfg(test)]
mod tests;
