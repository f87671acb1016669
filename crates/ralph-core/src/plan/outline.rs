//! Sections of a Markdown plan whose boxes are not work to do: optional sections, and checklists
//! such as acceptance criteria.

use super::blocks::Heading;
use super::ids;
use super::story::Options;
use super::text::Text;

/// Sections whose boxes are only details. As stories they would keep the loop running forever.
const CHECKLISTS: &str = "\
    acceptance|acceptance criteria|acceptance tests|checklist|completion criteria|\
    definition of done|definition of ready|done when|exit criteria|legend|quality gates|\
    status legend|success criteria|verification|verification checklist";

/// The current position in the outline of the file.
pub(super) struct Outline {
    optional: Vec<String>,
    /// Number of the most recent heading, counted from one.
    pub(super) section: usize,
    optional_level: Option<usize>,
    checklist_level: Option<usize>,
    /// Whether checklist sections are recognised.
    has_checklists: bool,
}

impl Outline {
    /// Starts at the beginning of the file.
    pub(super) fn new(options: &Options, has_checklists: bool) -> Self {
        let optional = options.optional_sections.iter().map(|name| normal(name)).collect();
        let (optional_level, checklist_level) = (None, None);
        Self { optional, section: 0, optional_level, checklist_level, has_checklists }
    }

    pub(super) fn enter(&mut self, text: Text<'_>, heading: &Heading) {
        self.section += 1;
        let name = section_name(&text.at(heading.text.clone()));
        let is_optional = self.optional.contains(&name);
        let is_checklist = CHECKLISTS.split('|').any(|checklist| checklist == name);
        for (level, is_one) in
            [(&mut self.optional_level, is_optional), (&mut self.checklist_level, is_checklist)]
        {
            if level.is_none_or(|level| heading.level <= level) {
                *level = (is_one && !heading.is_title).then_some(heading.level);
            }
        }
    }

    /// Returns whether a heading names an optional section.
    pub(super) fn names_optional(&self, title: &str) -> bool {
        self.optional.contains(&section_name(title))
    }

    pub(super) fn is_optional(&self) -> bool {
        self.optional_level.is_some()
    }

    pub(super) fn is_checklist(&self) -> bool {
        self.has_checklists && self.checklist_level.is_some()
    }
}

/// Returns the name of a section, without numbers, phases, emphasis and remarks.
fn section_name(title: &str) -> String {
    let number = |first: &str| normal(first).strip_prefix("phase ")?.parse::<u32>().ok();
    let phase = title.split_once(':').filter(|(first, _)| number(first).is_some());
    let title = phase.map_or(title, |(_, rest)| rest);
    let title = ids::leading(title).map_or(title, |id| id.rest);
    normal(title.split(['(', '[']).next().unwrap_or_default())
}

/// Removes differences in case, hyphens and punctuation: `Nice-to-Have`, `nice to have:`.
fn normal(name: &str) -> String {
    let words =
        name.split(|c: char| c.is_whitespace() || matches!(c, '-' | '\u{2010}'..='\u{2015}'));
    let words = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_names_are_read_in_usual_spellings() {
        for title in ["Nice-to-Have", "4. **nice to have** (v2):", "Phase 3: Nice to have"] {
            assert_eq!(section_name(title), "nice to have", "{title}");
        }
    }
}
