//! What a command line was read as: a flat list of the simple commands that it would run.
//!
//! Flat, because the questions asked of it are flat ("is git push among them?"); how a command is
//! reached and whether its exit status survives is noted at each command instead of in a tree.

use std::ops::Range;

/// Everything that one command line would run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    /// The simple commands, in the order in which they are written.
    pub commands: Vec<Command>,
    /// Whether all of the text was understood; if not, `commands` holds what could be read.
    pub complete: bool,
}

/// One simple command: a program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program, as it would be looked up (`git`, `/usr/bin/git`, `./gradlew`).
    pub program: Word,
    /// Its arguments, quotes and escapes removed.
    pub args: Vec<Word>,
    /// `NAME=value` before the program.
    pub assignments: Vec<(String, Word)>,
    /// Redirections of this command, those of an enclosing group included.
    pub redirects: Vec<Redirect>,
    /// How it is reached, outermost first; empty for a command of the line itself.
    pub reached: Vec<Reach>,
    /// Whether its exit status can be seen in that of the whole line.
    pub fate: Fate,
    /// Where it stands in the text that was given, for messages.
    pub span: Range<usize>,
    /// The directory it runs in, after the `cd`s before it on the line: absolute, or relative to
    /// where the line began; `None` if that is where the line began.
    pub directory: Option<Word>,
    /// The program in another language that it runs, if that stands on the line: `python -c …`.
    pub inline: Option<String>,
}

impl Command {
    /// The program without its folder and without `.exe`; `None` if that is unknown.
    pub fn name(&self) -> Option<&str> {
        self.program.base_name()
    }

    /// Whether it is or runs text that was fetched or decoded on the same line, which nobody has
    /// read: `curl … | sh`, `python <(curl …)`, a file just downloaded.
    pub fn runs_fetched(&self) -> bool {
        let is_inline = |text: &String| text.trim_start().starts_with(FETCHED);
        self.program.text() == FETCHED || self.inline.as_ref().is_some_and(is_inline)
    }

    /// The argument at `place`, if it is known.
    pub fn arg(&self, place: usize) -> Option<&str> {
        self.args.get(place)?.known()
    }
}

/// A word after expansion, as far as that can be known without running anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// The exact value.
    Known(String),
    /// Depends on something that only a run can tell; the text holds what is known of it, with
    /// `\u{fffc}` in the place of each unknown part.
    Unknown(String),
}

/// Stands in the text of an unknown word for what is not known.
pub const UNKNOWN: char = '\u{fffc}';

/// Stands for an unknown text that comes from elsewhere or out of a disguise; holds [`UNKNOWN`].
pub const FETCHED: &str = "\u{fffc}\u{fff9}";

impl Word {
    /// A word of which nothing is known.
    pub fn unknown() -> Self {
        Self::Unknown(UNKNOWN.to_string())
    }

    /// What is known of the text, with [`UNKNOWN`] in the place of each unknown part.
    pub fn text(&self) -> &str {
        match self {
            Self::Known(text) | Self::Unknown(text) => text,
        }
    }

    /// What follows the last `/`, without `.exe`, if that much is known.
    pub fn base_name(&self) -> Option<&str> {
        base_name(self.text()).filter(|name| !holds_unknown(name))
    }

    /// The value, if it is known.
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

/// What follows the last `/` or `\`, without `.exe`.
pub(super) fn base_name(text: &str) -> Option<&str> {
    let start = text.bytes().rposition(|byte| byte == b'/' || byte == b'\\');
    let name = text.get(start.map_or(0, |at| at + 1)..)?;
    Some(name.strip_suffix(".exe").unwrap_or(name))
}

/// Whether a list with a blank between its words has this one. Asked many times for each command, so
/// bytes are compared.
pub(super) fn names(list: &str, word: &str) -> bool {
    list.as_bytes().split(|byte| *byte == b' ').any(|one| one == word.as_bytes())
}

/// Nearly all text is ASCII, and that is the cheaper question.
fn holds_unknown(text: &str) -> bool {
    !text.is_ascii() && text.contains(UNKNOWN)
}

/// One step on the way to a command that is not simply written on the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Part of a pipeline of several commands; `last` says whether it stands at its end.
    Pipe {
        /// Whether it is the pipeline's last command.
        last: bool,
    },
    /// In `( … )`, or in `{ … }`.
    Group,
    /// In a function body that the line defines.
    Function(String),
    /// In `$( … )`, backticks or a process substitution.
    Substitution,
    /// In a text that a shell reads as its script: given to `bash -c` or `eval`, or on its input.
    Text,
    /// The command that `xargs`, `parallel` or `find -exec` runs; its arguments are incomplete.
    Template,
    /// Behind a wrapper program such as `sudo`, `env`, `timeout`, `nohup`, `npx` or `poetry run`.
    Wrapper(String),
    /// Started in the background with `&`.
    Background,
    /// Inside a conditional or loop, so that it may never run.
    Conditional,
}

/// What becomes of a command's exit status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Fate {
    /// If this command fails, the whole line fails.
    #[default]
    Decides,
    /// The line's own exit status says nothing about this command.
    Masked,
}

/// One redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// What it does.
    pub kind: RedirectKind,
    /// The file; for a here-document its text.
    pub target: Word,
    /// The descriptor it changes (0 input, 1 output, 2 errors), both outputs for `&>` being 1.
    pub descriptor: u32,
}

/// What a redirection does.
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
