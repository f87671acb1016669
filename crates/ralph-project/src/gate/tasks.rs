//! `tasks/*.json`: one file per task, and the gate on those that are not finished.

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::state_file::{self, Broken, Reading, shown, text};
use super::unmet::{Unmet, first_of};
use ralph_base::listing::counted;
use ralph_base::state::SessionDir;

/// More files than this are not read: a gate must stay quick.
const MOST_FILES: usize = 20_000;

/// How deep folders are searched: some tools keep a folder for each team or list.
const DEEPEST: usize = 3;

/// How many titles a reason names.
const NAMED: usize = 3;

/// One task.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Task {
    /// `pending`, `in_progress`, `completed`, …
    #[serde(deserialize_with = "text")]
    pub status: String,
    /// The task's title.
    #[serde(deserialize_with = "text")]
    pub title: String,
    /// Everything else in the file.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Task {
    fn is_open(&self) -> bool {
        let status = self.status.trim().to_ascii_lowercase().replace(['-', ' '], "_");
        matches!(status.as_str(), "pending" | "in_progress")
    }

    /// Returns the task's title, for which tools use different fields.
    fn name(&self) -> String {
        let other = |key: &str| self.other.get(key).map(shown).unwrap_or_default();
        let names = [self.title.clone(), other("subject"), other("name"), other("description")];
        let named = names.into_iter().find(|name| !name.trim().is_empty());
        named.unwrap_or_else(|| "(untitled task)".to_owned())
    }
}

/// A session's tasks, and the files that could not be read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tasks {
    /// The tasks in the order of their file names.
    pub tasks: Vec<Task>,
    /// Files that could not be read.
    pub broken: Vec<Broken>,
}

impl Tasks {
    /// Reads all tasks; without the folder there are none.
    pub fn load(session: &SessionDir) -> Self {
        let mut found = Self::default();
        for path in files(&session.tasks()) {
            match state_file::read(&path) {
                Reading::Found(task) => found.tasks.push(task),
                Reading::Broken(broken) => found.broken.push(broken),
                Reading::Missing => {}
            }
        }
        found
    }

    /// The gate: blocks while a task is `pending` or `in_progress`. `folder` is the tasks' folder.
    pub fn gate(&self, folder: &Utf8Path) -> Option<Unmet> {
        let open: Vec<String> =
            self.tasks.iter().filter(|task| task.is_open()).map(Task::name).collect();
        if open.is_empty() {
            return None;
        }
        Some(Unmet {
            gate: "TASKS",
            what: format!(
                "{} not finished: {}",
                counted(open.len(), "task is", "tasks are"),
                first_of(&open, NAMED)
            ),
            next: format!(
                "finish them and mark them `completed` in {folder}, or delete those that no longer \
                 apply"
            ),
        })
    }
}

fn files(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let mut paths = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
            // Links are not followed, so that the search ends.
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && depth < DEEPEST {
                folders.push((entry.path().to_owned(), depth + 1));
            } else if entry.path().extension() == Some("json") && paths.len() < MOST_FILES {
                paths.push(entry.path().to_owned());
            }
        }
    }
    paths.sort_unstable();
    paths
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;
    use ralph_base::state::{Id, StateDir};

    fn check(files: &[(&str, &str)], expected: Option<&str>, broken: usize) {
        let scratch = Scratch::new();
        let session = StateDir::of_project(scratch.root()).session(&Id::parse("s1").unwrap());
        for (name, content) in files {
            scratch.file(&format!(".ralph/state/s1/tasks/{name}"), content);
        }
        let tasks = Tasks::load(&session);
        assert_eq!(tasks.gate("t".into()).map(|unmet| unmet.to_string()).as_deref(), expected);
        assert_eq!(tasks.broken.len(), broken);
    }

    #[test]
    fn finished_foreign_and_broken_tasks_do_not_block() {
        check(&[], None, 0);
        check(&[("1.json", r#"{"status":"completed"}"#), ("2.json", "{}")], None, 0);
        check(&[("1.json", "rubbish"), ("2.txt", r#"{"status":"pending"}"#)], None, 1);
    }

    #[test]
    fn tasks_are_found_in_subfolders_of_limited_depth() {
        let scratch = Scratch::new();
        let session = StateDir::of_project(scratch.root()).session(&Id::parse("s1").unwrap());
        scratch.file(".ralph/state/s1/tasks/team/list/1.json", r#"{"status":"pending"}"#);
        scratch.file(".ralph/state/s1/tasks/a/b/c/d/e.json", r#"{"status":"pending"}"#);
        assert_eq!(Tasks::load(&session).tasks.len(), 1);
    }

    #[test]
    fn unfinished_tasks_are_counted_and_the_first_are_named() {
        check(
            &[
                ("4.json", r#"{"status":"pending"}"#),
                ("1.json", r#"{"status":"in_progress"}"#),
                ("2.json", r#"{"status":"In-Progress","subject":"Log out"}"#),
                ("3.json", r#"{"status":"pending","description":"Reset"}"#),
            ],
            Some(
                "TASKS gate failed: 4 tasks are not finished: (untitled task), Log out, Reset and \
                 1 more. Next: finish them and mark them `completed` in t, or delete those that no \
                 longer apply.",
            ),
            0,
        );
    }
}
