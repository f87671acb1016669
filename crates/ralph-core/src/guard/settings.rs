//! What users may set in `[guard]` of the configuration: plain data.

use std::collections::BTreeMap;

use ralph_base::texts::texts;
use serde::{Deserialize, Serialize};

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
    /// Whether the rules that are off because they also stop ordinary work are on.
    pub strict: bool,
    /// Commands that no rule may forbid; `*` stands for anything.
    #[serde(deserialize_with = "texts")]
    pub allow: Vec<String>,
    /// Globs of files, relative to the project, that no command may write or remove.
    #[serde(deserialize_with = "texts")]
    pub protect: Vec<String>,
    /// Rules of the user's own.
    pub rules: Vec<UserRule>,
    /// Matters of taste, by name; see [`SWITCHES`].
    pub switches: BTreeMap<String, bool>,
}

/// A rule of the user's own: `commands`, or `regex`, or `program` with `args`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UserRule {
    /// Its name, for messages and for `disable`.
    pub name: String,
    /// Forbidden calls, such as `npm|pnpm dist-tag add|rm`: the programs, then the words that come
    /// first, options left out, then options of which one must be given.
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
    switch("opaque-scripts", true, "forbid running fetched or decoded text unread (`curl … | sh`)"),
    switch("reset-keep", true, "forbid `git reset --keep`"),
    switch("stash-pop", false, "forbid `git stash pop`"),
    switch("cherry-pick", false, "forbid `git cherry-pick`"),
    switch("rebase", true, "forbid `git rebase`, except `--abort` and `--quit`"),
    switch("amend", true, "forbid `git commit --amend` of a commit older than the checkpoint"),
    switch("tag-delete", true, "forbid `git tag -d` and `git tag -f`"),
    switch("git-rm", true, "forbid `git rm -rf`, which deletes files that may hold changes"),
    switch("rm-everything", true, "forbid `rm -rf *` in the project's root"),
    switch("rm-unknown-path", true, "forbid `rm -r` of a path that begins with an unknown value"),
    switch("find-delete-all", true, "forbid `find . -delete` without any test"),
    switch("git-lock", false, "forbid removing git's lock files, such as `.git/index.lock`"),
    switch("inline-writes", true, "see writes and deletes in `python -c` and the like"),
];

impl Settings {
    /// Whether a matter of taste is decided for forbidding.
    pub fn switch(&self, name: &str) -> bool {
        let default = SWITCHES.iter().any(|switch| switch.name == name && switch.default);
        self.switches.get(name).copied().unwrap_or(default)
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
