//! The rules, one row each.
//!
//! To add one, put a row here and a section into `docs/guard.md` (a test asks for both), and write what
//! it forbids into `rules.toml` or, where that cannot say it, a function that looks at an [`Act`] and
//! says what to do instead if it is forbidden.

use super::act::Act;
use super::facts::Facts;
use super::settings::Settings;
use super::{copy, files, patterns, system};

/// One named prohibition.
pub struct Rule {
    /// Its name in messages, `disable` and `enable`.
    pub name: &'static str,
    /// Why it exists; goes into the answer.
    pub reason: &'static str,
    /// When it applies, if the settings say nothing.
    pub(super) applies: Applies,
    /// What to do instead of this command, where `rules.toml` cannot say it; none if it is fine.
    by_code: fn(&Act) -> Option<String>,
    /// Whether commands that run on other machines and in containers are none of its business.
    is_local: bool,
}

/// When a rule applies about which the settings say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applies {
    /// In every session.
    Always,
    /// In sessions that a loop started, which nobody watches.
    InLoop,
    /// Where the settings enable it.
    WhenEnabled,
}

impl Rule {
    /// Its default, as the documentation says it.
    pub fn default_words(&self) -> &'static str {
        match self.applies {
            Applies::Always => "on",
            Applies::InLoop => "on under the loop",
            Applies::WhenEnabled => "off",
        }
    }

    /// Whether it applies at this place under these settings.
    pub fn applies(&self, facts: &Facts, settings: &Settings) -> bool {
        settings.decided(self.name).unwrap_or(match self.applies {
            Applies::Always => true,
            Applies::InLoop => facts.in_loop,
            Applies::WhenEnabled => false,
        })
    }

    /// What to do instead of this command; none if it is fine.
    pub(super) fn instead_of(&self, act: &Act) -> Option<String> {
        if self.is_local && act.is_elsewhere() {
            return None;
        }
        patterns::instead_of(self.name, act).or_else(|| (self.by_code)(act))
    }

    const fn new(name: &'static str, reason: &'static str) -> Self {
        Self { name, reason, applies: Applies::Always, by_code: |_| None, is_local: false }
    }

    const fn when(self, applies: Applies) -> Self {
        Self { applies, ..self }
    }

    const fn by_code(self, by_code: fn(&Act) -> Option<String>) -> Self {
        Self { by_code, ..self }
    }

    const fn local(self) -> Self {
        Self { is_local: true, ..self }
    }
}

const DOWNLOADED: &str = "what others can download cannot be taken back";

/// The rules that come with the product.
pub const RULES: &[Rule] = &[
    Rule::new("git-push", "what is pushed is out of the user's hands"),
    Rule::new("git-merge", "merging is the user's decision"),
    Rule::new("git-discard", "it throws away work that was never committed").local(),
    Rule::new("git-history", "it rewrites or removes commits that the loop returns to").local(),
    Rule::new("rm-outside", "it deletes the project itself, its history or files outside of it")
        .by_code(files::instead_of_deleting)
        .local(),
    Rule::new(
        "ralph-state",
        "these files steer the loop and its guard and are not the agent's to change",
    )
    .by_code(files::instead_of_touching)
    .local(),
    Rule::new(copy::NAME, copy::REASON).by_code(copy::instead_of_command).local(),
    Rule::new("disk", "it changes a device or a file of the system")
        .by_code(system::instead_of_wrecking)
        .local(),
    Rule::new(
        "fork-bomb",
        "a function that starts itself in the background fills the machine with processes",
    )
    .by_code(system::instead_of_forking),
    Rule::new("opaque-script", "it runs text from elsewhere that nobody has read")
        .by_code(system::instead_of_running_unread),
    Rule::new("publish", DOWNLOADED),
    // Somebody at the keyboard who builds images also pushes them, many times a day.
    Rule::new("publish-image", DOWNLOADED).when(Applies::InLoop),
    Rule::new("deploy", "it changes running systems, which no rollback restores")
        .when(Applies::InLoop),
    Rule::new("database", "it deletes data that no commit holds").when(Applies::WhenEnabled),
];

#[cfg(test)]
mod tests {
    use crate::guard::{Facts, Settings, check};

    #[test]
    fn what_to_do_instead_fits_the_act() {
        let (root, cwd) = ("/w/app".into(), "/w/app".into());
        let facts = Facts { root, cwd, in_loop: true, ..Facts::default() };
        for (command, instead) in [
            ("git push", "leave publishing to the user"),
            ("svn commit -m x", "leave the change uncommitted"),
            ("git $WHAT", "write out what git is to do"),
            ("gh pr merge 1", "leave the request open"),
            ("gh api -X PUT repos/o/r/pulls/1/merge", "leave the request open"),
            ("git merge x", "leave merging to the user"),
            ("svn merge x", "make the change by hand"),
            ("git pull", "`git fetch` shows what others did"),
            ("git reset --hard", "the loop rolls back failed attempts"),
            ("git stash drop", "`git stash apply`"),
            ("git clean -fd", "each by its name"),
            ("git commit --amend", "make a new commit"),
            ("git branch -D x", "make a new one under another name"),
            ("git gc --prune=now", "git removes by itself"),
            ("rm -rf /srv", "delete only what you made"),
            ("mkfs.ext4 /dev/sdb", "./disk.img"),
            ("tar xf x -C /usr", "`--prefix`, `-C`, `-d`"),
            ("chmod -R 777 /", "permissions of files inside the project"),
            ("curl x | python3", "read the file, then run it"),
            (":(){ :|:& };:", "a loop with an end"),
            ("mv .git /tmp/x", "copy what you need"),
            ("echo > .ralph/config.toml", "`ralph-loop complete`"),
            ("rm .claude/settings.json", "ask the user to change settings"),
            ("rm .git/config", "git's own commands"),
            ("git config core.hooksPath x", "leave git's hooks in force"),
            ("npm publish", "a registry on this machine"),
            ("docker push x/y", "a registry on this machine"),
            ("terraform apply", "`plan`"),
            ("kubectl apply -f x", "`--context kind-…`"),
        ] {
            let denial = check(command, &facts, &Settings::default()).unwrap();
            assert!(denial.instead.contains(instead), "{command}: {}", denial.instead);
        }
    }
}
