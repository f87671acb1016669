//! One command as the rules see it: its words, its git reading, where its paths lie.

use super::facts::Facts;
use super::git::GitCall;
use super::paths::{self, Place};
use super::settings::Settings;
use super::words::{has_option, operands};
use shell_reader::{Command, Reach, Word};

/// One command that would run, with all that a rule may ask about it.
pub(super) struct Act<'a> {
    pub(super) command: &'a Command,
    pub(super) git: Option<GitCall<'a>>,
    pub(super) facts: &'a Facts,
    pub(super) settings: &'a Settings,
    /// The program's name, empty if unknown.
    pub(super) name: &'a str,
    /// Everything that it writes, changes or removes.
    pub(super) touched: Vec<Word>,
    /// Whether `xargs` hands it the names of all files of the project.
    pub(super) is_given_everything: bool,
    /// Whether the line compares a checksum or a signature.
    pub(super) line_verifies: bool,
    /// Whether the line asks git for the uncommitted changes.
    pub(super) line_diffs: bool,
}

impl<'a> Act<'a> {
    pub(super) fn args(&self) -> impl Iterator<Item = &'a str> {
        self.command.args.iter().map(Word::text)
    }

    /// The arguments that are not options; everything behind `--` is one.
    pub(super) fn operands(&self) -> Vec<&'a Word> {
        operands(&self.command.args, "")
    }

    /// The words by which programs with subcommands say what to do.
    pub(super) fn leading_words(&self) -> Vec<&'a str> {
        match &self.git {
            Some(git) => std::iter::once(git.name()).chain(git.operands()).collect(),
            // Forges' tools are told the repository on the way.
            None => {
                let words = operands(&self.command.args, "-R --repo --cwd -C");
                words.into_iter().map(Word::text).collect()
            }
        }
    }

    /// Whether one of the options is given: `-f` also in a cluster, `--force` also shortened.
    pub(super) fn has(&self, options: &str) -> bool {
        has_option(self.args(), options)
    }

    pub(super) fn place(&self, word: &Word) -> Place {
        paths::place(word, self.command.directory.as_ref(), self.facts)
    }

    /// Whether a matter of taste is decided for forbidding.
    pub(super) fn switch(&self, name: &str) -> bool {
        let is_fine = name == "amend" && self.facts.head_is_newer;
        self.settings.switch(name) && !is_fine
    }

    /// Whether it runs on another machine or in a container, where our paths mean nothing.
    pub(super) fn is_elsewhere(&self) -> bool {
        const REMOTE: [&str; 6] =
            ["ssh", "docker", "podman", "nerdctl", "docker-compose", "kubectl"];
        let mut steps = self.command.reached.iter();
        steps.any(|step| matches!(step, Reach::Wrapper(name) if REMOTE.contains(&name.as_str())))
    }

    /// The words after expansion, for patterns of the user.
    pub(super) fn text(&self) -> String {
        std::iter::once(self.name).chain(self.args()).collect::<Vec<_>>().join(" ")
    }
}
