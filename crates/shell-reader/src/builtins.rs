//! What the shell's own commands do to the reading: `cd`, `export`, `set`, `alias`, `eval` …

use std::rc::Rc;

use super::call::Call;
use super::context::{Context, Input};
use super::state::Value;
use super::walk::Walker;
use super::{Fate, Reach, Word, output};

/// Follows a builtin; false if `name` is none of those that matter here.
pub(super) fn follow(walker: &mut Walker, name: &str, call: &Call, context: &Context) -> bool {
    match name {
        "eval" => {
            let args = call.args().strip_prefix(&[Word::from("--")]).unwrap_or(call.args());
            let text = args.iter().map(Word::text).collect::<Vec<_>>().join(" ");
            if text.trim_start().starts_with(super::script::UNKNOWN) {
                walker.mark_hidden();
            }
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
        "unset" => {
            for arg in call.args() {
                walker.state.set_scalar(arg.text(), Word::from(""), &walker.session);
            }
        }
        "read" => read(walker, call, context),
        "mapfile" | "readarray" | "getopts" => {
            for arg in call.args().iter().filter(|arg| !arg.text().starts_with('-')) {
                walker.state.set_scalar(arg.text(), Word::unknown(), &walker.session);
            }
        }
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

/// `read a b`: the words of the first line, the rest of it in the last variable.
fn read(walker: &mut Walker, call: &Call, context: &Context) {
    let input = walker.standard_input(call, context);
    let line = match &input {
        Input::Known(text) => text.lines().next(),
        _ => None,
    };
    let mut words = line.map(str::trim);
    let names: Vec<&str> =
        call.args().iter().map(Word::text).filter(|arg| !arg.starts_with('-')).collect();
    for (place, name) in names.iter().enumerate() {
        let value = words.map(|rest| match rest.split_once([' ', '\t']) {
            Some((first, behind)) if place + 1 < names.len() => {
                words = Some(behind.trim_start());
                first
            }
            _ => {
                words = Some("");
                rest
            }
        });
        let value = value.map_or_else(Word::unknown, Word::from);
        walker.state.set_scalar(name, value, &walker.session);
    }
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
