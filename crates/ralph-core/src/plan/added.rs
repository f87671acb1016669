//! Appends new stories to a plan without changing any other byte of it.

use super::edit::{self, Edit};
use super::ids;
use super::story::{Format, Marks, Plan, State, Story};
use ralph_base::lines;

/// A story to be added to a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Added {
    pub(super) id: String,
    /// The id as written in the text, if it is written there.
    written: Option<String>,
    pub(super) title: String,
    state: State,
    format: Format,
    optional: bool,
    held: bool,
    is_list_item: bool,
    text: Vec<u8>,
}

impl Added {
    /// Copies a story from another plan and sets its state.
    pub(super) fn new(plan: &Plan, story: &Story, state: State) -> Self {
        Self::edited(plan, story, state, plan.marking(story, state))
    }

    /// Copies a story that waits until a person accepts it.
    pub(super) fn held(plan: &Plan, story: &Story) -> Self {
        let edits = if story.held { Vec::new() } else { plan.holding(story) };
        Self { held: true, ..Self::edited(plan, story, State::Blocked, edits) }
    }

    fn edited(plan: &Plan, story: &Story, state: State, edits: Vec<Edit>) -> Self {
        // Editing only this story does not move the text before it, so its start stays valid.
        let edited = edit::apply(&plan.bytes, edits);
        let end = story.span.end + edited.len() - plan.bytes.len();
        let text = edited.get(story.span.start..end).unwrap_or_default().trim_ascii_end();
        let is_object = story.marks == Marks::Object;
        let written = if is_object { Some(story.id.clone()) } else { plan.written_id(story) };
        Self {
            id: story.id.clone(),
            written,
            title: story.title.clone(),
            state,
            format: plan.format,
            optional: story.optional,
            held: false,
            is_list_item: plan.is_list_item(story),
            text: text.to_vec(),
        }
    }
}

impl Added {
    /// Returns whether it waits until a person accepts it.
    pub(super) fn is_held(&self) -> bool {
        self.held
    }

    /// Returns the story with the next free id if a different story of `plan` has its id; else
    /// `None`, also if the id has no number to increase.
    pub(super) fn renamed_in(&self, plan: &Plan) -> Option<Self> {
        plan.story(&self.id).filter(|_| plan.stories.iter().all(|one| one.title != self.title))?;
        let (old, text) = (self.written.as_ref()?, std::str::from_utf8(&self.text).ok()?);
        let new = plan.next_id(old)?;
        let (before, rest) = text.split_at(text.find("\"id\"").unwrap_or(0));
        let text = format!("{before}{}", rest.replacen(old, &new, 1)).into_bytes();
        Some(Self { id: ids::safe(&new), written: Some(new), text, ..self.clone() })
    }
}

impl Plan {
    /// Returns this plan with those new stories that fit.
    pub(super) fn extended(&self, added: &[Added]) -> Self {
        let is_missing = |new: &&Added| new.format == self.format && self.story(&new.id).is_none();
        let missing: Vec<&Added> = added.iter().filter(is_missing).collect();
        // All together first, because they may depend on each other.
        self.with_all(&missing).unwrap_or_else(|| {
            let one_more = |plan: Self, new: &&Added| plan.with_all(&[new]).unwrap_or(plan);
            missing.iter().fold(self.clone(), one_more)
        })
    }

    /// Inserts the stories after the last one that is optional or not like the new one, else at the
    /// very end.
    fn with_all(&self, added: &[&Added]) -> Option<Self> {
        let peer = |new: &&Added| {
            let is_peer = |story: &&Story| story.held || story.optional == new.optional;
            self.stories.iter().rfind(is_peer)
        };
        let behind_peers = added.iter().map(|new| self.insertion(peer(new), new)).collect();
        let at_end = added.iter().map(|new| self.insertion(None, new)).collect();
        [behind_peers, at_end].into_iter().find_map(|edits| {
            let bytes = edit::apply(&self.bytes, edits);
            let plan = Self::parse(&self.path, bytes, &self.options).ok()?;
            self.is_kept_by(&plan, added).then_some(plan)
        })
    }

