//! The rules, one row each.
//!
//! To add one, write a function that looks at an [`Act`] and says what to do instead if it is
//! forbidden, or rows in `rules.toml`, put a row here and a line into `docs/guard.md`; a test asks
//! for both.

use super::act::Act;
use super::facts::Facts;
use super::settings::Settings;
use super::{copy, files, git_acts, patterns, system};

/// One named prohibition.
pub struct Rule {
    /// Its name in messages, `disable` and `enable`.
    pub name: &'static str,
    /// Why it exists; goes into the answer.
    pub reason: &'static str,
    /// When it applies, if the settings say nothing.
    pub(super) applies: Applies,
    /// What to do instead of this command; none if it is fine.
    pub(super) instead: fn(&Act) -> Option<String>,
}

/// When a rule applies about which the settings say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applies {
    /// In every session.
    Always,
    /// In sessions that a loop started, which nobody watches.
    InLoop,
    /// Where the settings ask for `strict`.
    WhenStrict,
}

impl Rule {
    /// Its default, as the documentation says it.
    pub fn default_words(&self) -> &'static str {
        match self.applies {
            Applies::Always => "on",
            Applies::InLoop => "on under the loop",
            Applies::WhenStrict => "on if strict",
        }
    }

    /// Whether it applies at this place under these settings.
    pub fn applies(&self, facts: &Facts, settings: &Settings) -> bool {
        settings.decided(self.name).unwrap_or(match self.applies {
            Applies::Always => true,
            Applies::InLoop => facts.in_loop,
            Applies::WhenStrict => settings.strict,
        })
    }
}

const fn rule(
    name: &'static str,
    reason: &'static str,
    instead: fn(&Act) -> Option<String>,
) -> Rule {
    Rule { name, reason, applies: Applies::Always, instead }
}

/// The rules that come with the product.
pub const RULES: &[Rule] = &[
    rule("git-push", "what is pushed is out of the user's hands", git_acts::instead_of_push),
    rule("git-merge", "merging is the user's decision", git_acts::instead_of_merge),
    rule(
        "git-discard",
        "it throws away work that was never committed",
        git_acts::instead_of_discard,
    ),
    rule(
        "git-history",
        "it rewrites or removes commits that the loop returns to",
        git_acts::instead_of_rewrite,
    ),
    rule(
        "rm-outside",
        "it deletes the project itself, its history or files outside of it",
        files::instead_of_deleting,
    ),
    rule(
        "ralph-state",
        "these files steer the loop and its guard and are not the agent's to change",
        files::instead_of_touching,
    ),
    rule(copy::NAME, copy::REASON, copy::instead_of_command),
    rule("disk", "it changes a device or a file of the system", system::instead_of_wrecking),
    rule(
        "fork-bomb",
        "a function that starts itself in the background fills the machine with processes",
        system::instead_of_forking,
    ),
    rule(
        "opaque-script",
        "it runs text from elsewhere that nobody has read",
        system::instead_of_running_unread,
    ),
    rule("publish", "what others can download cannot be taken back", |act| {
        patterns::instead_of("publish", act)
    }),
    // Somebody at the keyboard who builds images also pushes them, many times a day.
    Rule {
        applies: Applies::InLoop,
        ..rule("publish-image", "what others can download cannot be taken back", |act| {
            patterns::instead_of("publish-image", act)
        })
    },
    Rule {
        applies: Applies::InLoop,
        ..rule("deploy", "it changes running systems, which no rollback restores", |act| {
            patterns::instead_of("deploy", act)
        })
    },
    Rule {
        applies: Applies::WhenStrict,
        ..rule("database", "it deletes data that no commit holds", |act| {
            patterns::instead_of("database", act)
        })
    },
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
