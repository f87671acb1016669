//! Interpreters of other languages, and the program text that they run.
//!
//! The text is stored with the command; the caller decides what it means.

use std::rc::Rc;

use super::Word;
use super::context::{Call, Context};
use super::options::values;
use super::script::{FETCHED, base_name, names};
use super::walk::Walker;
use super::wrappers::skip_options;

/// Names without versions, options that take the program text, other options with a value.
const INTERPRETERS: [(&str, &str, &str); 7] = [
    ("python pypy uv", "-c", "-W -X"),
    (
        "node bun tsx ts-node",
        "-e -p --eval --print",
        "-r --require --import --loader -C --env-file",
    ),
    ("deno", "", "-c --config --import-map"),
    ("perl", "-e -E", "-I -M"),
    ("ruby rake lua luajit osascript Rscript julia elixir", "-e", "-r -I"),
    ("php", "-r", "-d -c"),
    ("awk gawk mawk nawk", "", "-F -v"),
];

/// Returns an interpreter's options for program text, and its other options with a value.
fn options(name: &str) -> Option<(&'static str, &'static str)> {
    let base = name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.');
    let row = INTERPRETERS.iter().find(|row| names(row.0, base))?;
    Some((row.1, row.2))
}

/// Returns the interpreter in a script's first line, if it is one of these.
pub(super) fn named_by(text: &str) -> Option<&str> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    line.split_whitespace().filter_map(base_name).find(|name| options(name).is_some())
}

/// Records the program text of an interpreter; false if the line does not contain it.
pub(super) fn follow(walker: &mut Walker, name: &str, call: &Call, context: &Context) -> bool {
    let Some((texts, takers)) = options(name) else { return false };
    let end = skip_options(call.args(), &format!("{texts} {takers}"));
    let (before, behind) = call.args().split_at(end);
    let given: Vec<Word> = values(before, texts, takers);
    let is_input = behind.is_empty() || before.iter().any(|arg| arg.text() == "-");
    let is_operand = |arg: &&str| *arg != "run" && (*arg == "-" || !arg.starts_with('-'));
    let mut operands = behind.iter().map(Word::text).filter(is_operand);
    let text: Option<Rc<str>> = match operands.next() {
        _ if !given.is_empty() => {
            Some(given.iter().map(Word::text).collect::<Vec<_>>().join("\n").into())
        }
        // The requested tasks are not examined.
        _ if name == "rake" => walker.expander().file("Rakefile"),
        _ if is_input => walker.standard_input(call, context),
        Some("eval") => operands.next().map(Rc::from),
        Some(text) if name.ends_with("awk") => Some(text.into()),
        Some(path) if path.contains("://") => Some(FETCHED.into()),
        path => walker.script(path.unwrap_or("-"), call, context),
    };
    let text = text.filter(|text| walker.session.spend(1 + text.len() / 16));
    let is_found = text.is_some();
    if let Some(command) = walker.commands.get_mut(walker.current) {
        command.inline = text.as_deref().map(str::to_owned);
    }
    is_found
}
