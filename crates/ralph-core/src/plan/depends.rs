//! Dependencies between stories: reads the notes, resolves the ids, and rejects cycles.

use super::ids::{self, Rank};
use super::story::{Draft, Wanted};
use super::{Error, Plan, Story, Warning, syntax};
use std::collections::{HashMap, HashSet};
use std::ops::{Range, RangeInclusive};

/// The words that introduce the ids of dependencies.
const LABELS: [&str; 7] =
    ["depends on", "depends", "dependencies", "blocked by", "requires", "prerequisites", AFTER];

/// Counts only in brackets and before an id, because "after" is common in prose.
const AFTER: &str = "after";

/// Separators after which a label may begin.
const BREAKS: [&str; 10] = [". ", "; ", ", ", ": ", " - ", " – ", " — ", " | ", "(", "["];

/// Returns whether a line may contain a dependency note.
pub(super) fn is_mentioned(line: &[u8]) -> bool {
    let lower = line.to_ascii_lowercase();
    [&b"depend"[..], b"blocked by", b"requires", b"prerequisites", b"(after ", b"[after "]
        .iter()
        .any(|word| syntax::find(&lower, word).is_some())
}

/// A note such as `(depends: US-001)`.
struct Note<'a> {
    list: &'a str,
    /// Offset of the end of its label.
    label_end: usize,
    /// Whether a name that matches no story is an error. Where people also name libraries, tools
    /// and reasons, only ids count.
    strict: bool,
    /// The range of the whole note, if it is in brackets.
    bracketed: Option<Range<usize>>,
}

/// Reads the dependencies in one line of Markdown: `(depends: US-001)` anywhere, `Depends on:` at
/// the start of the line, and `depends on US-001` without a colon if an id follows.
pub(super) fn in_line(line: usize, text: &str) -> Vec<Wanted> {
    let Some(note) = note(text) else { return Vec::new() };
    let strict = note.strict;
    split(note.list).map(|text| Wanted { text: text.to_owned(), line, strict }).collect()
}

/// Removes `(depends: …)` from `title`.
pub(super) fn strip(title: &str) -> String {
    let Some(range) = note(title).and_then(|note| note.bracketed) else {
        return title.trim().to_owned();
    };
    let [before, behind] = [title.get(..range.start), title.get(range.end..)];
    let [before, behind] = [before, behind].map(Option::unwrap_or_default);
    format!("{} {}", before.trim_end(), behind.trim_start()).trim().to_owned()
}

/// Inserts a no-break space after each label, so that the line is read as prose.
pub(super) fn unread(text: &str) -> String {
    let mut text = text.to_owned();
    while let Some(Note { label_end, .. }) = note(&text) {
        let space = text.get(label_end..).is_some_and(|rest| rest.starts_with(' '));
        text.replace_range(label_end..label_end + usize::from(space), "\u{a0}");
    }
    text
}

/// Finds the note in a line: a label at the start or after a separator.
fn note(text: &str) -> Option<Note<'_>> {
    if !is_mentioned(text.as_bytes()) {
        return None;
    }
    let letter = |from: usize| Some(from + text.get(from..)?.find(char::is_alphabetic)?);
    let mut first = letter(0)?;
    // The `x` of the line's own ticked box is not part of a word.
    let around = first.checked_sub(1).and_then(|before| text.get(before..first + 3));
    if matches!(around, Some("[x] " | "[X] ")) {
        first = letter(first + 1)?;
    }
    let breaks = BREAKS.iter().flat_map(|mark| text.match_indices(mark));
    let mut starts: Vec<usize> = breaks.map(|(at, mark)| at + mark.len()).collect();
    starts.push(first);
    starts.sort_unstable();
    starts.into_iter().find_map(|at| note_at(text, at, at == first))
}

fn note_at(text: &str, at: usize, is_first: bool) -> Option<Note<'_>> {
    let part = text.get(at..)?;
    let label_at = part.len() - part.trim_start_matches(['*', '_', ' ']).len();
    let part = part.get(label_at..)?;
    let label = LABELS.into_iter().find(|label| {
        part.get(..label.len()).is_some_and(|head| head.eq_ignore_ascii_case(label))
    })?;
    let behind = part.get(label.len()..)?;
    let list = behind.trim_start_matches(['*', '_', ':', ' ']);
    let mark = behind.get(..behind.len() - list.len()).filter(|mark| !mark.is_empty())?;
    let label_end = at + label_at + label.len();
    let is_strict = label.starts_with("depends");
    // A plain number is rarely an id: `Python 3`.
    let is_id = |id: ids::Leading<'_>| id.rank > Rank::Number;
    let names_id = || split(list).next().and_then(ids::leading).is_some_and(is_id);
    let closing = match text.get(..at)?.chars().next_back() {
        Some('(') => list.find(')'),
        Some('[') => list.find(']'),
        _ => None,
    };
    if let Some(end) = closing
        && (is_strict || label == AFTER && names_id())
    {
        let whole = at - 1..text.len() - list.len() + end + 1;
        let list = list.get(..end)?;
        return Some(Note { list, label_end, strict: is_strict, bracketed: Some(whole) });
    }
    if label == AFTER {
        return None;
    }
    let is_labelled = is_first && mark.contains(':');
    let strict = is_strict && is_labelled;
    (is_labelled || names_id()).then_some(Note { list, label_end, strict, bracketed: None })
}

