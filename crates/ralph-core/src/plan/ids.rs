//! Story ids: reading them from a title, making them safe for paths, deriving them from text.
//!
//! The formats decide whether a line with an id is a story.

use ralph_base::state::fingerprint;

/// How strongly an id marks a story of its own; a heading of a lower rank inside the section of a
/// higher one is a part of that story (`#### 1. Background` below `### US-001`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// `PRD-1`, `EPIC-2`: the id of a container of stories.
    Container,
    /// `1.`, `2.3`.
    Number,
    /// `Step 1`.
    Step,
    /// `Task 1`.
    Task,
    /// `Story 1`.
    Story,
    /// `US-001`, `ABC-12`, `T001`.
    Key,
}

/// An id at the start of a title.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Leading<'a> {
    pub(super) id: &'a str,
    pub(super) rank: Rank,
    /// Whether it is separated by more than a space, or zero-padded. Otherwise `SHA-256 sums` would
    /// begin with an id.
    pub(super) firm: bool,
    /// The title after the id.
    pub(super) rest: &'a str,
}

impl Leading<'_> {
    /// Returns whether the id marks a story, and not a step or a criterion of one.
    pub(super) fn names_story(&self) -> bool {
        // `AC-1` numbers an acceptance criterion of a story.
        let is_key = self.rank == Rank::Key && !self.id.to_ascii_lowercase().starts_with("ac-");
        self.firm && (is_key || matches!(self.rank, Rank::Task | Rank::Story))
    }
}

/// Emphasis, code and bracket characters that people put around an id.
const OPENERS: [char; 6] = ['*', '_', '~', '`', '[', '('];
const CLOSERS: [char; 6] = ['*', '_', '~', '`', ']', ')'];
const DASHES: [char; 3] = ['-', '–', '—'];
const WORDS: [(&str, Rank); 3] = [
    ("user story|story|feature|issue|ticket", Rank::Story),
    ("task|item|bug", Rank::Task),
    ("step", Rank::Step),
];
const CONTAINERS: [&str; 8] =
    ["epic", "phase", "milestone", "sprint", "prd", "plan", "spec", "rfc"];

/// Words for numbered headings that contain stories and are not stories themselves.
const GROUPS: &str = "abschnitt area batch block category chapter chapitre day etappe goal group iteration kapitel \
    layer level module option part partie release round section stage teil tier track version wave week woche";

/// The Chinese and Japanese numerals from one to ten.
const NUMERALS: &str = "一二三四五六七八九十";

/// Reads `Aufgabe 1: …` or `任务一：…`: any word with a number, separated from the title. Sibling
/// headings that count upwards like this are stories.
pub(super) fn counted(text: &str) -> Option<(&str, usize, Leading<'_>)> {
    let body = text.trim_start().trim_start_matches(OPENERS);
    let name = body.get(..body.find(|c: char| !c.is_alphabetic() || NUMERALS.contains(c))?)?;
    let lower = name.to_lowercase();
    if name.is_empty() || CONTAINERS.contains(&&*lower) || GROUPS.split(' ').any(|it| it == lower) {
        return None;
    }
    let after = body.get(name.len()..)?.trim_start();
    let (number, length) = match digits(after) {
        Some(length) => (after.get(..length)?.parse().ok()?, length),
        None => {
            let numeral = after.chars().next()?;
            (NUMERALS.chars().position(|it| it == numeral)? + 1, numeral.len_utf8())
        }
    };
    let length = body.len() - after.len() + length;
    let (rest, firm) = behind(body.get(length..)?)?;
    let leading = Leading { id: body.get(..length)?, rank: Rank::Task, firm, rest };
    firm.then_some((name, number, leading))
}

/// Reads the id at the start of `text`.
pub(super) fn leading(text: &str) -> Option<Leading<'_>> {
    let body = text.trim_start().trim_start_matches(OPENERS);
    key(body).or_else(|| word(body)).or_else(|| number(body))
}

