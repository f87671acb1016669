//! What is wrong with the settings of the user.

use super::edit::EDIT_RULES;
use super::{Glob, RULES, Settings};

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
                let message = format!("guard: `{pattern}` of rule `{name}` is no pattern: {why}");
                return wrong(&["guard.rules"], pattern, message);
            }
        }
        for pattern in &self.protect {
            if let Err(why) = Glob::new(pattern) {
                let message = format!("guard.protect: `{pattern}` is no pattern: {why}");
                return wrong(&["guard.protect"], pattern, message);
            }
        }
        Ok(())
    }
}
