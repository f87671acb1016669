//! Files that the loop itself writes and git knows: the plan gets its tick, the progress its entries.
//! The same change is made to the committed text and to the user's own, which may differ.

use std::io;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state;
use ralph_core::git::Git;
use ralph_core::plan::{AgentsPlan, Options, Plan, State};
use work_copy::git_output::text_at;

/// A story, and what becomes of its box.
pub type Mark = (String, State);

/// What becomes of a plan: stories that the user or the agent added, and boxes.
#[derive(Debug, Clone, Default)]
pub struct PlanChanges {
    /// Stories that the agent added.
    pub added: Vec<AgentsPlan>,
    /// Boxes to tick, open or block.
    pub marks: Vec<Mark>,
}

/// A change that can be made to any text of a file.
#[derive(Debug, Clone)]
pub enum Change {
    /// The plan.
    Plan {
        /// Where it is.
        path: Utf8PathBuf,
        /// How it is read.
        options: Options,
        /// What changes in it.
        changes: PlanChanges,
    },
    /// Text at the end; a new file begins with `title`.
    Append {
        /// The heading of a new file.
        title: &'static str,
        /// The text to append.
        text: Vec<u8>,
    },
}

impl Change {
    /// The text with the change in it; made twice, it is in it once. A plan that cannot be read, or has
    /// no such story, stays.
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

/// A file of the loop's, from the top of the repository.
#[derive(Debug, Clone)]
pub struct LoopFile {
    /// The path in the work tree.
    pub path: PathBuf,
    /// Its text on the target; none if it is new there.
    pub before: Option<Vec<u8>>,
    /// Its text in the commit.
    pub after: Vec<u8>,
    /// What changes in it.
    pub change: Change,
}

impl LoopFile {
    /// Its path, and the text that a commit is to have there.
    pub fn text(&self) -> (&Path, &[u8]) {
        (&self.path, &self.after)
    }

    /// The change of a file.
    pub fn new(path: PathBuf, before: Option<Vec<u8>>, change: Change) -> Self {
        let after = change.apply(before.as_deref().unwrap_or_default());
        Self { path, before, after, change }
    }

    /// The same file for a branch that has not seen what waited before this commit: all that is marked
    /// or appended by now is marked or appended there too.
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

    /// The same file as a commit really has it: git hooks may have formatted it.
    pub fn in_commit(self, git: &Git, commit: &str) -> Self {
        let after = text_at(git, commit, &self.path);
        Self { after: after.unwrap_or_else(|| self.after.clone()), ..self }
    }

    /// Whether the commit changes it. The user's own text may change where the commit's does not: a
    /// story that is in nobody else's text, for instance.
    pub fn is_changed(&self) -> bool {
        self.before.as_deref() != Some(self.after.as_slice())
    }

    /// Makes the change in the user's own file. One that the user removed stays away.
    pub fn bring_to(&self, path: &Utf8Path) -> io::Result<()> {
        state::edit_users(path, |text| match text {
            Some(text) => Some(self.in_users_text(text)),
            None if self.before.is_some() => None,
            None => Some(self.after.clone()),
        })
    }

    /// What becomes of the user's own text of the file.
    pub(crate) fn in_users_text(&self, text: &[u8]) -> Vec<u8> {
        if self.before.as_deref() == Some(text) {
            return self.after.clone();
        }
        self.change.apply(text)
    }
}

/// Whether a text has another one in it: at its end, or before what other workers have added.
pub(crate) fn contains(text: &[u8], part: &[u8]) -> bool {
    String::from_utf8_lossy(text).contains(&*String::from_utf8_lossy(part))
}

/// What a plan says of its stories.
pub(crate) fn marks_of(plan: &Plan) -> Vec<Mark> {
    let stories = plan.stories().iter().filter(|story| story.state != State::Open);
    stories.map(|story| (story.id.clone(), story.state)).collect()
}

/// The files of a plan, as an attempt has to know them.
#[derive(Debug, Clone)]
pub struct PlanFiles {
    /// The plan.
    pub plan: Utf8PathBuf,
    /// The progress.
    pub progress: Utf8PathBuf,
    /// How the plan is read.
    pub options: Options,
    /// The files that only the loop writes, from the top of the repository.
    pub ours: Vec<PathBuf>,
}

/// A file to whose end the loop writes. What it writes waits in the git folder until a commit takes it
/// along, or is put into the file where none will.
#[derive(Debug)]
pub(crate) struct Appended {
    pub(crate) path: Utf8PathBuf,
    pub(crate) pending: Utf8PathBuf,
    pub(crate) title: &'static str,
}

impl Appended {
    /// What waits, as a change of the file.
    pub(crate) fn waiting(&self) -> Option<Change> {
        let text = fs_err::read(&self.pending).ok().filter(|text| !text.is_empty())?;
        Some(Change::Append { title: self.title, text })
    }

    /// The first lines that wait and that a commit has already: after a crash nobody knows what it took.
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
