//! Parses git's command line: global options, subcommand, aliases.

use super::facts::Facts;
use super::words::{has_option, operands, without_values};
use shell_reader::{Command, Reach, UNKNOWN, Word, sorted};

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/git.rs"));

/// A call of git.
#[derive(Debug, Clone)]
pub(super) struct GitCall<'a> {
    /// The subcommand; `None` if git only prints its own help or version.
    pub(super) subcommand: Option<&'a Word>,
    name: &'a str,
    /// The arguments after the subcommand.
    pub(super) args: &'a [Word],
    /// The settings given with `-c name=value`.
    pub(super) config: Vec<(&'a str, &'a str)>,
    /// The folder in which it runs, after all `-C`; `None` for the line's starting folder.
    pub(super) directory: Option<Word>,
    /// The work tree and the git folder, if they are given.
    pub(super) repository: Vec<Word>,
}

impl<'a> GitCall<'a> {
    /// Parses a command as a call of git, if it is one.
    pub(super) fn of(command: &'a Command) -> Option<Self> {
        let program = command.name()?;
        if let Some(subcommand) = program.strip_prefix("git-") {
            return Some(Self {
                subcommand: Some(&command.program),
                name: subcommand,
                args: &command.args,
                config: Vec::new(),
                directory: command.directory.clone(),
                repository: environment_repository(command),
            });
        }
        if !matches!(program, "git" | "hub" | "g") {
            return None;
        }
        let mut config = Vec::new();
        let mut directory = command.directory.clone();
        let mut repository = environment_repository(command);
        let mut rest = command.args.as_slice();
        while let [first, behind @ ..] = rest {
            let text = first.text();
            if !text.starts_with('-') {
                break;
            }
            rest = behind;
            if text == "-c"
                && let Some(pair) = rest.first().and_then(|pair| pair.text().split_once('='))
            {
                config.push(pair);
            }
            match (text, text.split_once('='), rest.first()) {
                ("-C", _, Some(folder)) => directory = Some(below(directory.as_ref(), folder)),
                ("--git-dir" | "--work-tree", _, Some(place)) => repository.push(place.clone()),
                (_, Some(("--git-dir" | "--work-tree", place)), _) => repository.push(place.into()),
                _ => {}
            }
            // `--exec-path` without `=` only prints a folder, but then nothing follows it anyway.
            if VALUES.contains(&text) {
                rest = rest.get(1..).unwrap_or_default();
            }
        }
        let subcommand = rest.first();
        let name = subcommand.and_then(Word::known).unwrap_or_default();
        let args = rest.get(1..).unwrap_or_default();
        Some(Self { subcommand, name, args, config, directory, repository })
    }

    /// Returns whether the call certainly changes neither files nor the repository.
    pub(super) fn only_looks(&self) -> bool {
        let with = sorted::find(LOOKS_WITH, self.name);
        self.subcommand.is_none()
            || self.asks_for_help()
            || LOOKS.contains(&self.name)
            || with.is_some_and(|actions| actions.split(' ').any(|one| one == self.action()))
            || matches!(self.name, "branch" | "tag")
                && self.has("--list -l --contains --no-contains --merged --no-merged")
            || self.name == "config" && !self.sets_config()
    }

    /// Returns whether this is a `git config` that sets or removes something.
    pub(super) fn sets_config(&self) -> bool {
        let operands = self.operands();
        let sets = operands.len() > 1 || self.has("--unset --unset-all --edit -e");
        let gets = self.has("--get --get-all --get-regexp -l --list");
        self.name == "config"
            && sets
            && !gets
            && !matches!(operands.first(), Some(&"get" | &"list"))
    }

    /// Returns the name of the subcommand, empty if unknown.
    pub(super) fn name(&self) -> &'a str {
        self.name
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &'a str> {
        self.args.iter().map(Word::text)
    }

    /// Returns the arguments without option values: in `-m --abort`, the second word is a message.
    pub(super) fn texts_without_values(&self) -> impl Iterator<Item = &'a str> {
        let takers = sorted::find(SUBCOMMAND_VALUES, self.name).unwrap_or(&"");
        without_values(self.args, takers).map(Word::text)
    }

    /// Returns whether `-c` gives a setting one of these values.
    pub(super) fn is_configured(&self, name: &str, values: &[&str]) -> bool {
        let mut config = self.config.iter();
        config.any(|(key, value)| key.eq_ignore_ascii_case(name) && values.contains(value))
    }

    pub(super) fn has(&self, options: &str) -> bool {
        has_option(self.texts_without_values(), options)
    }

    pub(super) fn operands(&self) -> Vec<&'a str> {
        operands(self.args, "").into_iter().map(Word::text).collect()
    }

    /// Returns the first operand, such as `drop` in `git stash drop`.
    pub(super) fn action(&self) -> &'a str {
        self.operands().first().copied().unwrap_or_default()
    }

    /// Returns whether the call only asks for help.
    pub(super) fn asks_for_help(&self) -> bool {
        let mut options = self.texts_without_values().take_while(|arg| *arg != "--");
        options.any(|arg| matches!(arg, "-h" | "--help"))
    }
}

/// Resolves the folder `to` relative to `from`.
fn below(from: Option<&Word>, to: &Word) -> Word {
    match from {
        Some(from) if !to.text().starts_with(['/', '~', UNKNOWN]) => {
            Word::from(format!("{}/{}", from.text(), to.text()))
        }
        _ => to.clone(),
    }
}

/// Returns the values of `GIT_DIR=…` and `GIT_WORK_TREE=…` before the command.
fn environment_repository(command: &Command) -> Vec<Word> {
    let named = command.assignments.iter();
    let named = named.filter(|(name, _)| matches!(name.as_str(), "GIT_DIR" | "GIT_WORK_TREE"));
    named.map(|(_, place)| place.clone()).collect()
}

/// Expands aliases that are defined with `-c` or configured on the same line.
pub(super) fn aliased(commands: &[&Command], facts: &Facts) -> Vec<Command> {
    let mut configured: Vec<(String, String)> = Vec::new();
    let mut found = Vec::new();
    for command in commands {
        let Some(git) = GitCall::of(command) else { continue };
        if git.name() == "config" {
            let operands = git.operands();
            let operands = operands.strip_prefix(&["set"]).unwrap_or(&operands);
            if let [key, value, ..] = operands {
                configured.push(((*key).to_owned(), (*value).to_owned()));
            }
        }
        if git.config.is_empty() && configured.is_empty() {
            continue;
        }
        let alias = format!("alias.{}", git.name());
        let own = git.config.iter().rfind(|(key, _)| *key == alias).map(|(_, text)| *text);
        let set = || configured.iter().rfind(|(key, _)| *key == alias).map(|(_, text)| &**text);
        if let Some(text) = own.or_else(set) {
            found.extend(commands_of(command, text, git.args.to_vec(), facts));
        }
    }
    found
}

/// Returns the commands of an alias that is called with the arguments `behind`.
fn commands_of(command: &Command, text: &str, behind: Vec<Word>, facts: &Facts) -> Vec<Command> {
    let shell_text = match text.strip_prefix('!') {
        Some(text) => text.to_owned(),
        None => format!("git {text}"),
    };
    let mut inner = facts.read(&shell_text).commands;
    if let Some(last) = inner.last_mut() {
        last.args.extend(behind);
    }
    for one in &mut inner {
        one.span = command.span.clone();
        one.reached.insert(0, Reach::Wrapper("git".to_owned()));
        one.directory.clone_from(&command.directory);
    }
    inner
}
