//! What an agent did to its own file of the plan, compared with the one that it was given.
//!
//! The agent owns the work, not the plan: the project's plan stays as it is. The agent's word about
//! its own story is heard, and its new stories go to the end (`added.rs`); all else is reported and
//! has no effect.

use super::added::Added;
use super::blocks::{self, Block};
use super::edit::{self, Edit};
use super::lines::{BOM, lines};
use super::story::{Format, Marks, Plan, State, Story};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;

/// What the agent's file of the plan says, compared with the one that it was given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentsPlan {
    /// What it says about its own story by marking it: done or blocked.
    pub claimed: Option<State>,
    /// Boxes that it added to its own story and left open: the story is not done, then.
    pub open_tasks: Vec<String>,
    /// New stories, to be put at the end by [`Plan::with_added`].
    pub(super) added: Vec<Added>,
    /// Everything else that it did to the plan.
    pub findings: Vec<Finding>,
}

/// One thing that an agent did to its file of the plan and what became of it, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding(String);

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Compares what an agent that worked on `own_story` left with the plan that it was `given`; `left`
/// is `None` when the file is gone.
pub fn agents_plan(given: &Plan, left: Option<&[u8]>, own_story: &str) -> AgentsPlan {
    let mut agents = AgentsPlan::default();
    match left.map(|bytes| Plan::parse(&given.path, bytes.to_vec(), &given.options)) {
        _ if left == Some(&given.bytes) => {}
        None => agents.note("removed the plan; ignored".to_owned()),
        Some(Err(error)) => {
            agents.note(format!("left a plan that cannot be read ({error}); ignored"));
        }
        Some(Ok(left)) if left.format != given.format => {
            agents.note("left a plan in another format; ignored".to_owned());
        }
        Some(Ok(left)) => agents.compare(given, &left, own_story),
    }
    agents
}

impl Plan {
    /// The bytes of this plan with the new stories of an agent at its end, open, whatever the agent
    /// marked. Those whose ids are there already are left out, and so are those with which the plan
    /// would read differently. All other bytes stay.
    pub fn with_added(&self, agents: &AgentsPlan) -> Vec<u8> {
        self.extended(&agents.added).bytes
    }
}

impl AgentsPlan {
    /// The ids of the new stories.
    pub fn added(&self) -> impl Iterator<Item = &str> {
        self.added.iter().map(|new| new.id.as_str())
    }

    fn note(&mut self, sentence: String) {
        self.findings.push(Finding(sentence));
    }

    fn compare(&mut self, given: &Plan, left: &Plan, own_story: &str) {
        let own = given.story(own_story).map(|story| &story.id);
        let pairs = pairs(given, left);
        for (old, new) in &pairs {
            match new {
                None => self.note(format!("removed {}; ignored", old.id)),
                Some(new) if own == Some(&old.id) => self.hear((given, old), (left, new)),
                Some(new) => self.note_changes((given, old), (left, new)),
            }
        }
        let places = || pairs.iter().filter_map(|(_, new)| Some(new.as_ref()?.span.start));
        if !places().is_sorted() {
            self.note("changed the order of the stories; ignored".to_owned());
        }
        if around(given) != around(left) {
            self.note("changed text around the stories; ignored".to_owned());
        }
        let known: HashSet<usize> = places().collect();
        let new = left.stories.iter().filter(|story| !known.contains(&story.span.start));
        let open = |story| Added::new(left, story, left.opening(story, true));
        self.take(given, new.map(open).collect());
    }

    /// What the agent says about its own story.
    fn hear(&mut self, old: (&Plan, &Story), new: (&Plan, &Story)) {
        let state = new.1.state;
        self.claimed = Some(state).filter(|state| *state != State::Open && *state != old.1.state);
        // Another wording of a box that was there is no addition.
        if new.0.boxes(new.1).count() > old.0.boxes(old.1).count() {
            let added = new_boxes(old, new).into_iter();
            let open = added.filter(|(mark, _)| new.0.box_state(mark) != State::Done);
            let text = |(_, text): (_, &[u8])| String::from_utf8_lossy(text).into_owned();
            self.open_tasks = open.map(text).collect();
        }
        if self.open_tasks.is_empty() && words(old) != words(new) {
            self.note(format!("edited its own story {}; ignored", old.1.id));
        }
    }

    fn note_changes(&mut self, old: (&Plan, &Story), new: (&Plan, &Story)) {
        let id = &old.1.id;
        let verb = match new.1.state {
            State::Done => "ticked",
            State::Blocked => "blocked",
            State::Open => "reopened",
        };
        let is_marked = old.1.state != new.1.state;
        if is_marked {
            self.note(format!("{verb} {id}, which is not its story; ignored"));
        }
        let is_renamed = (id, &old.1.title) != (&new.1.id, &new.1.title);
        if is_renamed {
            self.note(format!(
                "renamed {id}, which is not its story, to `{}`; ignored",
                new.1.title
            ));
        }
        let ((old_head, old_rest), (new_head, new_rest)) = (words(old), words(new));
        if old_rest != new_rest
            || old.1.optional != new.1.optional
            || (!is_renamed && old_head != new_head)
            || (!is_marked && box_states(old) != box_states(new))
        {
            self.note(format!("edited {id}, which is not its story; ignored"));
        }
    }