    /// Returns whether `plan` differs from this one only by the new stories, read as intended.
    fn is_kept_by(&self, plan: &Self, added: &[&Added]) -> bool {
        let find = |story: &Story| added.iter().find(|new| new.id == story.id);
        let (new, old): (Vec<&Story>, Vec<&Story>) =
            plan.stories.iter().partition(|story| find(story).is_some());
        let what = |story: &Story| (story.id.clone(), story.state, story.optional);
        let same = |(one, other): (&Story, &&Story)| {
            what(one) == what(other)
                && one.depends == other.depends
                && self.section(one) == plan.section(other)
        };
        let is_new = |story: &&Story| {
            find(story).is_some_and(|new| {
                what(story) == (new.id.clone(), new.state, new.optional || new.held)
            })
        };
        old.len() == self.stories.len()
            && self.stories.iter().zip(&old).all(same)
            && new.len() == added.len()
            && new.iter().all(is_new)
            && self.around() == plan.around()
    }

    /// Inserts a story after `neighbour`, or at the end of the plan; trailing spaces and line
    /// endings stay last.
    fn insertion(&self, neighbour: Option<&Story>, new: &Added) -> Edit {
        let ending = lines::ending(&self.bytes).as_bytes();
        let text: Vec<&[u8]> = lines::lines(&new.text).map(|line| line.text).collect();
        let text = text.join(ending);
        if let Some(last) = self.stories.last().filter(|last| last.marks == Marks::Object) {
            let head = self.bytes.get(..last.span.start).unwrap_or_default();
            let gap = head.get(head.trim_ascii_end().len()..).unwrap_or_default();
            return Edit::insert(last.span.end, [b",", gap, &text].concat());
        }
        let behind = neighbour.map_or(self.bytes.trim_ascii_end().len(), |story| story.span.end);
        let is_list = new.is_list_item && neighbour.is_some_and(|story| self.is_list_item(story));
        let gap = ending.repeat(if is_list { 1 } else { 2 });
        let rest = self.bytes.get(behind..).unwrap_or_default();
        let spaces = rest.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        Edit::insert(behind + spaces, [gap, text].concat())
    }

    /// Returns the id of a story as written in front of its title.
    fn written_id(&self, story: &Story) -> Option<String> {
        let line = lines::lines(self.section(story)).next().map_or(&[][..], |line| line.text);
        let mark = self.marks(story).first().map(|mark| mark.end - story.span.start);
        let text = String::from_utf8_lossy(line);
        let behind = match mark.filter(|end| *end < line.len()) {
            Some(end) => text.get(end..)?.trim_start_matches(']'),
            None => text.trim_start().trim_start_matches('#'),
        };
        let found = ids::leading(behind.trim_start())?;
        (ids::safe(found.id) == story.id).then(|| found.id.to_owned())
    }

    /// Returns the next free id, made by increasing the number at the end of `id`.
    fn next_id(&self, id: &str) -> Option<String> {
        let digits = id.chars().rev().take_while(char::is_ascii_digit).count();
        let (before, number) = id.split_at_checked(id.len() - digits)?;
        let number: u64 = number.parse().ok()?;
        let ids = (number..).skip(1).map(|number| format!("{before}{number:0digits$}"));
        ids.take(self.stories.len() + 1).find(|id| self.story(id).is_none())
    }

    /// Returns whether a story begins with its box and not with a heading.
    fn is_list_item(&self, story: &Story) -> bool {
        let section = self.section(story);
        let first = lines::lines(section).next().map_or(0, |line| line.end());
        let marks = self.marks(story);
        let on_first_line = marks.first().is_some_and(|mark| mark.start < story.span.start + first);
        on_first_line && !section.trim_ascii_start().starts_with(b"#")
    }
}
