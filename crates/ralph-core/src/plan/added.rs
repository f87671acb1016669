//! New stories at the end of a plan, without touching another byte of it.

use super::edit::{self, Edit};
use super::lines;
use super::story::{Format, Marks, Plan, State, Story};

/// A story that is to be put into a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Added {
    pub(super) id: String,
    pub(super) title: String,
    format: Format,
    optional: bool,
    /// The text of its box, if it is an item of a list.
    pub(super) head: Option<Vec<u8>>,
    text: Vec<u8>,
}

impl Added {
    /// A story of another plan, with the edits of that plan that are within it.
    pub(super) fn new(plan: &Plan, story: &Story, mut edits: Vec<Edit>) -> Self {
        let start = story.span.start;
        for edit in &mut edits {
            edit.range = edit.range.start - start..edit.range.end - start;
        }
        let mut text = edit::apply(plan.section(story), edits);
        text.truncate(text.trim_ascii_end().len());
        let head = plan.boxes(story).next().filter(|_| plan.is_list_item(story));
        Self {
            id: story.id.clone(),
            title: story.title.clone(),
            format: plan.format,
            optional: story.optional,
            head: head.map(|(_, text)| text.to_vec()),
            text,
        }
    }

    /// Its text with the line endings of `plan`.
    pub(super) fn text_for(&self, plan: &Plan) -> Vec<u8> {
        let lines: Vec<&[u8]> = lines::lines(&self.text).map(|line| line.text).collect();
        lines.join(lines::ending(&plan.bytes).as_bytes())
    }
}

impl Plan {
    /// This plan with those of the new stories that fit.
    pub(super) fn extended(&self, added: &[Added]) -> Self {
        let is_missing = |new: &&Added| new.format == self.format && self.story(&new.id).is_none();
        let missing: Vec<&Added> = added.iter().filter(is_missing).collect();
        // Together first, because they may depend on each other.
        self.with_all(&missing).unwrap_or_else(|| {
            let one_more = |plan: Self, new: &&Added| plan.with_all(&[new]).unwrap_or(plan);
            missing.iter().fold(self.clone(), one_more)
        })
    }

    /// Behind the last story that keeps the loop going, or not, as the new one does; else at the
    /// very end.
    fn with_all(&self, added: &[&Added]) -> Option<Self> {
        let behind_peers = |new: &&Added| {
            let peer = self.stories.iter().rfind(|story| story.optional == new.optional);
            peer.map_or_else(|| self.at_end(new), |peer| self.behind(peer, new))
        };
        let behind_peers: Vec<Edit> = added.iter().map(behind_peers).collect();
        let at_end = added.iter().map(|new| self.at_end(new)).collect();
        [behind_peers, at_end].into_iter().find_map(|edits| {
            let bytes = edit::apply(&self.bytes, edits);
            let plan = Self::parse(&self.path, bytes, &self.options).ok()?;
            self.is_kept_by(&plan, added).then_some(plan)
        })
    }

    /// Whether `plan` is this one with new stories, all of them open and nobody else's text in them.
    fn is_kept_by(&self, plan: &Self, added: &[&Added]) -> bool {
        let find = |story: &Story| added.iter().find(|new| new.id == story.id);
        let (new, old): (Vec<&Story>, Vec<&Story>) =
            plan.stories.iter().partition(|story| find(story).is_some());
        let same = |(one, other): (&Story, &&Story)| {
            let what = |s: &Story| (s.id.clone(), s.title.clone(), s.depends.clone(), s.optional);
            (what(one), one.state) == (what(other), other.state)
                && self.section(one) == plan.section(other)
        };
        let is_new = |story: &&Story| {
            let text = plan.section(story).trim_ascii_end();
            let is_same =
                |new: &&Added| new.optional == story.optional && new.text_for(self) == text;
            story.state == State::Open && find(story).is_some_and(is_same)
        };
        old.len() == self.stories.len()
            && self.stories.iter().zip(&old).all(same)
            && new.len() == added.len()
            && new.iter().all(is_new)
    }

    /// Puts a story behind another one.
    pub(super) fn behind(&self, neighbour: &Story, new: &Added) -> Edit {
        self.insertion(neighbour.span.end, self.gap(neighbour, new), new)
    }

    /// Puts a story behind everything; what ends the file ends it still.
    pub(super) fn at_end(&self, new: &Added) -> Edit {
        match self.stories.last().filter(|last| last.marks == Marks::Object) {
            Some(last) => self.behind(last, new),
            None => {
                let gap = lines::ending(&self.bytes).as_bytes().repeat(2);
                self.insertion(self.bytes.trim_ascii_end().len(), gap, new)
            }
        }
    }

    fn insertion(&self, behind: usize, gap: Vec<u8>, new: &Added) -> Edit {
        let rest = self.bytes.get(behind..).unwrap_or_default();
        // White space at the end of a line stays there.
        let spaces = match self.format {
            Format::Markdown => rest.iter().take_while(|b| matches!(b, b' ' | b'\t')).count(),
            Format::FeatureList | Format::Prd => 0,
        };
        let at = behind + spaces;
        Edit { range: at..at, text: [gap, new.text_for(self)].concat() }
    }

    /// What stands between a story and a new one beside it.
    pub(super) fn gap(&self, neighbour: &Story, new: &Added) -> Vec<u8> {
        if neighbour.marks == Marks::Object {
            let head = self.bytes.get(..neighbour.span.start).unwrap_or_default();
            return [b",", head.get(head.trim_ascii_end().len()..).unwrap_or_default()].concat();
        }
        let is_list = new.head.is_some() && self.is_list_item(neighbour);
        lines::ending(&self.bytes).as_bytes().repeat(if is_list { 1 } else { 2 })
    }

    /// Whether a story begins with its box, and not with a heading.
    fn is_list_item(&self, story: &Story) -> bool {
        let section = self.section(story);
        let first = lines::lines(section).next().map_or(0, |line| line.end());
        let mut boxes = self.boxes(story);
        let on_first_line =
            boxes.next().is_some_and(|(mark, _)| mark.start < story.span.start + first);
        on_first_line && !section.trim_ascii_start().starts_with(b"#")
    }
}
