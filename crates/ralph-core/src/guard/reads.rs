//! Files whose content a command shows to the agent, so that it may edit them.

use camino::Utf8PathBuf;

use super::facts::Facts;
use super::words::{has_option, operands};
use super::{paths, writes};
use shell_reader::{Command, Reach, RedirectKind, Script, Word, sorted};

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/reads.rs"));

/// Returns the files that a command line shows, as far as their names are known; patterns are
/// returned unexpanded, for the caller to match.
pub fn reads(script: &Script, facts: &Facts) -> Vec<Utf8PathBuf> {
    let place = |command: &Command, word: &Word| {
        paths::place(word, command.directory.as_ref(), facts).named()
    };
    let shown = script.commands.iter().filter(|command| is_shown(command));
    let shown = shown
        .flat_map(|command| shown_by(command).into_iter().map(move |word| place(command, &word)));
    let mut found: Vec<Option<Utf8PathBuf>> = shown.collect();
    if found.contains(&None) {
        // `cat $(ls FILE)`: the name of the file comes from a command inside the line.
        for command in script.commands.iter().filter(|command| is_inside(command)) {
            let is_namer = NAMERS.contains(&command.name().unwrap_or_default());
            let names = operands(&command.args, "").into_iter().filter(|_| is_namer);
            found.extend(names.map(|word| place(command, word)));
        }
    }
    found.into_iter().flatten().collect()
}

/// Returns whether the command's output becomes part of the line.
fn is_inside(command: &Command) -> bool {
    command.reached.contains(&Reach::Substitution)
}

/// Returns whether the command's output reaches the agent: not a file, not a variable.
fn is_shown(command: &Command) -> bool {
    let to_file = command.redirects.iter().any(|redirect| {
        matches!(redirect.kind, RedirectKind::Write | RedirectKind::Append)
            && redirect.descriptor == 1
            && !matches!(redirect.target.text(), "/dev/stdout" | "/dev/stderr" | "/dev/tty")
    });
    !to_file && !is_inside(command)
}

fn shown_by(command: &Command) -> Vec<Word> {
    let name = command.name().unwrap_or_default();
    let Some(takers) = sorted::find(READERS, name) else { return Vec::new() };
    let has = |options| has_option(command.args.iter().map(Word::text), options);
    // With some options a search prints only names, numbers or an exit code.
    let is_quiet = name.ends_with("grep") || name == "rg";
    let is_quiet =
        is_quiet && has("-q -l -L -c --quiet --silent --count --files-with-matches --files");
    let is_edit = matches!(name, "sed" | "gsed") && writes::edits_in_place(command);
    if is_quiet || is_edit {
        return Vec::new();
    }
    let is_script_given = has("-e -f --expression --file --regexp");
    let scripts = usize::from(SCRIPTED.contains(&name) && !is_script_given);
    let files = operands(&command.args, takers).into_iter().skip(scripts);
    let files = files.filter(|word| word.text() != "-");
    let input = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
    files.chain(input.map(|redirect| &redirect.target)).cloned().collect()
}
