//! Sections of a Markdown plan that are not for working through: optional ones, and those whose
//! boxes are details such as acceptance criteria.

use super::blocks::{Block, Heading};
use super::ids::{self, Leading};
use super::story::Options;
use super::text::Text;
use std::collections::HashSet;

/// Sections whose boxes are for reading over. They would otherwise keep the loop alive for ever.
const CHECKLISTS: [&str; 15] = [
    "acceptance",
    "acceptance criteria",
    "acceptance tests",
    "checklist",
    "completion criteria",
    "definition of done",
    "definition of ready",
    "done when",
    "exit criteria",
    "legend",
    "quality gates",
    "status legend",
    "success criteria",
    "verification",
    "verification checklist",
];

/// What headings say about their sections.
pub(super) struct SectionKinds {
    optional: Vec<String>,
    /// The ids of stories outside of checklists.
    story_ids: HashSet<String>,
}

impl SectionKinds {
    pub(super) fn new(options: &Options, text: Text<'_>, blocks: &[Block]) -> Self {
        let optional = options.optional_sections.iter().map(|name| normal(name)).collect();
        let mut kinds = Self { optional, story_ids: HashSet::new() };
        let mut position = Position::default();
        for block in blocks {
            let range = match block {
                Block::Heading(heading) => {
                    position.enter(text, heading, &kinds);
                    &heading.text
                }
                Block::Task(task) => &task.text,
                Block::Depends { .. } | Block::Lookalike { .. } => continue,
            };
            let title = text.at(range.clone());
            if let Some(id) = ids::leading(&title).filter(|_| !position.is_checklist()) {
                kinds.story_ids.insert(ids::lookup_key(id.id));
            }
        }
        kinds
    }

    /// Whether a heading names an optional section.
    pub(super) fn is_optional(&self, title: &str) -> bool {
        self.optional.contains(&section_name(title))
    }

    /// Whether this is a story although it stands in a checklist: by an id that is only there.
    pub(super) fn is_story_in_checklist(&self, id: &Leading<'_>) -> bool {
        id.names_story() && !self.story_ids.contains(&ids::lookup_key(id.id))
    }
}

/// The name of a section: numbers, emphasis and remarks do not matter.
fn section_name(title: &str) -> String {
    let title = ids::leading(title).map_or(title, |id| id.rest);
    normal(title.split(['(', '[']).next().unwrap_or_default())
}

/// A name without the differences in which people write it: `Nice-to-Have`, `nice to have:`.
fn normal(name: &str) -> String {
    let words =
        name.split(|c: char| c.is_whitespace() || matches!(c, '-' | '\u{2010}'..='\u{2015}'));
    let words = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Where in the outline of the file a line stands.
#[derive(Default)]
pub(super) struct Position {
    section: usize,
    optional_level: Option<usize>,
    checklist_level: Option<usize>,
}

impl Position {
    pub(super) fn enter(&mut self, text: Text<'_>, heading: &Heading, kinds: &SectionKinds) {
        self.section += 1;
        let title = text.at(heading.text.clone());
        let is_checklist = CHECKLISTS.contains(&section_name(&title).as_str());
        for (level, is_one) in [
            (&mut self.optional_level, kinds.is_optional(&title)),
            (&mut self.checklist_level, is_checklist),
        ] {
            if level.is_none_or(|level| heading.level <= level) {
                *level = (is_one && !heading.is_title).then_some(heading.level);
            }
        }
    }

    /// Number of the heading that was entered last, counted from one.
    pub(super) fn section(&self) -> usize {
        self.section
    }

    pub(super) fn is_optional(&self) -> bool {
        self.optional_level.is_some()
    }

    pub(super) fn is_checklist(&self) -> bool {
        self.checklist_level.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_names_are_read_as_people_write_them() {
        for title in ["Nice to Have", "Nice-to-Have", "4. **nice to have**:", "NICE TO HAVE (v2)"] {
            assert_eq!(section_name(title), "nice to have", "{title}");
        }
    }
}
