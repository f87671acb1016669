//! Scenarios as data: the model's turns, what it receives, and what must be true afterwards.

use anyhow::{Context, Error, Result};
use scripted_model::{Answer, Script, Step};
use serde::Deserialize;
use std::collections::BTreeMap;

use crate::run;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    scenario: Vec<Scenario>,
}

/// A scenario for the client, the hooks and the model.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    pub(super) name: String,
    /// The hooks without which the scenario must be red.
    #[serde(default)]
    pub(super) proves: Vec<String>,
    /// Whether the scenario is played before every change.
    #[serde(default)]
    pub(super) smoke: bool,
    /// The first client version that can play it, and why older ones cannot.
    pub(super) needs: Option<(String, String)>,
    /// Packages from the npm registry, installed in the folder `$NPM`.
    #[serde(default)]
    pub(super) npm: Vec<String>,
    /// A shell script that prepares the project.
    #[serde(default)]
    pub(super) setup: String,
    /// The plan and the settings, committed with everything else after the setup.
    pub(super) plan: Option<String>,
    pub(super) config: Option<String>,
    pub(super) session: Vec<Session>,
}

/// One run of the client, or of the loop with the client as its agent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Session {
    /// The client's prompt; without one the loop runs over the plan.
    pub(super) prompt: Option<String>,
    /// A shell script that runs the client itself, as other loops do.
    pub(super) shell: Option<String>,
    #[serde(default)]
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// A shell script that runs before the session.
    #[serde(default)]
    pub(super) setup: String,
    /// Whether it runs on a terminal, as for a user, until the file of `until` exists.
    #[serde(default)]
    pub(super) terminal: bool,
    /// A file, relative to the home folder: SIGTERM is sent as soon as it exists.
    pub(super) until: Option<String>,
    /// A tool without which the session cannot be played, and what its absence means.
    pub(super) tool: Option<(String, String)>,
    /// Passages that the model must receive with the prompt.
    #[serde(default)]
    pub(super) sees: Vec<String>,
    #[serde(default)]
    pub(super) turns: Vec<Step>,
    /// Conversations of subagents and other sessions.
    #[serde(default)]
    pub(super) other: Vec<Conversation>,
    /// The expected number of turns of the main conversation, if it matters.
    pub(super) had: Option<usize>,
    /// The expected exit code; any code if it is negative.
    #[serde(default)]
    pub(super) code: i32,
    /// A shell script that must succeed afterwards.
    #[serde(default)]
    pub(super) check: String,
}

/// A conversation that is recognized by a passage of its first message.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Conversation {
    pub(super) about: String,
    pub(super) turns: Vec<Step>,
    pub(super) had: Option<usize>,
}

impl Scenario {
    /// Loads all scenarios in this folder, sorted by file name.
    pub(super) fn load(folder: &str) -> Result<Vec<Self>> {
        let mut paths = Vec::new();
        for entry in run::root().join(folder).read_dir_utf8()? {
            paths.push(entry?.into_path());
        }
        paths.sort();
        let mut all = Vec::new();
        for path in paths.iter().filter(|path| path.extension() == Some("toml")) {
            let text = fs_err::read_to_string(path)?;
            let file: File = toml::from_str(&text).with_context(|| path.to_string())?;
            all.extend(file.scenario);
        }
        Ok(all)
    }
}

impl Session {
    /// Builds the model's script with names filled in. A limit is repeated if the agent retries.
    pub(super) fn script(&self, fill: &dyn Fn(&str) -> String, retries: usize) -> Result<Script> {
        let answers = |turns: &[Step]| Step::answers(turns, fill, retries).map_err(Error::msg);
        let main: Result<Vec<Answer>> = answers(&self.turns);
        let mut script = Script::of(main?);
        for other in &self.other {
            let turns: Result<Vec<Answer>> = answers(&other.turns);
            script = script.with_conversation(&other.about, turns?);
        }
        Ok(script)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ralph_project::install::HOOK_NAMES;

    use super::*;
    use crate::e2e::client::rows;

    #[test]
    fn every_scenario_is_valid() {
        let mut all = Scenario::load("xtask/e2e").unwrap();
        let smoke = all.iter().filter(|scenario| scenario.smoke).count();
        assert!((6..=10).contains(&smoke), "{smoke} scenarios are for every change");
        all.extend(Scenario::load("xtask/e2e/agents").unwrap());
        let names: BTreeSet<&str> = all.iter().map(|scenario| scenario.name.as_str()).collect();
        assert_eq!(names.len(), all.len(), "each name is used once");
        for scenario in &all {
            let is_hook = |hook: &String| HOOK_NAMES.contains(&hook.as_str());
            assert!(
                scenario.proves.iter().all(is_hook),
                "{}: {:?}",
                scenario.name,
                scenario.proves
            );
            assert!(!scenario.session.is_empty(), "{}", scenario.name);
            for session in &scenario.session {
                session.script(&|text| text.to_owned(), 0).unwrap();
            }
        }
        for (agent, row) in rows().unwrap() {
            let unknown = row.impossible.keys().find(|name| !names.contains(name.as_str()));
            assert_eq!(unknown, None, "an exception of {agent} for no scenario");
        }
    }
}
