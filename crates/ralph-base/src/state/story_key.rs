//! A story is identified by its plan and its id: ids are unique only within a plan.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::dir::StateDir;
use super::read::read_text;

/// A plan's name and a story's id, written `PRD-1/US-001`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoryKey {
    /// The plan's name, which has no slash.
    pub plan: String,
    /// The story's id.
    pub story: String,
}

impl StoryKey {
    /// Returns the key of a story in the plan with this name.
    pub fn new(plan: &str, story: &str) -> Self {
        Self { plan: plan.to_owned(), story: story.to_owned() }
    }

    /// Parses `PRD-1/US-001`.
    pub fn parse(text: &str) -> Option<Self> {
        let (plan, story) = text.split_once('/')?;
        Some(Self::new(plan, story))
    }
}

impl fmt::Display for StoryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.plan, self.story)
    }
}

impl Serialize for StoryKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StoryKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("expected PLAN/STORY"))
    }
}

/// Returns the name of a plan in refs and records: `PRD-1`, or its path with special characters as
/// `-` and a short hash. Each tag of Task Master is a separate plan, as each has a task 1.
pub fn plan_name(root: &Utf8Path, plan: &Utf8Path) -> String {
    let state = StateDir::of_project(root);
    let folder = plan.parent().unwrap_or(plan);
    let name = folder.file_name().unwrap_or_default();
    let number = name.strip_prefix("PRD-").and_then(|number| number.parse::<u32>().ok());
    let is_numbered = number.is_some() && folder.parent() == Some(state.root());
    if is_numbered && plan.file_stem() == Some("plan") {
        return name.to_owned();
    }
    let mut path = plan.strip_prefix(root).unwrap_or(plan).to_string();
    let tag = (plan.file_name() == Some("tasks.json")).then(|| current_tag(root));
    if let Some(tag) = tag.filter(|tag| !["", "master"].contains(&tag.as_str())) {
        path.push_str(&format!(" {tag}"));
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = path.chars().map(plain).collect();
    format!("{}-{:08x}", name.trim_matches('-'), fingerprint(path.as_bytes()) as u32)
}

/// The path of Task Master's task file in a project.
pub const TASK_MASTER: &str = ".taskmaster/tasks/tasks.json";

/// The tag of each project, fixed for this process: switching tags affects the next run only.
static TAGS: Mutex<Vec<(Utf8PathBuf, String)>> = Mutex::new(Vec::new());

/// Returns Task Master's current tag in this project; empty if none is set.
pub fn current_tag(root: &Utf8Path) -> String {
    let tags = || TAGS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = tags().iter().rfind(|(of, _)| of == root).map(|(_, tag)| tag.clone());
    known.unwrap_or_else(|| {
        let tag = tag_now(root);
        keep_tag(root, &tag);
        tag
    })
}

/// Fixes the tag for this process, even if Task Master switches to another one.
pub fn keep_tag(root: &Utf8Path, tag: &str) {
    let mut tags = TAGS.lock().unwrap_or_else(PoisonError::into_inner);
    tags.push((root.to_owned(), tag.to_owned()));
}

fn tag_now(root: &Utf8Path) -> String {
    let said = |(name, pointer): (&str, &str)| {
        let text = read_text(root.join(".taskmaster").join(name)).ok()?;
        let value: serde_json::Value = serde_json::from_str(&text).ok()?;
        Some(value.pointer(pointer)?.as_str()?.to_owned())
    };
    let places = [("state.json", "/currentTag"), ("config.json", "/global/defaultTag")];
    places.into_iter().find_map(said).unwrap_or_default()
}

/// Returns the FNV-1a hash: short, stable, but not collision-resistant against attackers.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn plan_names_are_safe_in_refs() {
        let name = |plan: &str| plan_name(Utf8Path::new("/app"), Utf8Path::new(plan));
        assert_eq!(name("/app/.ralph/PRD-12/plan.md"), "PRD-12");
        assert_eq!(name("/app/docs/plan.md"), "docs-plan-md-cd1f5473");
        assert_ne!(name("/app/docs/plan.md"), name("/app/docs-plan.md"));
        for plan in ["/app/.ralph/fix_plan.md", "/elsewhere/ä b.md", "/app/prd.json"] {
            let name = name(plan);
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)), "{name}");
        }
    }

    #[test]
    fn each_task_master_tag_has_its_own_plan_name() {
        let scratch = Scratch::new();
        let name = |plan: &str| plan_name(scratch.root(), &scratch.path(plan));
        let (tasks, other) = (".taskmaster/tasks/tasks.json", "prd.json");
        let before = (name(tasks), name(other));
        keep_tag(scratch.root(), "master");
        assert_eq!((name(tasks), name(other)), before);
        scratch.file(".taskmaster/state.json", r#"{"currentTag":"new"}"#);
        assert_eq!((name(tasks), tag_now(scratch.root())), (before.0, "new".to_owned()));
        keep_tag(scratch.root(), "new");
        assert!(name(tasks).starts_with("taskmaster-tasks-tasks-json-new-"), "{}", name(tasks));
        assert_eq!(name(other), before.1);
    }

    #[test]
    fn a_story_key_survives_a_json_round_trip() {
        let key = StoryKey::new("PRD-1", "US-001");
        let text = serde_json::to_string(&key).unwrap();
        assert_eq!(text, "\"PRD-1/US-001\"");
        assert_eq!(serde_json::from_str::<StoryKey>(&text).unwrap(), key);
    }
}