    /// Takes the new stories that fit into the plan.
    fn take(&mut self, given: &Plan, mut new: Vec<Added>) {
        let known = box_texts(given);
        new.retain(|new| !new.head.as_ref().is_some_and(|text| known.contains(text)));
        let extended = given.extended(&new);
        for new in new {
            let (id, title) = (&new.id, &new.title);
            if extended.story(id).is_some() {
                self.note(format!("added {id} ({title}); kept at the end"));
                self.added.push(new);
            } else {
                self.note(format!("added {id} ({title}), which does not fit at the end; ignored"));
            }
        }
    }
}

/// Each story of the given plan with what the agent made of it: the one with its id or, where the
/// id is gone, the one in its place, if it has the same title or ids are made from titles there.
fn pairs<'a>(given: &'a Plan, left: &'a Plan) -> Vec<(&'a Story, Option<&'a Story>)> {
    let mut next = 0;
    let pair = |old: &'a Story| {
        let at = left.by_key.get(&old.id.to_ascii_lowercase()).copied().or_else(|| {
            let new = left.stories.get(next)?;
            let is_same = new.title == old.title || (new.has_made_id() && old.has_made_id());
            (is_same && given.story(&new.id).is_none()).then_some(next)
        });
        next = at.map_or(next, |at| at + 1);
        (old, at.and_then(|at| left.stories.get(at)))
    };
    given.stories.iter().map(pair).collect()
}

/// What a story says, without its marks: its title and, part by part, the rest.
fn words((plan, story): (&Plan, &Story)) -> (String, Vec<String>) {
    let section = plan.section(story);
    let Marks::Boxes(marks) = &story.marks else {
        let object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(section).unwrap_or_default();
        let is_word = |(key, value): &(&String, &serde_json::Value)| {
            !["passes", "blocked"].contains(&key.as_str()) && value.as_str() != Some(&story.title)
        };
        let rest = object.iter().filter(is_word).map(|(key, value)| format!("{key}: {value}"));
        return (story.title.clone(), rest.collect());
    };
    let start = story.span.start;
    let unmarked = marks
        .iter()
        .map(|mark| Edit { range: mark.start - start..mark.end - start, text: Vec::new() });
    let mut lines = plain_lines(&edit::apply(section, unmarked.collect())).into_iter();
    (lines.next().unwrap_or_default(), lines.collect())
}

/// Lines without their ends and without blank ones: an editor that changes those changes no story.
fn plain_lines(bytes: &[u8]) -> Vec<String> {
    let text = lines(bytes).map(|line| String::from_utf8_lossy(line.text.trim_ascii_end()).into());
    text.filter(|line: &String| !line.is_empty()).collect()
}

/// What stands outside of all stories.
fn around(plan: &Plan) -> Vec<String> {
    if plan.format == Format::Markdown {
        let stories = plan.stories.iter();
        let cut = stories.map(|story| Edit { range: story.span.clone(), text: Vec::new() });
        return plain_lines(&edit::apply(&plan.bytes, cut.collect()));
    }
    let file: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(plan.bytes.strip_prefix(BOM).unwrap_or(&plan.bytes))
            .unwrap_or_default();
    let members =
        file.iter().filter(|(key, _)| !["features", "userStories"].contains(&key.as_str()));
    members.map(|(key, value)| format!("{key}: {value}")).collect()
}

fn box_states((plan, story): (&Plan, &Story)) -> Vec<State> {
    plan.boxes(story).map(|(mark, _)| plan.box_state(mark)).collect()
}

/// The texts of all boxes of a plan. What was one already does not become a story by being moved.
fn box_texts(plan: &Plan) -> HashSet<Vec<u8>> {
    let blocks = match plan.format {
        Format::Markdown => blocks::scan(&plan.bytes).unwrap_or_default(),
        Format::FeatureList | Format::Prd => Vec::new(),
    };
    let text = |block: Block| match block {
        Block::Task(task) => plan.bytes.get(task.text).map(<[u8]>::to_vec),
        _ => None,
    };
    blocks.into_iter().filter_map(text).collect()
}

/// The boxes of a story whose words are not those of a box that it had.
pub(super) fn new_boxes<'a>(
    old: (&'a Plan, &'a Story),
    new: (&'a Plan, &'a Story),
) -> Vec<(&'a Range<usize>, &'a [u8])> {
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    old.0.boxes(old.1).for_each(|(_, text)| *known.entry(text).or_default() += 1);
    let mut found = Vec::new();
    for (mark, text) in new.0.boxes(new.1) {
        match known.get_mut(text) {
            Some(count) if *count > 0 => *count -= 1,
            _ => found.push((mark, text)),
        }
    }
    found
}

#[cfg(test)]
mod tests;
