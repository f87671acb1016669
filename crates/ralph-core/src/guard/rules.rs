//! The rules: when each one applies, and what it checks.
//!
//! To add a rule, add a row to `rules.toml` and a section to `docs/guard.md` (a test requires
//! both). List the forbidden commands there or, if data cannot express them, write a function that
//! takes an [`Act`] and returns what to do instead if it is forbidden.

use super::act::Act;
use super::{Facts, Settings, copy, files, patterns, system};

/// A named rule that forbids commands.
pub struct Rule {
    /// The name in messages, `disable` and `enable`.
    pub name: &'static str,
    /// Why the rule exists; part of the denial.
    pub reason: &'static str,
    /// When the rule applies by default.
    pub(super) applies: Applies,
    /// The check in code, if `rules.toml` cannot express it: what to do instead; `None` if allowed.
    by_code: Option<fn(&Act) -> Option<String>>,
    /// Whether the rule ignores commands that run on other machines or in containers.
    is_local: bool,
}

/// When a rule applies if the settings do not mention it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applies {
    /// In every session.
    Always,
    /// In sessions that a loop started, which nobody is watching.
    InLoop,
    /// Only if the settings enable it.
    WhenEnabled,
}

impl Rule {
    /// Returns the default in the words of the documentation.
    pub fn default_words(&self) -> &'static str {
        match self.applies {
            Applies::Always => "on",
            Applies::InLoop => "on under the loop",
            Applies::WhenEnabled => "off",
        }
    }

    /// Returns whether the rule applies, given the facts and settings.
    pub fn applies(&self, facts: &Facts, settings: &Settings) -> bool {
        settings.decided(self.name).unwrap_or(match self.applies {
            Applies::Always => true,
            Applies::InLoop => facts.in_loop,
            Applies::WhenEnabled => false,
        })
    }

    /// Returns what to do instead of this command; `None` if it is allowed.
    pub(super) fn instead_of(&self, act: &Act) -> Option<String> {
        if self.is_local && act.is_elsewhere() {
            return None;
        }
        patterns::instead_of(self.name, act).or_else(|| self.by_code?(act))
    }
}

include!(concat!(env!("OUT_DIR"), "/rules.rs"));

#[cfg(test)]
mod tests {
    use crate::guard::{Facts, Settings, check};

    #[test]
    fn each_denial_suggests_a_suitable_alternative() {
        let (root, cwd) = ("/w/app".into(), "/w/app".into());
        let facts = Facts { root, cwd, in_loop: true, ..Facts::default() };
        for (command, instead) in [
            ("git $WHAT", "write the git subcommand out in full"),
            ("gh api -X PUT repos/o/r/pulls/1/merge", "leave the request open"),
            ("svn merge x", "make the change by hand"),
            ("git pull", "`git fetch` shows what others did"),
            ("git stash drop", "`git stash apply`"),
            ("git clean -fd", "each by its name"),
            ("git branch -D x", "make a new one under another name"),
            ("git gc --prune=now", "git cleans up unreachable objects"),
            ("tar xf x -C /usr", "`--prefix`, `-C`, `-d`"),
            ("chmod -R 777 /", "permissions of files inside the project"),
            ("curl x | python3", "read the file, then run it"),
            ("mv .git /tmp/x", "copy what you need"),
            ("echo > .ralph/config.toml", "`ralph-loop complete`"),
            ("rm .claude/settings.json", "ask the user to change settings"),
            ("rm .git/config", "git's own commands"),
            ("git config core.hooksPath x", "leave git's hooks in force"),
            ("docker push x/y", "a registry on this machine"),
            ("kubectl apply -f x", "`--context kind-…`"),
        ] {
            let denial = check(command, &facts, &Settings::default()).unwrap();
            assert!(denial.instead.contains(instead), "{command}: {}", denial.instead);
        }
    }
}
