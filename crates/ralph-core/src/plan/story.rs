//! A parsed plan: its unmodified bytes, and the stories found in them.
//!
//! Parsing is in `parse.rs`, editing in `edit.rs`, and choosing the next story in `select.rs`.

use super::ids;
use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::texts::texts;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// The state of a story.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Not done yet.
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

/// What becomes of stories that an agent adds to the plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentStories {
    /// They wait at the end of the plan until a person accepts them.
    #[default]
    Hold,
    /// They are worked on like any other.
    Run,
    /// They are not kept.
    Refuse,
}

/// Options for reading plans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// What becomes of stories that an agent adds.
    pub agent_stories: AgentStories,
    /// Names of optional sections, which do not keep the loop going; case and hyphens are ignored.
    #[serde(deserialize_with = "names")]
    pub optional_sections: Vec<Cow<'static, str>>,
    /// The Task Master tag whose tasks are read; set from Task Master's own state, not by users.
    #[serde(skip)]
    pub tag: String,
}

impl Default for Options {
    fn default() -> Self {
        let optional_sections = OPTIONAL.map(Cow::Borrowed).to_vec();
        Self { agent_stories: AgentStories::Hold, optional_sections, tag: String::new() }
    }
}

fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Cow<'static, str>>, D::Error> {
    Ok(texts(deserializer)?.into_iter().map(Cow::Owned).collect())
}

/// One piece of work in a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Story {
    /// The id; unique in the plan and safe as a path component.
    pub id: String,
    /// The title without the id.
    pub title: String,
    /// The state of the story.
    pub state: State,
    /// Notes, steps and acceptance criteria, as written in the plan.
    pub details: String,
    /// Ids of the stories that must be done first.
    pub depends: Vec<String>,
    /// Stories with lower numbers go first; only `prd.json` has priorities.
    pub priority: Option<i64>,
    /// Whether the story is optional; optional stories do not keep the loop going.
    pub optional: bool,
    /// Whether an agent added it and nobody has accepted it; it is blocked and optional then.
    pub held: bool,
    /// The line on which the story begins, counted from one.
    pub line: usize,
    #[serde(skip)]
    pub(super) span: Range<usize>,
    #[serde(skip)]
    pub(super) marks: Marks,
}

impl Story {
    /// Returns whether the id is derived from the title, so that a new title means a new id.
    pub fn is_named_by_title(&self) -> bool {
        self.id.starts_with(&ids::from_title(&self.title))
    }
}

/// The place in the file where the state of a story is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Marks {
    /// The marks: characters between brackets, or boxes that are a single character.
    Boxes(Vec<Range<usize>>),
    /// Members of the story's JSON object.
    Object,
}

/// A probable mistake in a plan that does not prevent reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The line, counted from one.
    pub line: usize,
    /// What is wrong, and how to fix it.
    pub message: String,
}

/// The settings that a story may override.
const SETTINGS: [&str; 2] = ["agent", "model"];

/// Finds a note such as `(agent: codex)`.
fn setting_in(text: &str, name: &str) -> Option<Range<usize>> {
    let start = text.find(&format!("({name}:"))?;
    Some(start..start + text.get(start..)?.find(')')? + 1)
}

/// Removes such notes from a title.
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

/// The number of stories in each state; optional stories are counted separately.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct StoryCounts {
    /// Open stories.
    pub open: usize,
    /// Ticked stories.
    pub done: usize,
    /// Blocked stories.
    pub blocked: usize,
    /// Stories of optional sections, whatever their state.
    pub optional: usize,
}

/// A parsed plan.
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
    /// Returns the path of the file from which the plan was read.
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// Returns the format of the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the file's bytes, unmodified.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the stories in file order; there is at least one.
    pub fn stories(&self) -> &[Story] {
        &self.stories
    }

    /// Returns warnings to show to the user before the loop starts.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Finds a story by its id, in any spelling: `Task 1`, `Task-1` and `task-1` are the same.
    pub fn story(&self, id: &str) -> Option<&Story> {
        self.by_key.get(&ids::lookup_key(id)).and_then(|at| self.stories.get(*at))
    }

    /// Counts the stories in each state.
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

    /// Returns a setting of the story, from `(agent: codex)` or from a member of its JSON object.
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

    /// Returns the bytes of one story.
    pub(super) fn section(&self, story: &Story) -> &[u8] {
        self.bytes.get(story.span.clone()).unwrap_or_default()
    }
}

/// A story as read from the file, with its id as written there, or empty.
pub(super) struct Draft {
    pub(super) story: Story,
    pub(super) wanted: Vec<Wanted>,
}

/// A dependency as written in the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) text: String,
    pub(super) line: usize,
    /// Whether a name that matches no story is an error.
    pub(super) strict: bool,
}

/// The result of reading a file in one of the formats.
pub(super) struct Reading {
    pub(super) format: Format,
    pub(super) drafts: Vec<Draft>,
    pub(super) warnings: Vec<Warning>,
}
