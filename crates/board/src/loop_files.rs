//! Files that the loop writes and git tracks: the plan gets ticks, the progress new entries. The
//! same change is made to the committed text and to the user's copy, which may differ.

use std::io;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state;
use ralph_core::git::Git;
use ralph_core::plan::{AgentsPlan, Options, Plan, State};
use work_copy::git_output::text_at;

/// The id of a story, and the new state of its box.
pub type Mark = (String, State);

/// Changes to a plan: added stories and changed boxes.
#[derive(Debug, Clone, Default)]
pub struct PlanChanges {
    /// Stories that the agent added.
    pub added: Vec<AgentsPlan>,
    /// Boxes to tick, open or block.
    pub marks: Vec<Mark>,
}

/// A change that can be applied to any version of a file.
#[derive(Debug, Clone)]
pub enum Change {
    /// A change of the plan.
    Plan {
        /// The path of the plan.
        path: Utf8PathBuf,
        /// How the plan is parsed.
        options: Options,
        /// The changes to make.
        changes: PlanChanges,
    },
    /// Text appended at the end; a new file begins with `title`.
    Append {
        /// The heading of a new file.
        title: &'static str,
        /// The text to append.
        text: Vec<u8>,
    },
}

impl Change {
    /// Returns the text with the change applied; applying it twice has no further effect. A plan
    /// that cannot be parsed, or that lacks the story, stays the same.
    pub fn apply(&self, text: &[u8]) -> Vec<u8> {
        match self {
            Self::Append { text: more, .. } if contains(text, more) => text.to_vec(),
            Self::Append { title, text: more } => {
                let mut whole = if text.is_empty() { title.as_bytes() } else { text }.to_vec();
                if !whole.ends_with(b"\n") {
                    whole.push(b'\n');
                }
                whole.extend_from_slice(more);
                whole
            }
            Self::Plan { path, options, changes } => {
                let parse = |text: Vec<u8>| Plan::parse(path, text, options).ok();
                let mut text = text.to_vec();
                for added in changes.added.iter().filter(|added| added.adds_stories()) {
                    let Some(plan) = parse(text.clone()) else { break };
                    text = plan.with_added(added);
                }
                for (story, state) in &changes.marks {
                    let Some(plan) = parse(text.clone()) else { break };
                    let marked = match state {
                        State::Done => plan.tick(story),
                        State::Blocked => plan.block(story),
                        State::Open => plan.reopen(story),
                    };
                    text = marked.unwrap_or(text);
                }
                text
            }
        }
    }
}

/// A file that the loop writes, with its path from the top of the repository.
#[derive(Debug, Clone)]
pub struct LoopFile {
    /// The path in the work tree.
    pub path: PathBuf,
    /// Its text on the target branch; `None` if it is new there.
    pub before: Option<Vec<u8>>,
    /// Its text in the commit.
    pub after: Vec<u8>,
    /// The change that leads from `before` to `after`.
    pub change: Change,
}

impl LoopFile {
    /// Returns its path and its text in the commit.
    pub fn text(&self) -> (&Path, &[u8]) {
        (&self.path, &self.after)
    }

    /// Applies a change to the text `before`.
    pub fn new(path: PathBuf, before: Option<Vec<u8>>, change: Change) -> Self {
        let after = change.apply(before.as_deref().unwrap_or_default());
        Self { path, before, after, change }
    }

    /// Returns the same file for a branch that lacks the work that waited before this commit: all
    /// that has been marked or appended since `before` is marked or appended there too.
    pub fn since(&self, before: Option<Vec<u8>>) -> Self {
        let mut change = self.change.clone();
        match &mut change {
            Change::Plan { path, options, changes } => {
                let plan = Plan::parse(path, self.after.clone(), options);
                changes.marks = plan.map(|plan| marks_of(&plan)).unwrap_or_default();
            }
            Change::Append { text, .. } => {
                let new = self.after.strip_prefix(before.as_deref().unwrap_or_default());
                *text = new.unwrap_or(text).to_vec();
            }
        }
        Self { before, change, ..self.clone() }
    }

    /// Returns the file with its actual text in the commit, which git hooks may have formatted.
    pub fn in_commit(self, git: &Git, commit: &str) -> Self {
        let after = text_at(git, commit, &self.path);
        Self { after: after.unwrap_or_else(|| self.after.clone()), ..self }
    }

    /// Whether the commit changes the file. If not, the user's own copy may still change, for
    /// instance for a story that only this copy contains.
    pub fn is_changed(&self) -> bool {
        self.before.as_deref() != Some(self.after.as_slice())
    }

    /// Applies the change to the user's own file. A file that the user removed stays removed.
    pub fn bring_to(&self, path: &Utf8Path) -> io::Result<()> {
        state::edit_users(path, |text| match text {
            Some(text) => Some(self.in_users_text(text)),
            None if self.before.is_some() => None,
            None => Some(self.after.clone()),
        })
    }

    /// Returns the user's own text of the file with the change applied.
    pub(crate) fn in_users_text(&self, text: &[u8]) -> Vec<u8> {
        if self.before.as_deref() == Some(text) {
            return self.after.clone();
        }
        self.change.apply(text)
    }
}

/// Whether a text contains `part`: at its end, or before entries that other workers have added.
pub(crate) fn contains(text: &[u8], part: &[u8]) -> bool {
    String::from_utf8_lossy(text).contains(&*String::from_utf8_lossy(part))
}

/// Returns the stories of a plan that are not open, with their states.
pub(crate) fn marks_of(plan: &Plan) -> Vec<Mark> {
    let stories = plan.stories().iter().filter(|story| story.state != State::Open);
    stories.map(|story| (story.id.clone(), story.state)).collect()
}

/// The files of a plan that an attempt works with.
#[derive(Debug, Clone)]
pub struct PlanFiles {
    /// The path of the plan.
    pub plan: Utf8PathBuf,
    /// The path of the progress file.
    pub progress: Utf8PathBuf,
    /// How the plan is parsed.
    pub options: Options,
    /// The files that only the loop writes, from the top of the repository.
    pub ours: Vec<PathBuf>,
}

/// A file that the loop appends to. New text waits in the git folder until a commit includes it, or
/// is written to the file itself if no commit will.
#[derive(Debug)]
pub(crate) struct Appended {
    pub(crate) path: Utf8PathBuf,
    pub(crate) pending: Utf8PathBuf,
    pub(crate) title: &'static str,
}

impl Appended {
    /// Returns the pending text as a change of the file, if there is any.
    pub(crate) fn waiting(&self) -> Option<Change> {
        let text = fs_err::read(&self.pending).ok().filter(|text| !text.is_empty())?;
        Some(Change::Append { title: self.title, text })
    }

    /// Returns the leading pending lines that a commit already has; used after a crash.
    pub(crate) fn committed_beginning(&self, committed: Option<&[u8]>) -> Vec<u8> {
        let committed = committed.unwrap_or_default();
        let mut text = fs_err::read(&self.pending).unwrap_or_default();
        while !text.is_empty() && !contains(committed, &text) {
            text.pop();
            let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            text.truncate(end);
        }
        text
    }
}
