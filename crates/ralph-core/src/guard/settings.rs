//! What users may set in `[guard]` of the configuration: plain data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::edit::EDIT_RULES;
use super::rules::RULES;

/// The table `[guard]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Names of rules that are switched off.
    pub disable: Vec<String>,
    /// Names of rules that are switched on although they are off by default.
    pub enable: Vec<String>,
    /// Commands that no rule may forbid; `*` stands for anything.
    pub allow: Vec<String>,
    /// Globs of files, relative to the project, that no command may write or remove.
    pub protect: Vec<String>,
    /// Rules of the user's own.
    pub rules: Vec<UserRule>,
    /// Matters of taste, by name; see [`SWITCHES`].
    pub switches: BTreeMap<String, bool>,
}

/// A rule of the user's own: `regex`, or `program` with `args`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UserRule {
    /// Its name, for messages and for `disable`.
    pub name: String,
    /// Matched against each command that would run, program first, words separated by one blank.
    pub regex: Option<String>,
    /// The program, without its folder; `*` stands for anything.
    pub program: Option<String>,
    /// Words that must follow, in this order; other words may stand between them.
    pub args: Vec<String>,
    /// Why it is forbidden.
    pub reason: String,
    /// What to do instead.
    pub instead: String,
}

/// A matter of taste that can be decided either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch {
    /// Its name in `[guard.switches]`.
    pub name: &'static str,
    /// What holds when nothing is said.
    pub default: bool,
    /// What it means to switch it on.
    pub meaning: &'static str,
}

const fn switch(name: &'static str, default: bool, meaning: &'static str) -> Switch {
    Switch { name, default, meaning }
}

/// All switches; on means that the command is forbidden.
pub const SWITCHES: &[Switch] = &[
    switch("push-dry-run", true, "forbid `git push --dry-run`"),
    switch("pull", true, "forbid `git pull`, which merges"),
    switch("repo-sync", true, "forbid `gh repo sync`"),
    switch("remote-commands", true, "apply the git rules to `ssh`, `docker exec` and the like"),
    switch("unknown-git-command", true, "forbid `git $X` when nothing says what `$X` is"),
    switch(
        "opaque-scripts",
        true,
        "forbid running downloaded or decoded text unread (`curl … | sh`)",
    ),
    switch("reset-keep", true, "forbid `git reset --keep`"),
    switch("stash-pop", false, "forbid `git stash pop`"),
    switch("cherry-pick", false, "forbid `git cherry-pick`"),
    switch("rebase", true, "forbid `git rebase`, except `--abort` and `--quit`"),
    switch(
        "amend",
        true,
        "forbid `git commit --amend` unless the last commit is newer than the checkpoint",
    ),
    switch("tag-delete", true, "forbid `git tag -d` and `git tag -f`"),
    switch("git-rm", true, "forbid `git rm -rf`, which deletes files that may hold changes"),
    switch("rm-everything", true, "forbid `rm -rf *` in the project's root"),
    switch(
        "rm-unknown-path",
        true,
        "forbid recursive deletes of a path that begins with an unknown value",
    ),
    switch("find-delete-all", true, "forbid `find . -delete` without any test"),
    switch("git-lock", false, "forbid removing `.git/index.lock`"),
    switch("inline-writes", true, "see writes and deletes in `python -c` and the like"),
];

/// What is wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A name in `disable` or `enable` that no rule has.
    #[error("guard: there is no rule named `{0}`; the rules are {1}")]
    UnknownRule(String, String),
    /// A name in `switches` that no switch has.
    #[error("guard.switches: there is no switch named `{0}`; see docs/guard.md")]
    UnknownSwitch(String),
    /// A regex or glob that cannot be compiled.
    #[error("guard: `{pattern}` of rule `{rule}` is not a pattern: {why}")]
    Pattern {
        /// The rule it belongs to, `protect` for a glob.
        rule: String,
        /// The text.
        pattern: String,
        /// What the compiler says.
        why: String,
    },
    /// A rule with neither `regex` nor `program`.
    #[error("guard.rules: rule `{0}` needs a `regex` or a `program`")]
    EmptyRule(String),
}

impl Settings {
    /// Whether a matter of taste is decided for forbidding.
    pub fn switch(&self, name: &str) -> bool {
        let default = SWITCHES.iter().any(|switch| switch.name == name && switch.default);
        self.switches.get(name).copied().unwrap_or(default)
    }

    /// Whether the rule of this name is in force.
    pub fn in_force(&self, name: &str, on: bool) -> bool {
        let listed = |names: &[String]| names.iter().any(|listed| listed == name);
        !listed(&self.disable) && (on || listed(&self.enable))
    }

    /// Finds the first mistake, for a loader that wants to name it.
    pub fn validate(&self) -> Result<(), Error> {
        let known = || {
            RULES
                .iter()
                .map(|rule| rule.name)
                .chain(EDIT_RULES)
                .chain(self.rules.iter().map(|rule| rule.name.as_str()))
        };
        for name in self.disable.iter().chain(&self.enable) {
            if !known().any(|known| known == name) {
                let all = known().collect::<Vec<_>>().join(", ");
                return Err(Error::UnknownRule(name.clone(), all));
            }
        }
        for name in self.switches.keys() {
            if !SWITCHES.iter().any(|switch| switch.name == name) {
                return Err(Error::UnknownSwitch(name.clone()));
            }
        }
        for rule in &self.rules {
            match &rule.regex {
                Some(pattern) => {
                    regex::Regex::new(pattern).map_err(|why| Error::Pattern {
                        rule: rule.name.clone(),
                        pattern: pattern.clone(),
                        why: why.to_string(),
                    })?;
                }
                None if rule.program.is_none() => return Err(Error::EmptyRule(rule.name.clone())),
                None => {}
            }
        }
        for pattern in &self.protect {
            globset::Glob::new(pattern).map_err(|why| Error::Pattern {
                rule: "protect".to_owned(),
                pattern: pattern.clone(),
                why: why.to_string(),
            })?;
        }
        Ok(())
    }
}
