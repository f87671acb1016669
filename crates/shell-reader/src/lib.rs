//! Reads a shell command line: which programs would it run, with what, and how are they reached?
//!
//! Nothing is run and no file is read. What only a run can tell is said to be unknown; what is
//! beyond the limits on depth, length and work is left out, and [`Script::complete`] says so.
//! Patterns (`*.rs`) and a `~` whose folder is not known stay as they are written.
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
mod fate;
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
mod templates;
mod tree;
mod walk;
mod words;
mod wrappers;

#[cfg(test)]
mod tests;

pub use options::{quoted, values};
pub use script::{Command, FETCHED, Fate, Reach, Redirect, RedirectKind, Script, UNKNOWN, Word};
pub use sources::downloads;
pub use walk::{read, read_with};
