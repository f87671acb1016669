//! What a plan was read as: its bytes, untouched, and the stories found in them.
//!
//! Reading is `parse.rs`, changing is `edit.rs`, choosing is `select.rs`.

use super::ids;
use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::texts::texts;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// How far a story has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// To be worked on.
    Open,
    /// Ticked.
    Done,
    /// Marked as waiting for a person.
    Blocked,
}

/// The shape of a plan file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Headings and checkboxes.
    Markdown,
    /// A list of features with `passes`.
    FeatureList,
    /// `userStories` with priorities.
    Prd,
    /// Task Master's `tasks` with `status`.
    TaskMaster,
}

/// The usual names of optional sections.
const OPTIONAL: [&str; 12] = [
    "Optional",
    "Optional Tasks",
    "Future",
    "Future Work",
    "Future Enhancements",
    "Nice to Have",
    "Backlog",
    "Out of Scope",
    "Deferred",
    "Stretch Goals",
    "Open Questions",
    "Future Improvements",
];

/// What the user can set about reading plans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Names of sections whose stories do not keep the loop going; case and hyphens do not matter.
    #[serde(deserialize_with = "names")]
    pub optional_sections: Vec<Cow<'static, str>>,
    /// The tag of Task Master's whose tasks count; no setting of ours, Task Master keeps it.
    #[serde(skip)]
    pub tag: String,
}

impl Default for Options {
    fn default() -> Self {
        let optional_sections = OPTIONAL.map(Cow::Borrowed).to_vec();
        Self { optional_sections, tag: String::new() }
    }
}

fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Cow<'static, str>>, D::Error> {
    Ok(texts(deserializer)?.into_iter().map(Cow::Owned).collect())
}

/// One piece of work in a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Story {
    /// Unique in its plan and safe as a path part.
    pub id: String,
    /// Its title without the id.
    pub title: String,
    /// How far it has come.
    pub state: State,
    /// Notes, steps and acceptance, as they are written.
    pub details: String,
    /// Ids of the stories that must be done first.
    pub depends: Vec<String>,
    /// Lower numbers go first; only `prd.json` has them.
    pub priority: Option<i64>,
    /// Whether it stands in a section that does not keep the loop going.
    pub optional: bool,
    /// Where it begins, counted from one.
    pub line: usize,
    #[serde(skip)]
    pub(super) span: Range<usize>,
    #[serde(skip)]
    pub(super) marks: Marks,
}

impl Story {
    /// Whether its id is made from its title: it says nothing more, and another title is another id.
    pub fn is_named_by_title(&self) -> bool {
        self.id.starts_with(&ids::from_title(&self.title))
    }
}

/// Where the state of a story is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Marks {
    /// The characters between the brackets of boxes, or boxes that are one character.
    Boxes(Vec<Range<usize>>),
    /// Members of the JSON object that the story is.
    Object,
}

/// Something in a plan that is probably not meant so, but does not keep it from being read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Where, counted from one.
    pub line: usize,
    /// What, and what to do about it.
    pub message: String,
}

/// What a story may set for itself.
const SETTINGS: [&str; 2] = ["agent", "model"];

/// Where a note such as `(agent: codex)` stands.
fn setting_in(text: &str, name: &str) -> Option<Range<usize>> {
    let start = text.find(&format!("({name}:"))?;
    Some(start..start + text.get(start..)?.find(')')? + 1)
}

/// A title without such notes.
pub(super) fn without_settings(title: &str) -> String {
    let mut title = title.to_owned();
    for name in SETTINGS {
        if let Some(range) = setting_in(&title, name) {
            title.replace_range(range, "");
            title = title.replace("  ", " ").trim_end().to_owned();
        }
    }
    title
}

/// How many stories of a plan are in which state; optional ones are counted apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct StoryCounts {
    /// Stories to be worked on.
    pub open: usize,
    /// Ticked stories.
    pub done: usize,
    /// Blocked stories.
    pub blocked: usize,
    /// Stories of optional sections, whatever their state.
    pub optional: usize,
}

/// A plan that could be read.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) path: Utf8PathBuf,
    pub(super) format: Format,
    pub(super) bytes: Vec<u8>,
    pub(super) stories: Vec<Story>,
    pub(super) warnings: Vec<Warning>,
    pub(super) by_key: HashMap<String, usize>,
    pub(super) options: Options,
}

impl Plan {
    /// The file that it was read from.
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// The shape of the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The file's bytes, exactly as they were given.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its stories in file order; there is at least one.
    pub fn stories(&self) -> &[Story] {
        &self.stories
    }

    /// What is worth telling the user before the loop starts.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Finds a story by its id as people type it: `Task 1`, `Task-1` and `task-1` are the same.
    pub fn story(&self, id: &str) -> Option<&Story> {
        self.by_key.get(&ids::lookup_key(id)).and_then(|at| self.stories.get(*at))
    }

    /// How many stories are in which state.
    pub fn counts(&self) -> StoryCounts {
        self.stories.iter().fold(StoryCounts::default(), |mut counts, story| {
            match story.state {
                _ if story.optional => counts.optional += 1,
                State::Open => counts.open += 1,
                State::Done => counts.done += 1,
                State::Blocked => counts.blocked += 1,
            }
            counts
        })
    }

    /// What a story sets for itself: `(agent: codex)`, or a member of its object in JSON.
    pub fn setting(&self, story: &Story, name: &str) -> Option<String> {
        let text = self.section(story);
        if self.format != Format::Markdown {
            let object: serde_json::Value = serde_json::from_slice(text).ok()?;
            return Some(object.get(name)?.as_str()?.to_owned());
        }
        let text = String::from_utf8_lossy(text);
        setting_in(&text, name)
            .and_then(|range| text.get(range))
            .and_then(|note| Some(note.split_once(':')?.1.trim_end_matches(')').trim().to_owned()))
    }

    /// The bytes of one story.
    pub(super) fn section(&self, story: &Story) -> &[u8] {
        self.bytes.get(story.span.clone()).unwrap_or_default()
    }
}

/// A story as a format reads it: its id is the written one, empty if there is none.
pub(super) struct Draft {
    pub(super) story: Story,
    pub(super) wanted: Vec<Wanted>,
}

/// A dependency as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) text: String,
    pub(super) line: usize,
    /// Whether a name that no story has is an error.
    pub(super) strict: bool,
}

/// What a format makes of a file.
pub(super) struct Reading {
    pub(super) format: Format,
    pub(super) drafts: Vec<Draft>,
    pub(super) warnings: Vec<Warning>,
}
