//! Inline programs in other languages: `python -c`, `node -e`, `awk 'BEGIN{…}'`.
//!
//! They are not parsed. Calls that start processes, or remove or write files, are found by name,
//! and the string literals among their arguments are read as the equivalent shell command.

mod meaning;
mod tokens;

use meaning::equivalent_commands;

use super::facts::Facts;
use shell_reader::{Command, Reach};

/// Returns the commands that inline programs would run.
pub(super) fn commands(commands: &[Command], facts: &Facts) -> Vec<Command> {
    let mut found = Vec::new();
    for command in commands {
        let (Some(name), Some(text)) = (command.name(), &command.inline) else { continue };
        let lines = equivalent_commands(name, text).into_iter();
        for mut inner in lines.flat_map(|line| facts.read(&line).commands) {
            inner.span = command.span.clone();
            inner.directory = command.directory.clone().or(inner.directory);
            inner.reached.insert(0, Reach::Text);
            found.push(inner);
        }
    }
    found
}