fn key(body: &str) -> Option<Leading<'_>> {
    let length = body
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')))
        .unwrap_or(body.len());
    let id = body.get(..length)?.trim_end_matches(['-', '.', '_']);
    let prefix = id.split(['-', '_']).next()?;
    let (_, last) = id
        .rsplit_once('-')
        .unwrap_or_else(|| id.split_at(id.find(|c: char| c.is_ascii_digit()).unwrap_or(id.len())));
    let dashed = id.contains('-');
    let padded = last.starts_with('0') && last.len() > 1;
    let digits = last.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(last);
    let numbered = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    let named = id.starts_with(|c: char| c.is_ascii_alphabetic()) && id.len() <= 40;
    // After `T099` spec-kit continues with `T100`, and people insert `T100a`.
    let is_task = id.strip_prefix('T') == Some(last);
    let is_short = padded && last.len() > 2 && id.len() <= 8;
    if !(named && numbered && (dashed || is_short || is_task)) {
        return None;
    }
    let container = CONTAINERS.iter().any(|name| prefix.eq_ignore_ascii_case(name));
    let (rest, firm) = behind(body.get(id.len()..)?)?;
    let rank = if container { Rank::Container } else { Rank::Key };
    // A short id such as `T1` must be followed by a separator: `T4 instances` has no id.
    if is_task && last.len() < 3 && !firm {
        return None;
    }
    Some(Leading { id, rank, firm: firm || padded || is_task, rest })
}

fn word(body: &str) -> Option<Leading<'_>> {
    let words = WORDS.iter().flat_map(|(names, rank)| names.split('|').map(move |n| (n, *rank)));
    let (name, rank) = words.into_iter().find(|(name, _)| {
        body.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
    })?;
    let after = body.get(name.len()..)?;
    let at = after.find(|c: char| !(c.is_whitespace() || c == '#')).filter(|at| *at > 0)?;
    let length = name.len() + at + digits(after.get(at..)?)?;
    let (rest, firm) = behind(body.get(length..)?)?;
    Some(Leading { id: body.get(..length)?, rank, firm, rest })
}

fn number(body: &str) -> Option<Leading<'_>> {
    let length = digits(body)?;
    let id = body.get(..length)?;
    let after = body.get(length..)?;
    let (rest, firm) = match after.strip_prefix(')') {
        Some(rest) if rest.is_empty() || rest.starts_with(char::is_whitespace) => (rest, true),
        _ => behind(after)?,
    };
    // A number alone (`## 2024`), or one followed by a word (`3 retries`), is not an id.
    let set_apart = !after.is_empty() && (firm || id.contains('.'));
    let short = id.split('.').all(|part| part.len() <= 3);
    (set_apart && short).then_some(Leading {
        id,
        rank: Rank::Number,
        firm: true,
        rest: rest.trim(),
    })
}

/// Returns the length of `12` or `1.2.3` at the start of `text`, without a final full stop.
fn digits(text: &str) -> Option<usize> {
    let length = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number = text.get(..length)?.trim_end_matches('.');
    (number.starts_with(|c: char| c.is_ascii_digit()) && !number.contains(".."))
        .then_some(number.len())
}

/// Returns the title after an id, and whether more than a space separates them.
fn behind(after: &str) -> Option<(&str, bool)> {
    let open = after.trim_start_matches(CLOSERS);
    let closed = open.len() < after.len();
    let spaced = open.trim_start();
    if spaced.is_empty() {
        return Some(("", true));
    }
    if let Some(rest) = spaced.strip_prefix([':', '：', '|']) {
        return Some((rest.trim(), true));
    }
    let gap = spaced.len() < open.len();
    let stopped = open.strip_prefix('.').filter(|rest| rest.starts_with(char::is_whitespace));
    let dashed =
        spaced.strip_prefix(DASHES).filter(|rest| gap && rest.starts_with(char::is_whitespace));
    match stopped.or(dashed) {
        Some(rest) => Some((rest.trim(), true)),
        None => gap.then_some((spaced.trim(), closed)),
    }
}

