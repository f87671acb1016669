//! Forbids shell commands and edits that an unattended agent must not make.
//!
//! The command line is read, not searched: what counts is which programs it would run. The rules
//! are a table in `rules.rs`. Nothing here touches the disk: paths are resolved as text, links are the caller's business.
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
//! | file | what it knows |
//! | --- | --- |
//! | `facts.rs`, `settings.rs` | what the guard receives and answers; what users set; what is wrong with that |
//! | `check.rs`, `rules.rs`, `act.rs` | the question; the rules; one command as they see it |
//! | `patterns.rs`, `rules.toml` | rules as data: git, publishing, deploying, databases; the user's own |
//! | `git.rs`, `git_acts.rs` | a call of git; questions about it that no data can ask |
//! | `files.rs`, `protected.rs`, `copy.rs` | deleting and writing; whose file it is; the project and its copy |
//! | `system.rs` | what endangers the machine |
//! | `edit.rs` | edits instead of commands |
//! | `words.rs`, `paths.rs`, `glob.rs`, `reads.rs`, `writes.rs` | options and operands; where a path lies; what a command shows and writes |
//! | `inline.rs` | programs of other languages |

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
