//! The result of reading a command line: a flat list of the simple commands that it would run.
//!
//! The list is flat because the questions about it are ("is git push among them?"); each command
//! records how it is reached and whether its exit status survives.

use std::ops::Range;

/// The commands that a command line would run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    /// The simple commands, in source order.
    pub commands: Vec<Command>,
    /// Whether the whole text was understood; if not, `commands` holds the parts that were.
    pub complete: bool,
}

/// One simple command: a program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program, as it would be looked up (`git`, `/usr/bin/git`, `./gradlew`).
    pub program: Word,
    /// The arguments, without quotes and escapes.
    pub args: Vec<Word>,
    /// The assignments before the program: `NAME=value`.
    pub assignments: Vec<(String, Word)>,
    /// Redirections of this command, including those of enclosing groups.
    pub redirects: Vec<Redirect>,
    /// How it is reached, outermost first; empty for a command written directly on the line.
    pub reached: Vec<Reach>,
    /// Whether its exit status affects that of the whole line.
    pub effect: Effect,
    /// Its position in the given text, for messages.
    pub span: Range<usize>,
    /// The directory in which it runs, after preceding `cd`s on the line: absolute, or relative to
    /// the line's starting directory; `None` for that directory itself.
    pub directory: Option<Word>,
    /// The inline program in another language that it runs: `python -c …`.
    pub inline: Option<String>,
}

impl Command {
    /// Returns the program without its folder and `.exe`; `None` if unknown.
    pub fn name(&self) -> Option<&str> {
        self.program.base_name()
    }

    /// Returns whether it is or runs text that was downloaded or decoded on the same line, and so
    /// was not reviewed: `curl … | sh`, `python <(curl …)`, a file just downloaded.
    pub fn runs_fetched(&self) -> bool {
        let is_inline = |text: &String| text.trim_start().starts_with(FETCHED);
        self.program.text() == FETCHED || self.inline.as_ref().is_some_and(is_inline)
    }

    /// Returns the argument at index `place`, if it is known.
    pub fn arg(&self, place: usize) -> Option<&str> {
        self.args.get(place)?.known()
    }
}

/// A word after expansion, as far as it can be determined without running anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// The exact value.
    Known(String),
    /// A value that only a run can determine; the text holds the known parts, with `\u{fffc}` in
    /// place of each unknown part.
    Unknown(String),
}

/// The placeholder for an unknown part of a word.
pub const UNKNOWN: char = '\u{fffc}';

/// The placeholder for unknown text that was downloaded or decoded; contains [`UNKNOWN`].
pub const FETCHED: &str = "\u{fffc}\u{fff9}";

impl Word {
    /// Returns a completely unknown word.
    pub fn unknown() -> Self {
        Self::Unknown(UNKNOWN.to_string())
    }

    /// Returns the text, with [`UNKNOWN`] in place of each unknown part.
    pub fn text(&self) -> &str {
        match self {
            Self::Known(text) | Self::Unknown(text) => text,
        }
    }

    /// Returns the part after the last `/`, without `.exe`, if it is known.
    pub fn base_name(&self) -> Option<&str> {
        base_name(self.text()).filter(|name| !holds_unknown(name))
    }

    /// Returns the value, if it is known.
    pub fn known(&self) -> Option<&str> {
        match self {
            Self::Known(text) => Some(text),
            Self::Unknown(_) => None,
        }
    }
}

impl<T: Into<String>> From<T> for Word {
    fn from(text: T) -> Self {
        let text = text.into();
        if holds_unknown(&text) { Self::Unknown(text) } else { Self::Known(text) }
    }
}

/// Returns the part after the last `/` or `\`, without `.exe`.
pub(super) fn base_name(text: &str) -> Option<&str> {
    let start = text.bytes().rposition(|byte| byte == b'/' || byte == b'\\');
    let name = text.get(start.map_or(0, |at| at + 1)..)?;
    Some(name.strip_suffix(".exe").unwrap_or(name))
}

/// Returns whether a blank-separated list has this word. Called many times for each command, so it
/// compares bytes.
pub(super) fn names(list: &str, word: &str) -> bool {
    list.as_bytes().split(|byte| *byte == b' ').any(|one| one == word.as_bytes())
}

/// Returns whether a text has unknown parts. Nearly all text is ASCII, which is cheaper to check.
fn holds_unknown(text: &str) -> bool {
    !text.is_ascii() && text.contains(UNKNOWN)
}

/// One step through which a command is reached, if it is not written directly on the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Part of a pipeline of several commands.
    Pipe {
        /// Whether it is the pipeline's last command.
        last: bool,
    },
    /// Inside `( … )` or `{ … }`.
    Group,
    /// In the body of a function defined on the line.
    Function(String),
    /// Inside `$( … )`, backticks or a process substitution.
    Substitution,
    /// In a text that a shell runs: an argument of `bash -c` or `eval`, or its standard input.
    Text,
    /// The command run by `xargs`, `parallel` or `find -exec`; its arguments are incomplete.
    Template,
    /// Run by a wrapper such as `sudo`, `env`, `timeout`, `nohup`, `npx` or `poetry run`.
    Wrapper(String),
    /// Started in the background with `&`.
    Background,
    /// Inside a conditional or loop, so that it may never run.
    Conditional,
}

/// The effect of a command's exit status on that of the whole line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Effect {
    /// If this command fails, the whole line fails.
    #[default]
    Passed,
    /// The line's exit status does not depend on this command.
    Ignored,
}

/// One redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// The kind of redirection.
    pub kind: RedirectKind,
    /// The file; for a here-document, its text.
    pub target: Word,
    /// The descriptor it changes (0 input, 1 output, 2 errors); 1 for `&>`, which changes 1 and 2.
    pub descriptor: u32,
}

/// A kind of redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectKind {
    /// `<`
    Read,
    /// `>`, `>|`, `&>`
    Write,
    /// `>>`, `&>>`
    Append,
    /// `<>`
    ReadWrite,
    /// `2>&1`, `>&-`
    Duplicate,
    /// `<<`, `<<-`
    HereDocument,
    /// `<<<`
    HereString,
}
