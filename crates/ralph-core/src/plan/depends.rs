//! Which stories a story waits for: reading the notes, resolving the ids, refusing rings.

use super::error::{Located, Problem};
use super::ids::{self, Rank};
use super::story::{Story, Warning};
use super::syntax;
use std::collections::{HashMap, HashSet};

/// A dependency as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) text: String,
    pub(super) line: usize,
    pub(super) strict: bool,
}

/// The words that make a story wait for the ids behind them, and whether a name that is no id is an
/// error there. Where people name libraries, tools and reasons as well, only ids count.
const LABELS: [(&str, bool); 5] = [
    ("depends on", true),
    ("depends", true),
    ("dependencies", false),
    ("blocked by", false),
    ("requires", false),
];

/// Whether a line is worth reading for dependencies.
pub(super) fn is_mentioned(line: &[u8]) -> bool {
    let lower = line.to_ascii_lowercase();
    [&b"depend"[..], b"blocked by", b"requires"]
        .iter()
        .any(|word| syntax::find(&lower, word).is_some())
}

/// Reads the dependencies in one line of Markdown: `(depends: US-001)` anywhere, a line that begins
/// with `Depends on:`, and `depends on US-001` without a colon where an id follows.
pub(super) fn in_line(line: usize, text: &str) -> Vec<Wanted> {
    let wanted = |list: &str, strict| {
        split(list).map(|text| Wanted { text: text.to_owned(), line, strict }).collect()
    };
    if let Some((list, _)) = parenthesised(text) {
        return wanted(list, true);
    }
    let is_mark = |c: char| !c.is_alphabetic();
    let plain = text.trim_start_matches(is_mark);
    // The letter of a ticked box is none of a word.
    let behind_box = plain.strip_prefix("x]").or_else(|| plain.strip_prefix("X]"));
    let plain = behind_box.unwrap_or(plain).trim_start_matches(is_mark);
    if let Some((label, list)) = plain.split_once(':') {
        let label = label.trim_matches(|c: char| !c.is_alphabetic()).to_ascii_lowercase();
        if let Some((_, strict)) = LABELS.into_iter().find(|(known, _)| *known == label) {
            return wanted(list, strict);
        }
    }
    parts(plain).find_map(named_at_once).map_or_else(Vec::new, |list| wanted(list, false))
}

/// The text from each place on where a new thought begins.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let breaks = [". ", "; ", ", ", ": ", " - ", " – ", " — ", " | ", "("];
    let starts = breaks.into_iter().flat_map(|mark| text.match_indices(mark));
    let mut starts: Vec<usize> = starts.map(|(at, mark)| at + mark.len()).collect();
    starts.push(0);
    starts.sort_unstable();
    starts.into_iter().filter_map(|at| text.get(at..))
}

/// What follows words such as `depends on`, if it is an id at once: `depends on US-001`.
fn named_at_once(part: &str) -> Option<&str> {
    let part = part.trim_start_matches(['*', '_', ' ']);
    let behind = LABELS.into_iter().find_map(|(label, _)| {
        part.get(..label.len()).filter(|head| head.eq_ignore_ascii_case(label))?;
        part.get(label.len()..)
    })?;
    let list = behind.trim_start_matches(['*', '_', ':', ' ']);
    let first = split(list).next().and_then(ids::leading);
    let is_id = first.is_some_and(|id| id.rank > Rank::Number);
    (list.len() < behind.len() && is_id).then_some(list)
}

/// `title` without its `(depends: …)`.
pub(super) fn strip(title: &str) -> String {
    match parenthesised(title) {
        Some((_, around)) => format!("{} {}", around.0.trim_end(), around.1.trim_start()),
        None => title.to_owned(),
    }
    .trim()
    .to_owned()
}

