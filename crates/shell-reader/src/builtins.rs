//! What the shell's own commands do to the reading: `cd`, `export`, `set`, `alias`, `eval` …

use std::rc::Rc;

use super::call::Call;
use super::context::Context;
use super::options::values;
use super::state::Value;
use super::walk::Walker;
use super::wrappers::skip_options;
use super::{Fate, Reach, Word, output};

/// Follows a builtin; false if `name` is none of those that matter here.
pub(super) fn follow(walker: &mut Walker, name: &str, call: &Call, context: &Context) -> bool {
    match name {
        "eval" => {
            let args = call.args().strip_prefix(&[Word::from("--")]).unwrap_or(call.args());
            let text = args.iter().map(Word::text).collect::<Vec<_>>().join(" ");
            walker.run_text(&text, Some(call.span.clone()), &context.via(Reach::Eval));
        }
        "trap" => {
            if let Some(text) = call.args().iter().find(|arg| !arg.text().starts_with('-')) {
                let inner = context.clone().with_fate(Fate::Masked);
                walker.child(text.text(), Reach::Eval, call, &inner);
            }
        }
        "cd" | "pushd" => change_directory(walker, call),
        "popd" => walker.state.directory = Some(Rc::new(Word::unknown())),
        "export" | "declare" | "typeset" | "local" | "readonly" => declare(walker, call),
        "unset" | "getopts" => {
            for arg in call.args() {
                let value = if name == "unset" { Word::from("") } else { Word::unknown() };
                walker.state.set_scalar(arg.text(), value, &walker.session);
            }
        }
        "read" => read(walker, call, context),
        "mapfile" | "readarray" => map_file(walker, call, context),
        "printf" => {
            if let [option, variable, rest @ ..] = call.args()
                && option.text() == "-v"
            {
                let value = output::of_printf(rest).unwrap_or_else(Word::unknown);
                walker.state.set_scalar(variable.text(), value, &walker.session);
            }
        }
        "set" => set(walker, call.args()),
        "shift" => shift(walker, call),
        "alias" => {
            for arg in call.args() {
                if let Some((name, text)) = arg.text().split_once('=') {
                    walker.state.set_alias(name, text, &walker.session);
                }
            }
        }
        "unalias" => {
            for arg in call.args() {
                walker.state.forget_alias(arg.text(), &walker.session);
            }
        }
        _ => return false,
    }
    true
}

fn shift(walker: &mut Walker, call: &Call) {
    let count = call.args().first().and_then(|arg| arg.known()?.parse().ok()).unwrap_or(1);
    let parameters = Rc::make_mut(&mut walker.state.parameters);
    let end = parameters.len().min(1_usize.saturating_add(count));
    if end > 1 {
        parameters.drain(1..end);
    }
}

fn change_directory(walker: &mut Walker, call: &Call) {
    let mut targets =
        call.args().iter().filter(|arg| !matches!(arg.text(), "-L" | "-P" | "-e" | "--"));
    let target = match targets.next() {
        Some(target) if target.text() == "-" => Word::unknown(),
        Some(target) => target.clone(),
        None => match walker.state.variable("HOME") {
            Some(Value::Scalar(home)) => home.clone(),
            _ => Word::from("~"),
        },
    };
    walker.state.change_directory(&target);
    // Behind a relative path, `$PWD` is not worth the trouble.
    let now = if target.text().starts_with(['/', '~']) { target } else { Word::unknown() };
    walker.state.set_scalar("PWD", now, &walker.session);
}

/// `read a b`: the words of the first line, the rest of it in the last variable; `read -a` makes an
/// array of them, and `-d` takes more than a line.
fn read(walker: &mut Walker, call: &Call, context: &Context) {
    const TAKERS: &str = "-d -n -N -p -t -u -i";
    let text = walker.standard_input(call, context);
    let whole = !values(call.args(), "-d", TAKERS).is_empty();
    let line =
        text.as_deref().and_then(|text| if whole { Some(text) } else { text.lines().next() });
    let own = call.assignments.iter().rfind(|(name, _)| name == "IFS");
    let separators = own.map_or(" \t\n", |(_, separators)| separators.text());
    let separates = |character: char| separators.contains(character);
    let words: Option<Vec<&str>> =
        line.map(|line| line.split(separates).filter(|word| !word.is_empty()).collect());
    if let Some(array) = values(call.args(), "-a", TAKERS).pop() {
        let value = match words {
            Some(words) => Value::Array(words.into_iter().map(Word::from).collect()),
            None => Value::Scalar(Word::unknown()),
        };
        walker.state.set(array.text(), value, &walker.session);
        return;
    }
    let names = call.args().get(skip_options(call.args(), TAKERS)..).unwrap_or_default();
    let mut rest = line.map(|line| line.trim_matches(separates));
    for (place, name) in names.iter().enumerate() {
        let is_last = place + 1 == names.len();
        let value = rest.map(|line| {
            let (first, behind) =
                line.split_once(separates).filter(|_| !is_last).unwrap_or((line, ""));
            rest = Some(behind.trim_start_matches(separates));
            first
        });
        let value = value.map_or_else(Word::unknown, Word::from);
        walker.state.set_scalar(name.text(), value, &walker.session);
    }
}

/// `mapfile -t lines`: the lines of the input as an array.
fn map_file(walker: &mut Walker, call: &Call, context: &Context) {
    let names = skip_options(call.args(), "-d -n -O -s -u -C -c");
    let name = call.args().get(names).map_or("MAPFILE", Word::text);
    let value = match walker.standard_input(call, context) {
        Some(text) => Value::Array(text.lines().map(Word::from).collect()),
        None => Value::Scalar(Word::unknown()),
    };
    walker.state.set(name, value, &walker.session);
}

fn declare(walker: &mut Walker, call: &Call) {
    for arg in call.args() {
        if let Some((name, value)) = arg.text().split_once('=') {
            let value = Word::from(value);
            walker.state.set_scalar(name.trim_end_matches('+'), value, &walker.session);
        }
    }
}

/// `set -euo pipefail`, `set -- a b`.
pub(super) fn set(walker: &mut Walker, args: &[Word]) {
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let text = arg.text();
        let on = text.starts_with('-');
        if text == "--" || !(on || text.starts_with('+')) {
            let zero = walker.state.parameters.first().cloned().unwrap_or_else(Word::unknown);
            let first = (text != "--").then(|| arg.clone());
            let parameters = std::iter::once(zero).chain(first).chain(rest.cloned());
            walker.state.parameters = Rc::new(parameters.collect());
            return;
        }
        if text.contains('e') {
            walker.state.exits_on_failure = on;
        }
        if text.contains('o') {
            match rest.next().map(Word::text) {
                Some("pipefail") => walker.state.pipe_fails = on,
                Some("errexit") => walker.state.exits_on_failure = on,
                _ => {}
            }
        }
    }
}
