//! The door to the module: a command line in, what it would run out.

use super::Script;
use super::walk::Walker;

/// Longer texts are cut; no command line comes near, and a megabyte takes time to read.
const MAX_LENGTH: usize = 1 << 20;

/// Reads a command line as bash would; variables of the environment are unknown.
pub fn read(command: &str) -> Script {
    read_with(command, &[])
}

/// Reads a command line in which some variables of the environment are known, such as `HOME`.
pub fn read_with(command: &str, variables: &[(&str, &str)]) -> Script {
    let walker = Walker::new(command.len(), variables);
    let end = (0..=MAX_LENGTH.min(command.len())).rev().find(|end| command.is_char_boundary(*end));
    let text = command.get(..end.unwrap_or_default()).unwrap_or_default();
    if text.len() < command.len() {
        walker.session.note_incomplete();
    }
    walker.read(text)
}
