//! Describes configuration keys: their purpose, and the variable and the flag that set them.

use super::tables::keys;

/// A configuration key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Table and key, as in `limits.attempts_per_story`.
    pub name: &'static str,
    /// How a value given as text is parsed.
    pub kind: Kind,
    /// The variable that sets it.
    pub env: Option<&'static str>,
    /// The flag of `ralph-loop` that sets it, without its dashes.
    pub flag: Option<&'static str>,
    /// Its purpose, in one sentence.
    pub help: &'static str,
}

/// How a value given as text is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number, decimal.
    Integer,
    /// A number.
    Number,
    /// A duration.
    Seconds,
    /// A boolean.
    Switch,
    /// Any text.
    Text,
    /// One of a few words.
    Choice,
    /// A list; a variable has one item per line.
    List,
    /// A table of its own; only the file can hold it.
    Table,
}

pub(super) const fn key(
    name: &'static str,
    kind: Kind,
    env: &'static str,
    flag: &'static str,
    help: &'static str,
) -> Key {
    let env = if env.is_empty() { None } else { Some(env) };
    let flag = if flag.is_empty() { None } else { Some(flag) };
    Key { name, kind, env, flag, help }
}

impl Key {
    /// Returns the key with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        keys().find(|key| key.name == name)
    }

    /// Returns the words that it accepts: its help names them all, and no others, in backticks.
    pub fn choices(&self) -> Vec<&'static str> {
        self.help.split('`').skip(1).step_by(2).collect()
    }
}
