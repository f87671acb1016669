//! Interpreters of other languages, and which program text they are given.
//!
//! The text is kept at the command; what it would do is for others to judge.

use super::Word;
use super::call::Call;
use super::context::Context;
use super::script::{FETCHED, base_name};
use super::walk::Walker;

/// Names without versions, the options behind which the program stands, other options with a value.
const INTERPRETERS: [(&str, &str, &str); 7] = [
    ("python pypy uv", "-c", "-W -X"),
    (
        "node bun tsx ts-node",
        "-e -p --eval --print",
        "-r --require --import --loader -C --env-file",
    ),
    ("deno", "eval", "-c --config --import-map"),
    ("perl", "-e -E", "-I -M"),
    ("ruby lua luajit osascript Rscript julia elixir", "-e", "-r -I"),
    ("php", "-r", "-d -c"),
    ("awk gawk mawk nawk", "", "-F -v"),
];

/// The row of an interpreter: the options with text, and those with another value.
fn options(name: &str) -> Option<(&'static str, &'static str)> {
    let base = name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.');
    let row = INTERPRETERS.iter().find(|row| row.0.split(' ').any(|one| one == base))?;
    Some((row.1, row.2))
}

/// The interpreter that a script names in its first line, if it is none of the shells.
pub(super) fn named_by(text: &str) -> Option<&str> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    line.split_whitespace().filter_map(base_name).find(|name| options(name).is_some())
}

/// Notes which program an interpreter is given; false if that is none of the line's.
pub(super) fn follow(walker: &mut Walker, name: &str, call: &Call, context: &Context) -> bool {
    let Some((texts, values)) = options(name) else { return false };
    let text = match given(call.args(), texts, values) {
        Given::Texts(texts) => Some(texts.join("\n").into()),
        Given::File(text) if name.ends_with("awk") => Some(text.into()),
        Given::File(path) if path.contains("://") => Some(FETCHED.into()),
        Given::File(path) => walker.script(path, call, context),
        Given::Module => None,
    };
    let text = text.filter(|text| walker.session.spend(1 + text.len() / 16));
    let is_found = text.is_some();
    if let Some(command) = walker.commands.get_mut(walker.current) {
        command.inline = text.as_deref().map(str::to_owned);
    }
    is_found
}

enum Given<'w> {
    Texts(Vec<&'w str>),
    File(&'w str),
    Module,
}

fn given<'w>(args: &'w [Word], texts: &str, values: &str) -> Given<'w> {
    let mut found = Vec::new();
    let mut rest = args.iter().map(Word::text);
    while let Some(arg) = rest.next() {
        let mut options = texts.split(' ').filter(|option| !option.is_empty());
        if let Some(value) = options.find_map(|option| text_behind(arg, option)) {
            found.extend(value.or_else(|| rest.next()));
        } else if !found.is_empty() || values.split(' ').any(|option| option == arg) {
            rest.next();
        } else if arg == "-m" {
            return Given::Module;
        } else if arg == "-" || !arg.starts_with('-') && arg != "run" {
            return Given::File(arg);
        }
    }
    if found.is_empty() { Given::File("-") } else { Given::Texts(found) }
}

/// Whether an option is followed by a text, and the text if it is attached: `-e`, `-we`, `-cprint()`.
fn text_behind<'w>(arg: &'w str, option: &str) -> Option<Option<&'w str>> {
    let is_short = option.len() == 2;
    let attached = arg.strip_prefix(option).filter(|behind| !behind.is_empty());
    let attached = attached.filter(|behind| is_short || behind.starts_with('='));
    if let Some(text) = attached {
        return Some(Some(text.strip_prefix('=').unwrap_or(text)));
    }
    let is_cluster = is_short && arg.starts_with('-') && !arg.starts_with("--");
    let ends = is_cluster && arg.ends_with(option.trim_start_matches('-'));
    (arg == option || ends).then_some(None)
}
