//! The rules, one row each.
//!
//! To add one, write a function that looks at an [`Act`] and says what to do instead if it is
//! forbidden, put a row here and a line into `docs/guard.md`; a test asks for both.

use super::act::Act;
use super::{copy, files, git_acts, system};

/// One named prohibition.
pub struct Rule {
    /// Its name in messages, `disable` and `enable`.
    pub name: &'static str,
    /// Why it exists; goes into the answer.
    pub reason: &'static str,
    /// What to do instead of this command; none if it is fine.
    pub(super) instead: fn(&Act) -> Option<String>,
}

const fn rule(
    name: &'static str,
    reason: &'static str,
    instead: fn(&Act) -> Option<String>,
) -> Rule {
    Rule { name, reason, instead }
}

/// The rules that come with the product.
pub const RULES: &[Rule] = &[
    rule("git-push", "an unattended agent must not publish anything", git_acts::instead_of_push),
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
    rule("disk", "it overwrites a device or a system file", system::instead_of_wrecking),
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
];
