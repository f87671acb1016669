//! The labelled commands under `fixtures/`: one per row, with the expected decision of the guard.

use camino::Utf8Path;

use crate::scratch::fixtures;

/// The file names of the tables.
pub const COMMAND_TABLES: [&str; 2] = ["commands.tsv", "commands-extra.tsv"];

/// A command, and the expected decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledCommand {
    /// Whether the guard should deny it.
    pub is_denied: bool,
    /// The category of the command.
    pub category: String,
    /// The command as typed.
    pub command: String,
    /// The reason; for a denied command, this may be the name of the rule that must deny it.
    pub reason: String,
    /// The certainty of the label: `core`, `configured` or `contested`.
    pub tier: String,
}

/// Reads the rows of a table; panics at a malformed row.
pub fn labelled_commands(table: &str) -> Vec<LabelledCommand> {
    let path = fixtures().join(table);
    let text = fs_err::read_to_string(&path).expect("a table");
    text.lines().skip(1).map(|line| row(&path, line)).collect()
}

fn row(path: &Utf8Path, line: &str) -> LabelledCommand {
    let fields: Vec<&str> = line.split('\t').collect();
    assert_eq!(fields.len(), 5, "{path}: five columns are needed: {line}");
    LabelledCommand {
        is_denied: fields[0] == "block",
        category: fields[1].to_owned(),
        command: unescaped(fields[2]),
        reason: fields[3].to_owned(),
        tier: fields[4].to_owned(),
    }
}

fn unescaped(field: &str) -> String {
    field.replace("\\\\", "\u{0}").replace("\\n", "\n").replace("\\t", "\t").replace('\u{0}', "\\")
}
