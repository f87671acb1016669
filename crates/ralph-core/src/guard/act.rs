//! One command as the rules see it: its words, its git reading, where its paths lie.

use super::check::Facts;
use super::git::GitCall;
use super::paths::{self, Place};
use super::settings::Settings;
use crate::shell::{Command, Reach, Word};

/// One command that would run, with all that a rule may ask about it.
pub(super) struct Act<'a> {
    pub(super) command: &'a Command,
    pub(super) git: Option<GitCall<'a>>,
    pub(super) facts: &'a Facts,
    pub(super) settings: &'a Settings,
    /// The program's name, empty if unknown.
    pub(super) name: &'a str,
    /// Whether the line fetches or decodes text that something else on it may run.
    pub(super) line_fetches: bool,
    /// Whether `xargs` hands it the names of all files of the project.
    pub(super) is_given_everything: bool,
    /// Whether the line asks git for the uncommitted changes.
    pub(super) line_diffs: bool,
}

impl<'a> Act<'a> {
    pub(super) fn name(&self) -> &'a str {
        self.name
    }

    pub(super) fn args(&self) -> impl Iterator<Item = &'a str> {
        self.command.args.iter().map(Word::text)
    }

    /// The arguments that are not options; everything behind `--` is one.
    pub(super) fn operands(&self) -> Vec<&'a Word> {
        operands(&self.command.args)
    }

    /// Whether one of the options is given: `-f` also in a cluster, `--force` also shortened.
    pub(super) fn has(&self, options: &[&str]) -> bool {
        has_option(self.args(), options)
    }

    pub(super) fn place(&self, word: &Word) -> Place {
        paths::place(word, self.command.directory.as_ref(), self.facts)
    }

    pub(super) fn switch(&self, name: &str) -> bool {
        self.settings.switch(name)
    }

    /// Whether it runs on another machine or in a container, where our paths mean nothing.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.command.reached.iter().any(|step| match step {
            Reach::Wrapper(name) => {
                matches!(
                    name.as_str(),
                    "ssh" | "docker" | "podman" | "nerdctl" | "docker-compose" | "kubectl"
                )
            }
            _ => false,
        })
    }

    /// The words after expansion, for patterns of the user.
    pub(super) fn text(&self) -> String {
        std::iter::once(self.name()).chain(self.args()).collect::<Vec<_>>().join(" ")
    }
}

/// Whether one of `options` is among `args`: short ones also in a cluster, long ones shortened.
pub(super) fn has_option<'w>(args: impl Iterator<Item = &'w str>, options: &[&str]) -> bool {
    args.take_while(|arg| *arg != "--").any(|arg| {
        let name = arg.split('=').next().unwrap_or(arg);
        options.iter().any(|option| match option.strip_prefix("--") {
            Some(_) => name == *option || (name.len() > 2 && option.starts_with(name)),
            None => {
                let letter = option.trim_start_matches('-');
                arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter)
            }
        })
    })
}

/// The words that are no options.
pub(super) fn operands(args: &[Word]) -> Vec<&Word> {
    let mut only_operands = false;
    let mut found = Vec::new();
    for arg in args {
        if only_operands || !arg.text().starts_with('-') || arg.text() == "-" {
            found.push(arg);
        } else if arg.text() == "--" {
            only_operands = true;
        }
    }
    found
}