/// Converts a written id to a form that is safe in a path: `Task 1` becomes `Task-1`.
///
/// Non-ASCII letters are dropped, and a short hash of the original is appended instead.
pub(super) fn safe(written: &str) -> String {
    let written = written.trim();
    let mut id = String::new();
    let mut lost = false;
    for c in written.chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
            id.push(c);
        } else {
            lost |= c.is_alphanumeric();
            if !id.ends_with('-') {
                id.push('-');
            }
        }
    }
    lost |= id.len() > MAX_LENGTH;
    if lost {
        // Leaves room for the hash; `safe` must be idempotent.
        id.truncate(MAX_LENGTH - "-ffffff".len());
    }
    finish(id.trim_matches(['-', '.']), written, lost)
}

/// Returns the same key for all spellings of an id: `Task 1`, `task-1`.
pub(super) fn lookup_key(id: &str) -> String {
    safe(id.trim().trim_start_matches('#')).to_ascii_lowercase()
}

const MAX_LENGTH: usize = 64;
const MAX_SLUG: usize = 48;

/// Derives an id from a title alone, so that changes to other lines do not affect it.
pub(super) fn from_title(title: &str) -> String {
    let words: Vec<_> = title.split_whitespace().map(str::to_lowercase).collect();
    let text = words.join(" ");
    let mut slug = String::new();
    for part in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()) {
        if !slug.is_empty() && slug.len() + 1 + part.len() > MAX_SLUG {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(part);
    }
    slug.truncate(MAX_SLUG);
    // Different titles need different ids, so a hash covers everything that the words leave out.
    let lost = slug.replace('-', " ") != text;
    finish(&slug, &text, lost)
}

fn finish(id: &str, original: &str, lost: bool) -> String {
    if !lost && !id.is_empty() {
        return id.to_owned();
    }
    let id = if id.is_empty() { "story" } else { id };
    format!("{id}-{:06x}", short_hash(original))
}

/// Folds the hash to 24 bits; ids must be the same on every machine and in every release.
fn short_hash(text: &str) -> u64 {
    let hash = fingerprint(text.as_bytes());
    (hash ^ (hash >> 24) ^ (hash >> 48)) & 0x00ff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(&str, &str)>) {
        let found = leading(text);
        let found = found.as_ref().filter(|found| found.firm).map(|found| (found.id, found.rest));
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn usual_id_formats_are_read() {
        check("US-AUTH-01a — Add login", Some(("US-AUTH-01a", "Add login")));
        check("US-1.2: Add", Some(("US-1.2", "Add")));
        check("T1: Add login", Some(("T1", "Add login")));
        check("Story #2: Add", Some(("Story #2", "Add")));
        check("User Story 3 - Add (Priority: P1)", Some(("User Story 3", "Add (Priority: P1)")));
        check("1) Add", Some(("1", "Add")));
        check("1.2. Add", Some(("1.2", "Add")));
    }

    #[test]
    fn ordinary_words_are_not_ids() {
        for text in ["T4 instances", "2024", "Phase 1: Base", "Tasks: 1", "Taskforce 1: x"] {
            check(text, None);
        }
        for text in ["", "-", "12abc: x", "re-run: x", "2024. x", "S3: x", "a-1b2: x"] {
            check(text, None);
        }
    }

    #[test]
    fn written_ids_become_safe_path_components() {
        assert_eq!(safe("a/b"), "a-b");
        for odd in ["日本", "größe-1", "", "..", "---", &"x".repeat(300)] {
            let id = safe(odd);
            assert!(ralph_base::state::Id::parse(&id).is_ok(), "{odd:?} became {id:?}");
            assert_eq!(safe(&id), id);
        }
        assert_ne!(safe("größe"), safe("gräße"));
    }

    #[test]
    fn different_titles_yield_different_ids() {
        assert_eq!(from_title("Set up  the Database"), "set-up-the-database");
        assert_ne!(from_title("Add foo!"), from_title("Add foo?"));
        assert_ne!(from_title("日本"), from_title("日本語"));
        let long = "word ".repeat(40);
        assert_ne!(from_title(&long), from_title(&format!("{long} end")));
        assert!(from_title(&long).len() <= MAX_LENGTH);
    }
}
