//! Checks whether a command line runs something forbidden.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use shell_reader::{Command, Script};

use super::act::Act;
use super::git::{self, GitCall};
use super::paths::{self, Location};
use super::{Denial, Facts, RULES, Settings, files, inline, patterns, system, writes};

/// The longest piece of a command that a denial quotes.
const MAX_FOUND: usize = 300;

/// Returns the first violation of a rule in a command line.
pub fn check(command: &str, facts: &Facts, settings: &Settings) -> Option<Denial> {
    check_script(command, &facts.read(command), facts, settings)
}

/// Checks a command line that was already parsed with [`Facts::read`].
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
        pieces(command).find_map(|piece| judged(piece, &facts.read(piece), facts, settings))
    })
}

/// Returns the first violation of a rule in a parsed command line.
fn judged(command: &str, script: &Script, facts: &Facts, settings: &Settings) -> Option<Denial> {
    let inner = inline::commands(&script.commands, facts);
    let written: Vec<&Command> = script.commands.iter().chain(&inner).collect();
    let aliased = git::aliased(&written, facts);
    let commands: Vec<&Command> = written.into_iter().chain(&aliased).collect();
    let line_verifies = commands.iter().any(|one| system::verifies(one));
    let mut calls = commands.iter().filter_map(|one| GitCall::of(one));
    let line_diffs = calls.any(|call| call.name().starts_with("diff"));
    commands.iter().enumerate().find_map(|(at, one)| {
        let mut act = Act {
            command: one,
            git: GitCall::of(one),
            facts,
            settings,
            rows: Vec::new(),
            words: OnceCell::new(),
            touched: writes::touched(one),
            name: one.name().unwrap_or_default(),
            line_diffs,
            line_verifies,
            is_given_everything: is_given_everything(&commands, at, facts),
        };
        act.rows = patterns::rows(&act);
        denial(&act, command).filter(|_| !patterns::is_allowed(&act))
    })
}

/// Returns whether the two preceding commands are a list of all files and `xargs`.
fn is_given_everything(commands: &[&Command], at: usize, facts: &Facts) -> bool {
    let from = at.checked_sub(2);
    matches!(
        from.and_then(|from| commands.get(from..at)),
        Some([list, xargs]) if xargs.name() == Some("xargs") && files::lists_everything(list, facts)
    )
}

fn denial(act: &Act, text: &str) -> Option<Denial> {
    let mut rules = RULES.iter().filter(|rule| rule.applies(act.facts, act.settings));
    let built_in = rules.find_map(|rule| Some((rule.name, rule.reason, rule.instead_of(act)?)));
    let (name, reason, instead) = built_in.or_else(|| {
        let rule = patterns::forbidding(act)?;
        Some((rule.name.as_str(), rule.reason.as_str(), rule.instead.clone()))
    })?;
    let reason = if reason.is_empty() { "the project's settings forbid it" } else { reason };
    let piece = text.get(act.command.span.clone()).unwrap_or(text).trim();
    let found = ralph_base::secrets::mask(piece).chars().take(MAX_FOUND).collect();
    Some(Denial { rule: name.to_owned(), found, reason: reason.to_owned(), instead })
}

/// Returns whether a command line makes a commit in the project, as far as the line shows.
pub fn commits(script: &Script, facts: &Facts) -> bool {
    let written: Vec<&Command> = script.commands.iter().collect();
    let aliased = git::aliased(&written, facts);
    written.into_iter().chain(&aliased).filter_map(GitCall::of).any(|call| {
        let directory = call.directory.as_ref();
        let is_elsewhere = matches!(
            directory.map(|directory| paths::place(directory, None, facts)),
            Some(Location::At(path)) if facts.inside(&path).is_none()
        );
        call.name() == "commit" && !call.has("--dry-run") && !is_elsewhere
    })
}

/// Programs to check in incomplete lines, in addition to those in `rules.toml`.
const PROGRAMS: &str = "rm find mv dd sudo env bash sh eval xargs";
/// Shell keywords that may precede a command.
const KEYWORDS: [&str; 8] = ["then", "do", "else", "if", "while", "until", "!", "elif"];
/// The limit of distinct pieces that are checked.
const MAX_PIECES: usize = 200;
/// The longest piece that may be a plain command.
const MAX_PIECE: usize = 2000;

/// Splits a text at separators; returns distinct pieces that begin with a program of interest.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut seen = BTreeSet::new();
    text.split(['\n', ';', '&', '|', '(', ')', '`', '{', '}'])
        .filter(|piece| piece.len() <= MAX_PIECE)
        .map(without_keywords)
        .filter(|piece| {
            let program = piece.split_whitespace().next().unwrap_or_default();
            let name = program.rsplit('/').next().unwrap_or_default();
            patterns::knows(name) || PROGRAMS.split(' ').any(|one| one == name)
        })
        .filter(move |piece| seen.insert(*piece))
        .take(MAX_PIECES)
}

fn without_keywords(piece: &str) -> &str {
    let mut rest = piece.trim();
    while let Some((first, behind)) = rest.split_once(char::is_whitespace)
        && KEYWORDS.contains(&first)
    {
        rest = behind.trim_start();
    }
    rest
}
