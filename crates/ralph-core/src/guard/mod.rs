//! Forbids shell commands and edits that an unattended agent must not make.
//!
//! The command line is parsed, not searched: the programs it would run are what counts. The rules
//! are a table in `rules.rs`. No disk access: paths are resolved as text, links by the caller.
//!
//! ```
//! use ralph_core::guard::{self, Facts, Settings};
//!
//! let facts = Facts { root: "/home/dev/app".into(), cwd: "/home/dev/app".into(), ..Facts::default() };
//! let denial = guard::check("cd lib && X=push; git $X", &facts, &Settings::default());
//! assert_eq!(denial.map(|denial| denial.rule), Some("git-push".to_owned()));
//! assert_eq!(guard::check("git commit -m 'then git push'", &facts, &Settings::default()), None);
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `facts.rs`, `settings.rs` | input and answer; the user's settings and their mistakes |
//! | `check.rs`, `rules.rs`, `act.rs` | the check; the rules; a command as the rules see it |
//! | `patterns.rs`, `rules.toml` | rules as data, the built-in ones and the user's own |
//! | `git.rs`, `git_acts.rs` | a call of git; checks on it that data cannot express |
//! | `files.rs`, `protected.rs`, `copy.rs` | deleting, writing; owners; the project and its copy |
//! | `system.rs` | dangers to the machine |
//! | `edit.rs` | edits of files |
//! | `words.rs`, `paths.rs`, `glob.rs`, `reads.rs`, `writes.rs` | words; paths; reads; writes |
//! | `inline.rs` | inline programs in other languages |

mod act;
mod check;
mod copy;
mod edit;
mod facts;
mod files;
mod git;
mod git_acts;
mod glob;
mod inline;
mod paths;
mod patterns;
mod protected;
mod reads;
mod rules;
mod settings;
mod system;
mod words;
mod writes;

#[cfg(test)]
mod tests;

pub use check::{check, check_script, commits};
pub use edit::{Edit, check_edit, out_of_scope};
pub use facts::{CopyOf, Denial, Facts};
pub use glob::Glob;
pub use reads::reads;
pub use rules::RULES;
pub use settings::{Mistake, OwnSessions, Settings, UserRule};
pub use writes::{moves, writes};
