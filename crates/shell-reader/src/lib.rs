//! Reads a shell command line and finds the programs that it would run, with their arguments.
//!
//! Nothing is run and no file is read. Values that only a run can determine are unknown; parts
//! beyond the limits on depth, length and work are left out, and [`Script::complete`] is then
//! false. Patterns (`*.rs`) and a `~` with an unknown home folder are left unexpanded.
//!
//! ```
//! let script = shell_reader::read("cd sub && G=git; timeout 5 $G pu'sh' | tail -3");
//! let names: Vec<_> = script.commands.iter().filter_map(|command| command.name()).collect();
//! assert_eq!(names, ["cd", "timeout", "git", "tail"]);
//! assert_eq!(script.commands[2].arg(0), Some("push"));
//! ```

mod braces;
mod builtins;
mod compound;
mod context;
mod escapes;
mod expand;
mod grammar;
mod interpreters;
mod options;
mod output;
mod parser;
mod script;
mod shells;
mod simple;
pub mod sorted;
mod sources;
mod state;
mod status_effect;
mod templates;
mod tree;
mod walk;
mod words;
mod wrappers;

#[cfg(test)]
mod tests;

pub use options::{quoted, values};
pub use script::{Command, Effect, FETCHED, Reach, Redirect, RedirectKind, Script, UNKNOWN, Word};
pub use sources::downloads;
pub use walk::{read, read_with};
