//! What is known about a configuration key: what it is for, which variable and which flag set it.

use super::tables::keys;

/// One key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Table and key, as in `limits.attempts_per_story`.
    pub name: &'static str,
    /// How a value given as text is read.
    pub kind: Kind,
    /// The variable that sets it.
    pub env: Option<&'static str>,
    /// The flag of `ralph-loop` that sets it, without its dashes.
    pub flag: Option<&'static str>,
    /// What it is for, in one sentence.
    pub help: &'static str,
}

/// How a value given as text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number, decimal.
    Integer,
    /// A number.
    Number,
    /// A length of time.
    Seconds,
    /// Yes or no.
    Switch,
    /// Any text.
    Text,
    /// One of a few words.
    Choice,
    /// A list; a variable has one item a line.
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
    /// The key of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        keys().find(|key| key.name == name)
    }

    /// The words that it may be set to: its help names them all, and no others, in backticks.
    pub fn choices(&self) -> Vec<&'static str> {
        self.help.split('`').skip(1).step_by(2).collect()
    }
}
