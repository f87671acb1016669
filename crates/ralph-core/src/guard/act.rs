//! A command prepared for the rules: its words, its git call, the location of its paths.

use std::cell::OnceCell;

use super::git::GitCall;
use super::paths::{self, Location};
use super::patterns::Row;
use super::words::{has_option, operands};
use super::{Facts, Settings};
use shell_reader::{Command, Reach, Word, sorted};

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/act.rs"));

/// A command that would run, with everything that a rule may need to know about it.
pub(super) struct Act<'a> {
    pub(super) command: &'a Command,
    pub(super) git: Option<GitCall<'a>>,
    pub(super) facts: &'a Facts,
    pub(super) settings: &'a Settings,
    /// The program's name, empty if unknown.
    pub(super) name: &'a str,
    /// The rows of `rules.toml` that apply to it.
    pub(super) rows: Vec<&'static Row>,
    pub(super) words: OnceCell<Vec<&'a str>>,
    /// All paths that it writes, changes or removes.
    pub(super) touched: Vec<Word>,
    /// Whether `xargs` passes it the names of all files in the project.
    pub(super) is_given_everything: bool,
    /// Whether the line verifies a checksum or a signature.
    pub(super) line_verifies: bool,
    /// Whether the line runs `git diff` or a similar command.
    pub(super) line_diffs: bool,
}

impl<'a> Act<'a> {
    pub(super) fn args(&self) -> impl Iterator<Item = &'a str> {
        self.command.args.iter().map(Word::text)
    }

    /// Returns the arguments that are not options; everything after `--` is an operand.
    pub(super) fn operands(&self) -> Vec<&'a Word> {
        operands(&self.command.args, "")
    }

    /// Returns the requested program and its arguments: `twine` for `python -m twine upload`.
    pub(super) fn asked(&self) -> (&'a str, &'a [Word]) {
        let args = self.command.args.as_slice();
        let within = match args {
            _ if !self.name.starts_with('p') => None,
            [option, module, rest @ ..] if option.text() == "-m" => Some((module, rest)),
            [script, rest @ ..] => Some((script, rest)),
            [] => None,
        };
        let is_launcher = || self.name == "php" || self.name.starts_with("python");
        let within = if is_launcher() { within } else { None };
        within
            .map_or((self.name, args), |(word, rest)| (word.base_name().unwrap_or_default(), rest))
    }

    /// Returns the words that select a subcommand.
    pub(super) fn leading_words(&self) -> &[&'a str] {
        self.words.get_or_init(|| self.read_leading_words())
    }

    fn read_leading_words(&self) -> Vec<&'a str> {
        if let Some(git) = &self.git {
            return std::iter::once(git.name()).chain(git.operands()).collect();
        }
        let (program, args) = self.asked();
        // Tools such as `gh` take the repository as an option.
        let takers = sorted::find(TAKES_VALUE, program).unwrap_or(&"-R --repo --cwd -C");
        let words = operands(args, takers).into_iter().map(Word::text);
        // `cargo +nightly publish`
        words.filter(|word| !word.starts_with('+')).collect()
    }

    /// Returns the names by which rules know it: `git` for any call of git, the program that it is
    /// asked to run, and its own name.
    pub(super) fn programs(&self) -> [&'a str; 2] {
        let asked = if self.git.is_some() { "git" } else { self.asked().0 };
        [asked, if asked == self.name { "" } else { self.name }]
    }

    /// Returns the arguments; for git, those after the subcommand, without option values.
    pub(super) fn args_without_values(&self) -> impl Iterator<Item = &'a str> {
        let git = self.git.as_ref().map(GitCall::texts_without_values);
        let args = if git.is_none() { Some(self.args()) } else { None };
        git.into_iter().flatten().chain(args.into_iter().flatten())
    }

    /// Returns whether an option is given: `-f` also in a cluster, `--force` also shortened.
    pub(super) fn has(&self, options: &str) -> bool {
        has_option(self.args_without_values(), options)
    }

    pub(super) fn place(&self, word: &Word) -> Location {
        paths::place(word, self.command.directory.as_ref(), self.facts)
    }

    /// Returns whether it runs on another machine or in a container, where our paths do not apply.
    pub(super) fn is_elsewhere(&self) -> bool {
        const REMOTE: [&str; 6] =
            ["ssh", "docker", "podman", "nerdctl", "docker-compose", "kubectl"];
        let mut steps = self.command.reached.iter();
        steps.any(|step| matches!(step, Reach::Wrapper(name) if REMOTE.contains(&name.as_str())))
    }

    /// Returns the words after expansion, to match against the user's patterns.
    pub(super) fn text(&self) -> String {
        std::iter::once(self.name).chain(self.args()).collect::<Vec<_>>().join(" ")
    }
}
