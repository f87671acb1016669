//! The rules, one row each.
//!
//! To add one, write a function that looks at an [`Act`] and says whether it is forbidden, put a
//! row here and a line into `docs/guard.md`; a test asks for both.

use super::act::Act;
use super::{copy, discard, files, forge, history, push, system};

/// One named prohibition.
pub struct Rule {
    /// Its name in messages, `disable` and `enable`.
    pub name: &'static str,
    /// Whether it is in force when nothing is said.
    pub on: bool,
    /// Why it exists; goes into the answer.
    pub reason: &'static str,
    /// What to do instead of this command; goes into the answer.
    pub(super) instead: fn(&Act) -> String,
    /// Whether it forbids this command.
    pub(super) forbids: fn(&Act) -> bool,
}

const REQUEST: &str =
    "commit your work and leave the rest to the user: `ralph-loop request-merge --summary \"…\"`";
const KEEP: &str = "keep the work: commit it, or undo your own change with an edit; the loop rolls back failed attempts by itself";

/// The rules that come with the product.
pub const RULES: &[Rule] = &[
    Rule {
        name: "git-push",
        on: true,
        forbids: push::forbids,
        reason: "an unattended agent must not publish anything",
        instead: |_| REQUEST.to_owned(),
    },
    Rule {
        name: "git-merge",
        on: true,
        forbids: forge::merges,
        reason: "merging is the user's decision",
        instead: |_| REQUEST.to_owned(),
    },
    Rule {
        name: "git-discard",
        on: true,
        forbids: discard::forbids,
        reason: "it throws away work that was never committed",
        instead: |_| KEEP.to_owned(),
    },
    Rule {
        name: "git-history",
        on: true,
        forbids: history::forbids,
        reason: "it rewrites or removes commits that the loop returns to",
        instead: |_| {
            "add a new commit on top; ask the user with `ralph-loop request-merge` if history must change".to_owned()
        },
    },
    Rule {
        name: "rm-outside",
        on: true,
        forbids: files::deletes_outside,
        reason: "it deletes the project itself, its history or files outside of it",
        instead: |_| {
            "delete only what you made, by its exact path inside the project or the temp folder"
                .to_owned()
        },
    },
    Rule {
        name: "ralph-state",
        on: true,
        forbids: files::touches_protected,
        reason: "these files steer the loop and its guard and are not the agent's to change",
        instead: |_| {
            "report through `ralph-loop complete`, and ask the user to change settings".to_owned()
        },
    },
    Rule {
        name: copy::NAME,
        on: true,
        forbids: copy::forbids,
        reason: copy::REASON,
        instead: copy::instead,
    },
    Rule {
        name: "disk",
        on: true,
        forbids: system::wrecks_disk,
        reason: "it overwrites a device or a system file",
        instead: |_| "write to a file inside the project, such as ./disk.img".to_owned(),
    },
    Rule {
        name: "fork-bomb",
        on: true,
        forbids: system::forks_forever,
        reason: "a function that starts itself in the background fills the machine with processes",
        instead: |_| "use a loop with an end".to_owned(),
    },
    Rule {
        name: "opaque-script",
        on: true,
        forbids: system::runs_unread_text,
        reason: "it runs text from elsewhere that nobody has read",
        instead: |_| "download it to a file, read the file, then run it".to_owned(),
    },
];
