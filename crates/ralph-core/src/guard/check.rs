//! The question itself: does this command line run something forbidden?

use camino::Utf8PathBuf;

use super::act::Act;
use super::copy::CopyOf;
use super::git::{self, GitCall};
use super::paths::{self, Place};
use super::rules::RULES;
use super::settings::Settings;
use super::{files, inline, plain, system, user};
use crate::shell::{self, Command, Script, Word};

/// The longest piece of a command that an answer repeats.
const MAX_FOUND: usize = 300;

/// What the caller knows about the place where the command would run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The folder in which the agent works: the project's, or that of its copy.
    pub root: Utf8PathBuf,
    /// What that is a copy of, if it is one.
    pub copy: Option<CopyOf>,
    /// Where the command line begins.
    pub cwd: Utf8PathBuf,
    /// The folder for temporary files.
    pub temp: Utf8PathBuf,
    /// The user's home folder.
    pub home: Utf8PathBuf,
    /// Whether the last commit is known to be newer than the checkpoint, so that amending it
    /// changes the agent's own work only.
    pub head_is_newer: bool,
    /// Files and folders in protected places that the agent may write: the plan's own, and what the
    /// gates ask this session to keep.
    pub own_files: Vec<Utf8PathBuf>,
    /// The client's session.
    pub session: String,
}

/// Why a command is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The name of the rule.
    pub rule: String,
    /// The part of the command line that it forbids.
    pub found: String,
    /// Why.
    pub reason: String,
    /// What to do instead.
    pub instead: String,
}

impl std::fmt::Display for Denial {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "`{}` is forbidden by rule {}: {}.", self.found, self.rule, self.reason)?;
        if self.instead.is_empty() { Ok(()) } else { write!(out, " Instead: {}.", self.instead) }
    }
}

/// Reads a command line with what is known about the place.
pub fn read(command: &str, facts: &Facts) -> Script {
    let project = facts.copy.as_ref().and_then(CopyOf::project_root).unwrap_or_default();
    let variables = [
        ("HOME", facts.home.as_str()),
        ("PWD", facts.cwd.as_str()),
        ("TMPDIR", facts.temp.as_str()),
        ("CLAUDE_PROJECT_DIR", facts.root.as_str()),
        ("CLAUDE_CODE_SESSION_ID", facts.session.as_str()),
        ("RALPH_ROOT", project.as_str()),
        ("RALPH_WORKSPACE", facts.root.as_str()),
    ];
    let known: Vec<_> = variables.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    shell::read_with(command, &known)
}

/// Finds the first thing in a command line that a rule forbids.
pub fn check(command: &str, facts: &Facts, settings: &Settings) -> Option<Denial> {
    check_script(command, &read(command, facts), facts, settings)
}

/// Does the same for a command line that was read already, with [`read`].
pub fn check_script(
    command: &str,
    script: &Script,
    facts: &Facts,
    settings: &Settings,
) -> Option<Denial> {
    judged(command, script, facts, settings).or_else(|| {
        if script.complete {
            return None;
        }
        plain::pieces(command).find_map(|piece| judged(piece, &read(piece, facts), facts, settings))
    })
}

/// Finds the first thing in what was read that a rule forbids.
fn judged(command: &str, script: &Script, facts: &Facts, settings: &Settings) -> Option<Denial> {
    let inner = inline::commands(&script.commands, facts, settings);
    let written: Vec<&Command> = script.commands.iter().chain(&inner).collect();
    let aliased = git::aliased(&written, facts);
    let commands: Vec<&Command> = written.into_iter().chain(&aliased).collect();
    let line_fetches = commands.iter().any(|one| system::fetches_text(one));
    let line_diffs = commands
        .iter()
        .filter_map(|one| GitCall::of(one))
        .any(|call| call.name().starts_with("diff"));
    commands.iter().enumerate().find_map(|(at, one)| {
        let act = Act {
            command: one,
            git: GitCall::of(one),
            facts,
            settings,
            name: one.name().unwrap_or_default(),
            line_fetches,
            line_diffs,
            is_given_everything: is_given_everything(&commands, at, facts),
        };
        if user::is_allowed(&act) {
            return None;
        }
        denial(&act, found(command, one))
    })
}

/// Whether the two commands before this one are a list of all files and `xargs`.
fn is_given_everything(commands: &[&Command], at: usize, facts: &Facts) -> bool {
    let from = at.checked_sub(2);
    matches!(
        from.and_then(|from| commands.get(from..at)),
        Some([list, xargs]) if xargs.name() == Some("xargs") && files::lists_everything(list, facts)
    )
}

/// Whether a command line makes a commit in the project.
pub fn commits(script: &Script, facts: &Facts) -> bool {
    let written: Vec<&Command> = script.commands.iter().collect();
    let aliased = git::aliased(&written, facts);
    written.into_iter().chain(&aliased).any(|one| {
        GitCall::of(one).is_some_and(|call| {
            let commits = call.name() == "commit" && !call.has(&["--dry-run"]);
            commits && is_in_project(call.directory.as_ref(), facts)
        })
    })
}

/// Whether a command runs in the project, as far as the line tells.
fn is_in_project(directory: Option<&Word>, facts: &Facts) -> bool {
    let Some(directory) = directory else { return true };
    match paths::place(directory, None, facts) {
        Place::At(path) => paths::in_project(&path, facts).is_some(),
        _ => true,
    }
}

fn denial(act: &Act, found: String) -> Option<Denial> {
    let rule = RULES
        .iter()
        .filter(|rule| act.settings.in_force(rule.name, rule.on))
        .find(|rule| (rule.forbids)(act));
    if let Some(rule) = rule {
        return Some(Denial {
            rule: rule.name.to_owned(),
            found,
            reason: rule.reason.to_owned(),
            instead: (rule.instead)(act),
        });
    }
    user::forbidding(act).map(|rule| Denial {
        rule: rule.name.clone(),
        found,
        reason: if rule.reason.is_empty() {
            "the project's settings say so".to_owned()
        } else {
            rule.reason.clone()
        },
        instead: rule.instead.clone(),
    })
}

/// The piece of the text that a command was read from.
fn found(text: &str, command: &Command) -> String {
    let piece = text.get(command.span.clone()).unwrap_or(text).trim();
    let end = piece.char_indices().nth(MAX_FOUND).map_or(piece.len(), |(at, _)| at);
    piece.get(..end).unwrap_or(piece).to_owned()
}