/// The list in `(depends: …)` or `[depends on …]`, and what stands before and behind it.
fn parenthesised(text: &str) -> Option<(&str, (&str, &str))> {
    let lower = text.to_ascii_lowercase();
    let (start, closing) = match (lower.find("(depends"), lower.find("[depends")) {
        (Some(start), _) => (start, ')'),
        (None, Some(start)) => (start, ']'),
        (None, None) => return None,
    };
    let inside = text.get(start + "(depends".len()..)?;
    let end = inside.find(closing)?;
    let list = inside.get(..end)?.trim_start();
    let list = match list.get(..2) {
        Some(on) if on.eq_ignore_ascii_case("on") => list.get(2..)?.trim_start(),
        _ => list,
    };
    let behind = inside.get(end + 1..)?;
    Some((list.strip_prefix(':').unwrap_or(list), (text.get(..start)?, behind)))
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

/// The ids that `wanted` means; a name of nothing known is an error unless it is plainly prose.
pub(super) fn resolve(
    wanted: &[Wanted],
    story: &str,
    ids: &[String],
    by_key: &HashMap<String, usize>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<String>, Located> {
    let known = |text: &str| by_key.get(&ids::lookup_key(text)).and_then(|at| ids.get(*at));
    let mut found: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for Wanted { text, line, strict } in wanted {
        let mut hits: Vec<_> = known(text).into_iter().collect();
        let leading = ids::leading(text).filter(|leading| leading.rank > Rank::Number);
        if hits.is_empty() {
            hits.extend(leading.as_ref().and_then(|leading| known(leading.id)));
            let words = text.split_whitespace().map(|word| word.trim_matches(['(', ')', '#', '.']));
            // A number among words is seldom an id: `Python 3`.
            hits.extend(words.filter(|word| word.contains('-')).filter_map(known));
        }
        let unknown = match &leading {
            Some(leading) => known(leading.id).is_none() && known(text).is_none(),
            None => hits.is_empty() && !text.contains(char::is_whitespace),
        };
        if *strict && unknown {
            let wanted = text.clone();
            let problem = Problem::UnknownDependency { story: story.to_owned(), wanted };
            return Err((Some(*line), problem));
        }
        // In prose an id may be that of another plan; one of the same kind may be a slip.
        let is_like = |id: &String| {
            ids::leading(id).map(|id| id.family()) == leading.as_ref().map(|id| id.family())
        };
        if hits.is_empty() && (*strict || (leading.is_some() && ids.iter().any(is_like))) {
            let message = format!(
                "story {story}: `{text}` names no story of this plan and is taken as a note; \
                 write the id of a story to make it wait"
            );
            warnings.push(Warning { line: *line, message });
        }
        found.extend(hits.into_iter().filter(|id| seen.insert(*id)).cloned());
    }
    Ok(found)
}

/// Refuses stories that wait for each other, directly or through others.
pub(super) fn check_cycles(
    stories: &[Story],
    by_key: &HashMap<String, usize>,
) -> Result<(), Located> {
    let index = |id: &String| by_key.get(&id.to_ascii_lowercase()).copied();
    let edges: Vec<Vec<usize>> =
        stories.iter().map(|story| story.depends.iter().filter_map(index).collect()).collect();
    let mut state = vec![Visit::New; stories.len()];
    for root in 0..stories.len() {
        // A walk with its own stack: a chain of dependencies can be as long as the plan.
        let mut path = vec![(root, 0)];
        while let Some((at, next)) = path.last_mut() {
            let at = *at;
            let visit = state.get(at).copied().unwrap_or(Visit::Finished);
            let target = match visit {
                Visit::Finished => None,
                _ => edges.get(at).and_then(|edges| edges.get(*next)).copied(),
            };
            *next += 1;
            mark(&mut state, at, if target.is_some() { Visit::Open } else { Visit::Finished });
            let Some(target) = target else {
                path.pop();
                continue;
            };
            match state.get(target) {
                Some(Visit::Open) => return Err(ring(stories, &path, target)),
                Some(Visit::New) => path.push((target, 0)),
                _ => {}
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum Visit {
    New,
    Open,
    Finished,
}

fn mark(state: &mut [Visit], at: usize, visit: Visit) {
    if let Some(slot) = state.get_mut(at) {
        *slot = visit;
    }
}

fn ring(stories: &[Story], path: &[(usize, usize)], target: usize) -> Located {
    let members = path.iter().map(|(at, _)| *at).skip_while(|at| *at != target);
    let ring: Vec<_> = members
        .chain([target])
        .filter_map(|at| stories.get(at))
        .map(|story| story.id.clone())
        .collect();
    (stories.get(target).map(|story| story.line), Problem::DependencyCycle { ring })
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
        check("### US-003: Add (depends: US-001, US-002)", &["US-001", "US-002"]);
        check("- [ ] Add (Depends on US-001 and US-002) soon", &["US-001", "US-002"]);
        check("- [ ] Add [depends: Task 1]", &["Task 1"]);
        check("  - **Depends on:** `US-001`", &["US-001"]);
        check("**Depends on**: US-001; US-002.", &["US-001", "US-002"]);
        check("Dependencies: Task 3", &["Task 3"]);
        check("Depends on: None (can start at once)", &[]);
        check("depends: -", &[]);
        check("It all depends on: luck", &[]);
        check("Depends on US-001", &["US-001"]);
        check("  - **Depends on** US-001 and US-002", &["US-001", "US-002"]);
        check("- [x] Depends on: US-001", &["US-001"]);
        check("Depends on the weather", &[]);
        check("Blocked by: US-001, legal", &["US-001", "legal"]);
        check("- Requires: US-001", &["US-001"]);
        check("- [ ] US-003: Add, depends on US-001", &["US-001"]);
        check("- [ ] US-003: Add - blocked by US-001, US-002", &["US-001", "US-002"]);
        check("US-004 depends on US-003", &[]);
        check("Requires care, as US-001 showed", &[]);
        check("(depends: US-001", &["US-001"]);
    }

    #[test]
    fn the_note_is_no_part_of_the_title() {
        assert_eq!(strip("Add login (depends: US-001) now"), "Add login now");
        assert_eq!(strip("Add login"), "Add login");
    }
}
