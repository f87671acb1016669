//! The current attempt, on disk: for the loop that continues after a crash, and for hooks that need
//! to know which story a session works on.

use std::io;

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use ralph_base::state::{self, RunDir};

/// The version of the file's format.
const VERSION: u32 = 2;

/// The phase of an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Everything is ready for the agent.
    #[default]
    Begun,
    /// The agent works.
    Working,
    /// The agent has ended well, and its work is being checked.
    Checking,
    /// The checks have passed, and this commit is being put on the target.
    Landing {
        /// The commit.
        commit: String,
    },
}

/// An attempt at a story.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The version of the file's format.
    pub version: u32,
    /// The loop's run.
    pub run: String,
    /// The story's id.
    pub story: String,
    /// Its title.
    pub title: String,
    /// Its title and details, as in the plan.
    #[serde(default)]
    pub text: String,
    /// The number of the iteration.
    pub iteration: u64,
    /// The number of the attempt at this story, as in the name of its ref.
    pub number: u64,
    /// The plan's file, in the project.
    pub plan: Utf8PathBuf,
    /// The Task Master tag to which the story belongs.
    #[serde(default)]
    pub tag: String,
    /// The progress file, in the project.
    pub progress: Utf8PathBuf,
    /// The folder in which the agent works.
    pub work: Utf8PathBuf,
    /// The branch on which the work is to land.
    pub target: String,
    /// The commit that the agent started from; `None` in a repository without commits.
    pub base: Option<String>,
    /// The agent, if it is not the run's own, and below it the model that the story asks for.
    #[serde(default)]
    pub agent: String,
    #[serde(default)]
    #[expect(missing_docs, reason = "said above")]
    pub model: String,
    /// When it began, as RFC 3339 in UTC.
    pub began: String,
    /// Its current phase.
    pub phase: Phase,
}

impl Attempt {
    /// Returns an attempt that begins now; the caller sets the other fields.
    pub fn now() -> Self {
        Self { version: VERSION, began: state::now(), ..Self::default() }
    }

    /// Loads the current attempt; `None` if its file is missing or empty.
    pub fn load(run_dir: &RunDir) -> io::Result<Option<Self>> {
        state::read_record(&run_dir.attempt(), VERSION)
    }

    /// Writes the attempt to its file.
    pub fn save(&self, run_dir: &RunDir) -> io::Result<()> {
        state::replace(&run_dir.attempt(), &serde_json::to_vec_pretty(self)?)
    }

    /// Removes the file of the current attempt.
    pub fn clear(run_dir: &RunDir) -> io::Result<()> {
        state::remove_if_there(run_dir.attempt())
    }
}