fn split(list: &str) -> impl Iterator<Item = &str> {
    list.split([',', ';', '&'])
        .flat_map(|part| part.split(" and "))
        .map(|part| part.trim().trim_matches(['*', '_', '`', '[', ']', '.', '~', ' ']))
        .filter(|part| !is_none(part))
}

fn is_none(part: &str) -> bool {
    let first = part.split([' ', '(']).next().unwrap_or_default().to_ascii_lowercase();
    matches!(first.as_str(), "" | "none" | "n/a" | "na" | "-" | "–" | "—" | "nothing" | "no")
}

/// Resolves a range such as `T009-T012` to the positions of its stories.
fn between(text: &str, by_key: &HashMap<String, usize>) -> Option<RangeInclusive<usize>> {
    let (first, last) = text.split_once(['-', '–', '—'])?;
    let at = |id: &str| by_key.get(&ids::lookup_key(id.split('(').next()?)).copied();
    Some(at(first)?..=at(last)?).filter(|range| !range.is_empty())
}

/// Resolves the ids that a story depends on; an unknown name is an error unless it is prose.
pub(super) fn resolve(
    draft: &Draft,
    ids: &[String],
    by_key: &HashMap<String, usize>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<String>, Error> {
    let known = |text: &str| by_key.get(&ids::lookup_key(text)).and_then(|at| ids.get(*at));
    let story = &draft.story.id;
    let mut found: Vec<String> = Vec::new();
    for Wanted { text, line, strict } in &draft.wanted {
        let id = ids::leading(text).filter(|id| id.rank > Rank::Number).map(|id| id.id);
        let words = text.split_whitespace().map(|word| word.trim_matches(['(', ')', '#', '.']));
        let words = words.filter(|word| word.contains('-'));
        let hits: Vec<&String> = match (known(text), between(text, by_key)) {
            (Some(whole), _) => vec![whole],
            (None, Some(range)) => ids.get(range).unwrap_or_default().iter().collect(),
            (None, None) => id.into_iter().chain(words).filter_map(known).collect(),
        };
        let is_name = id.is_some() || !text.contains(char::is_whitespace);
        if hits.is_empty() && is_name && *strict {
            let message = format!(
                "story {story} depends on {text}, which is not a story in this plan; correct the id"
            );
            return Err(Error::at(*line, message));
        }
        if hits.is_empty() && id.is_some() {
            let message = format!(
                "story {story}: `{text}` does not name a story in this plan, so it is ignored; use \
                 a story id to add a dependency"
            );
            warnings.push(Warning { line: *line, message });
        }
        for hit in hits {
            if !found.contains(hit) {
                found.push(hit.clone());
            }
        }
    }
    Ok(found)
}

/// Rejects dependency cycles, direct or indirect.
pub(super) fn check_rings(plan: &Plan) -> Result<(), Error> {
    let mut finished: HashSet<&str> = HashSet::new();
    for root in &plan.stories {
        // An explicit stack, because a chain of dependencies can be as long as the plan.
        let mut path: Vec<&Story> = vec![root];
        let mut on_path: HashSet<&str> = HashSet::from([root.id.as_str()]);
        while let Some(story) = path.last() {
            let depends = story.depends.iter().filter_map(|id| plan.story(id));
            let Some(next) = depends.into_iter().find(|next| !finished.contains(next.id.as_str()))
            else {
                finished.insert(&story.id);
                path.pop();
                continue;
            };
            if !on_path.insert(&next.id) {
                let ring = path.iter().skip_while(|story| story.id != next.id).chain([&next]);
                let ring: Vec<&str> = ring.map(|story| story.id.as_str()).collect();
                let message = format!(
                    "these stories depend on each other: {}; remove one of the dependencies",
                    ring.join(" -> ")
                );
                return Err(Error::at(next.line, message));
            }
            path.push(next);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &[&str]) {
        let found: Vec<_> = in_line(1, line).into_iter().map(|wanted| wanted.text).collect();
        assert_eq!(found, expected, "{line:?}");
    }

    #[test]
    fn dependencies_are_read_from_titles_and_notes() {
        check("- [ ] Add (Depends on US-001 and US-002) soon", &["US-001", "US-002"]);
        check("- [ ] Add [depends: Task 1]", &["Task 1"]);
        check("  - **Depends on:** `US-001`", &["US-001"]);
        check("**Depends on**: US-001; US-002.", &["US-001", "US-002"]);
        check("depends: -", &[]);
        check("It all depends on: luck", &[]);
        check("- [x] Depends on: US-001", &["US-001"]);
        check("Depends on the weather", &[]);
        check("- [ ] US-003: Add - blocked by US-001, US-002", &["US-001", "US-002"]);
        check("- [ ] US-003: Add (after US-001, US-002) soon", &["US-001", "US-002"]);
        check("- [ ] US-003: Add (after lunch)", &[]);
        check("After US-001 this is easy, but after US-002 it is not", &[]);
        check("- **Prerequisites:** US-001", &["US-001"]);
        check("- [ ] (depends: US-001) like - [x] ", &["US-001"]);
        check("- [x] (depends: US-001) like - [x] ", &["US-001"]);
    }

    #[test]
    fn the_dependency_note_is_removed_from_the_title() {
        assert_eq!(strip("Add login (depends: US-001) now"), "Add login now");
        assert_eq!(strip("Add login (after US-001)"), "Add login");
    }
}
