//! What users may set in `[guard]` of the configuration: plain data.

use ralph_base::texts::texts;
use serde::{Deserialize, Serialize};

use super::edit::EDIT_RULES;
use super::{Glob, RULES};

/// The table `[guard]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Names of rules that are switched off.
    #[serde(deserialize_with = "texts")]
    pub disable: Vec<String>,
    /// Names of rules that are switched on: those that are off by default or that `disable` names.
    #[serde(deserialize_with = "texts")]
    pub enable: Vec<String>,
    /// Commands that no rule may forbid; `*` stands for anything.
    #[serde(deserialize_with = "texts")]
    pub allow: Vec<String>,
    /// Globs of files, relative to the project, that no command may write or remove.
    #[serde(deserialize_with = "texts")]
    pub protect: Vec<String>,
    /// What the guard does in sessions that no loop started.
    pub own_sessions: OwnSessions,
    /// Rules of the user's own.
    pub rules: Vec<UserRule>,
}

/// What the guard does where it would refuse a call in a session that no loop started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnSessions {
    /// The person is asked; where nobody can be asked, the client refuses.
    #[default]
    Ask,
    /// It refuses, as in a loop.
    Deny,
    /// It has no opinion.
    Off,
}

/// A rule of the user's own: `commands`, or `regex`, or `program` with `args`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UserRule {
    /// Its name, for messages and for `disable`.
    pub name: String,
    /// Forbidden calls, such as `npm|pnpm dist-tag add|rm`: the programs, then the words that come
    /// first, options left out, then options of which one must be given, or none behind `!`.
    #[serde(deserialize_with = "texts")]
    pub commands: Vec<String>,
    /// Matched against each command that would run, program first, words separated by one blank;
    /// with `commands`, against each of their arguments and their standard input.
    pub regex: Option<String>,
    /// The program, without its folder; `*` stands for anything.
    pub program: Option<String>,
    /// Words that must follow, in this order; other words may stand between them.
    #[serde(deserialize_with = "texts")]
    pub args: Vec<String>,
    /// Options, words or assignments with which the command is harmless.
    #[serde(deserialize_with = "texts")]
    pub unless: Vec<String>,
    /// Why it is forbidden.
    pub reason: String,
    /// What to do instead.
    pub instead: String,
}

impl Settings {
    /// Those in the text of a `config.toml`, whatever other tables it holds.
    pub fn from_config(text: &str) -> Result<Self, toml::de::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Tables {
            guard: Settings,
        }
        toml::from_str::<Tables>(text).map(|tables| tables.guard)
    }

    /// Whether the rule of this name is in force, unless it is one that must be asked for.
    pub fn in_force(&self, name: &str) -> bool {
        self.decided(name).unwrap_or(true)
    }

    /// What the user says about the rule of this name, if anything.
    pub(super) fn decided(&self, name: &str) -> Option<bool> {
        let listed = |names: &[String]| names.iter().any(|listed| listed == name);
        if listed(&self.enable) {
            return Some(true);
        }
        listed(&self.disable).then_some(false)
    }
}

/// What is wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The keys of `[guard]` that may hold it.
    pub keys: &'static [&'static str],
    /// The text that is wrong.
    pub value: String,
    /// What is wrong with it, and what to do.
    pub message: String,
}

impl Settings {
    /// Finds the first mistake, for a loader that wants to name it.
    pub fn validate(&self) -> Result<(), Mistake> {
        let wrong = |keys: &'static [&str], value: &str, message: String| {
            Err(Mistake { keys, value: value.to_owned(), message })
        };
        let own = self.rules.iter().map(|rule| rule.name.as_str());
        let known: Vec<&str> =
            RULES.iter().map(|rule| rule.name).chain(EDIT_RULES).chain(own).collect();
        let mut named = self.disable.iter().chain(&self.enable);
        if let Some(name) = named.find(|name| !known.contains(&name.as_str())) {
            let known = known.join(", ");
            let message = format!("guard: there is no rule named `{name}`; the rules are {known}");
            return wrong(&["guard.disable", "guard.enable"], name, message);
        }
        for rule in &self.rules {
            let name = &rule.name;
            let Some(pattern) = &rule.regex else {
                if rule.program.is_some() || !rule.commands.is_empty() {
                    continue;
                }
                let message = "`commands`, a `regex` or a `program`";
                let message = format!("guard.rules: rule `{name}` needs {message}");
                return wrong(&["guard.rules"], name, message);
            };
            if let Err(why) = regex_lite::Regex::new(pattern) {
                let message =
                    format!("guard: `{pattern}` of rule `{name}` is not a valid pattern: {why}");
                return wrong(&["guard.rules"], pattern, message);
            }
        }
        for pattern in &self.protect {
            if let Err(why) = Glob::new(pattern) {
                let message = format!("guard.protect: `{pattern}` is not a valid pattern: {why}");
                return wrong(&["guard.protect"], pattern, message);
            }
        }
        Ok(())
    }
}
