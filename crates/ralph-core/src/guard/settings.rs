//! The `[guard]` table of the configuration, as plain data.

use ralph_base::texts::texts;
use serde::{Deserialize, Serialize};

use super::edit::OTHER_RULES;
use super::{Glob, RULES};

/// The settings in the table `[guard]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Names of disabled rules.
    #[serde(deserialize_with = "texts")]
    pub disable: Vec<String>,
    /// Names of enabled rules: those that are off by default, or that `disable` names.
    #[serde(deserialize_with = "texts")]
    pub enable: Vec<String>,
    /// Commands that no rule may forbid; `*` matches any text.
    #[serde(deserialize_with = "texts")]
    pub allow: Vec<String>,
    /// Globs of files, relative to the project, that no command may write or remove.
    #[serde(deserialize_with = "texts")]
    pub protect: Vec<String>,
    /// The guard's behaviour in sessions that were not started by a loop.
    pub own_sessions: OwnSessions,
    /// The user's own rules.
    pub rules: Vec<UserRule>,
}

/// The guard's reaction to a forbidden call in a session that was not started by a loop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnSessions {
    /// Ask the user; if nobody can be asked, the client denies the call.
    #[default]
    Ask,
    /// Deny the call, as in a loop.
    Deny,
    /// Do nothing.
    Off,
}

/// A user-defined rule: `commands`, or `regex`, or `program` with `args`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UserRule {
    /// The name, for messages and for `disable`.
    pub name: String,
    /// Forbidden calls, such as `npm|pnpm dist-tag add|rm`: the programs, then their first words
    /// without options, then options of which one must be given, or none after `!`.
    #[serde(deserialize_with = "texts")]
    pub commands: Vec<String>,
    /// A regex for each command that would run, program first, words separated by one blank; with
    /// `commands`, for each argument and the standard input.
    pub regex: Option<String>,
    /// The program, without its folder; `*` matches any text.
    pub program: Option<String>,
    /// Words that must follow in this order, possibly with others in between.
    #[serde(deserialize_with = "texts")]
    pub args: Vec<String>,
    /// Options, words or assignments that make the command harmless.
    #[serde(deserialize_with = "texts")]
    pub unless: Vec<String>,
    /// Why the command is forbidden.
    pub reason: String,
    /// What to do instead.
    pub instead: String,
}

impl Settings {
    /// Reads the settings from the text of a `config.toml`, ignoring other tables.
    pub fn from_config(text: &str) -> Result<Self, toml::de::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Tables {
            guard: Settings,
        }
        toml::from_str::<Tables>(text).map(|tables| tables.guard)
    }

    /// Returns whether the rule of this name is in force, if it is on by default.
    pub fn in_force(&self, name: &str) -> bool {
        self.decided(name).unwrap_or(true)
    }

    /// Returns the user's choice for the rule of this name, if any.
    pub(super) fn decided(&self, name: &str) -> Option<bool> {
        let listed = |names: &[String]| names.iter().any(|listed| listed == name);
        if listed(&self.enable) {
            return Some(true);
        }
        listed(&self.disable).then_some(false)
    }
}

/// A mistake in the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The configuration keys that may contain it.
    pub keys: &'static [&'static str],
    /// The invalid value.
    pub value: String,
    /// What is wrong with it, and how to fix it.
    pub message: String,
}

impl Settings {
    /// Returns the first mistake, so that a loader can report it.
    pub fn validate(&self) -> Result<(), Mistake> {
        let wrong = |keys: &'static [&str], value: &str, message: String| {
            Err(Mistake { keys, value: value.to_owned(), message })
        };
        let own = self.rules.iter().map(|rule| rule.name.as_str());
        let known: Vec<&str> =
            RULES.iter().map(|rule| rule.name).chain(OTHER_RULES).chain(own).collect();
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
