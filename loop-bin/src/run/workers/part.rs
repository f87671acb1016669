//! What one of several workers is told by the run's process: a line of JSON on its standard input, which
//! stays open for as long as that process lives.

use std::io::{self, BufRead};

use camino::Utf8PathBuf;
use ralph_base::state::{Id, name_of_worker};
use ralph_project::config::Flag;
use serde::{Deserialize, Serialize};

use crate::exit::Failure;

/// A worker's part in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// Its name.
    pub(crate) worker: String,
    /// The run's name.
    pub(crate) run: String,
    /// How many workers there are.
    pub(crate) workers: u64,
    /// Whether it only lands or keeps what its namesake of an earlier run left.
    pub(crate) is_to_settle: bool,
    /// The run's plan, and the branch on which its work lands.
    pub(crate) plan: Utf8PathBuf,
    pub(crate) target: String,
    /// What was given on the command line: keys and values.
    pub(crate) flags: Vec<(String, String)>,
}

impl Part {
    /// Ours, from standard input.
    pub(crate) fn read() -> Result<Self, Failure> {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line)?;
        serde_json::from_str(&line)
            .map_err(|_| Failure::usage("`ralph-loop worker` is started by `ralph-loop --workers`"))
    }

    /// The worker's name as part of a path.
    pub(crate) fn id(&self) -> Result<Id, Failure> {
        Id::parse(&self.worker).map_err(|error| Failure::usage(error.to_string()))
    }

    /// The name under which it works.
    pub(crate) fn name(&self) -> Result<String, Failure> {
        Ok(name_of_worker(&self.run, &self.id()?))
    }

    /// The settings that were given, and what the run has made of them.
    pub(crate) fn flags(&self) -> Vec<Flag> {
        let settled = ["loop.plan", "loop.prd", "loop.branch"];
        let given = self.flags.iter().filter(|(key, _)| !settled.contains(&key.as_str()));
        let mut flags: Vec<Flag> =
            given.map(|(key, value)| Flag::new(key, value.clone())).collect();
        flags.push(Flag::new("loop.plan", self.plan.to_string()));
        flags.push(Flag::new("loop.branch", self.target.clone()));
        flags
    }
}
