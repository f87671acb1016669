//! Scenarios as data: the model's turns, what it receives, and what must be true afterwards.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use scripted_model::{Answer, Script, Tokens};
use serde::Deserialize;
use serde_json::Value;

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
    pub(super) turns: Vec<Turn>,
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
    pub(super) turns: Vec<Turn>,
    pub(super) had: Option<usize>,
}

/// One turn of the model, and what it must receive in return.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Turn {
    say: Option<String>,
    bash: Option<String>,
    read: Option<String>,
    write: Option<(String, String)>,
    edit: Option<(String, String, String)>,
    tool: Option<(String, Value)>,
    /// An error of the service: status, type and text.
    refuse: Option<(u16, String, String)>,
    /// A usage limit that ends in this many seconds.
    limit: Option<u64>,
    /// The same, once: some agents wait for its end themselves.
    obeyed: Option<u64>,
    /// Whether the key is refused.
    wrong_key: bool,
    /// Another call in the same turn.
    and: Option<Box<Turn>>,
    /// The token counts that it reports: input, written to the cache, read from it, output.
    tokens: Option<(u64, u64, u64, u64)>,
    /// The number of seconds before it answers.
    after: u64,
    pub(super) sees: Vec<String>,
    pub(super) never_sees: Vec<String>,
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
        let times = |turn: &Turn| if turn.limit.is_some() { retries + 1 } else { 1 };
        let answers = |turns: &[Turn]| {
            let repeated = turns.iter().flat_map(|turn| std::iter::repeat_n(turn, times(turn)));
            repeated.map(|turn| turn.answer(fill)).collect()
        };
        let main: Result<Vec<Answer>> = answers(&self.turns);
        let mut script = Script::of(main?);
        for other in &self.other {
            let turns: Result<Vec<Answer>> = answers(&other.turns);
            script = script.with_conversation(&other.about, turns?);
        }
        Ok(script)
    }
}

impl Turn {
    fn answer(&self, fill: &dyn Fn(&str) -> String) -> Result<Answer> {
        let mut answer = if let Some(text) = &self.say {
            Answer::text(fill(text))
        } else if let Some(command) = &self.bash {
            Answer::bash(&fill(command))
        } else if let Some(path) = &self.read {
            Answer::read(fill(path))
        } else if let Some((path, text)) = &self.write {
            Answer::write(fill(path), text)
        } else if let Some((path, old, new)) = &self.edit {
            Answer::edit(fill(path), old, new)
        } else if let Some((name, input)) = &self.tool {
            Answer::tool(name, serde_json::from_str(&fill(&input.to_string()))?)
        } else if let Some((status, kind, text)) = &self.refuse {
            let kind = kind.clone().leak();
            // Otherwise the client retries for minutes before it gives up.
            Answer::refused(*status, kind, text).with_header("x-should-retry", "false")
        } else if let Some(seconds) = self.limit {
            Answer::usage_limit(seconds).with_header("x-should-retry", "false")
        } else if let Some(seconds) = self.obeyed {
            Answer::usage_limit(seconds)
        } else if self.wrong_key {
            Answer::wrong_key()
        } else {
            bail!("a turn that does nothing")
        };
        if let Some((input, cache_creation, cache_read, output)) = self.tokens {
            answer = answer.using(Tokens { input, cache_creation, cache_read, output });
        }
        if let Some(other) = &self.and {
            answer = answer.and(other.answer(fill)?);
        }
        Ok(answer.after(Duration::from_secs(self.after)))
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
