//! The effects of shell builtins: `cd`, `export`, `set`, `alias`, `eval` …

use std::rc::Rc;

use super::context::{Call, Context};
use super::state::Value;
use super::tree::{Body, Stage};
use super::walk::Walker;
use super::wrappers::skip_options;
use super::{Effect, Reach, Word, parser};

/// Follows a builtin; false if `name` is not one that matters here.
pub(super) fn follow(walker: &mut Walker, name: &str, call: &Call, context: &Context) -> bool {
    match name {
        "eval" => {
            let args = call.args().strip_prefix(&[Word::from("--")]).unwrap_or(call.args());
            let text = args.iter().map(Word::text).collect::<Vec<_>>().join(" ");
            walker.run_text(&text, Some(call.span.clone()), &context.via(Reach::Text));
        }
        "trap" => {
            if let Some(text) = call.args().iter().find(|arg| !arg.text().starts_with('-')) {
                let inner = context.clone().with_effect(Effect::Ignored);
                walker.child(text.text(), Reach::Text, call, &inner);
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
        "set" => set(walker, call.args()),
        "shift" => shift(walker, call),
        "alias" => {
            for (name, text) in call.args().iter().filter_map(|arg| arg.text().split_once('=')) {
                define_alias(walker, name, text, call);
            }
        }
        _ => return false,
    }
    true
}

/// Defines an alias as a function that is called with the words after it.
fn define_alias(walker: &mut Walker, name: &str, text: &str, call: &Call) {
    if walker.session.spend(1 + text.len() / 4) {
        let span = call.span.clone();
        let (list, _) = parser::parse(&format!("{text} \"$@\""), Some(span.clone()));
        let body = Body::Group { list, subshell: false };
        let stage = Stage { body, redirects: Vec::new(), span };
        walker.state.define(name, Rc::new(stage), &walker.session);
    }
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
    // After a relative path, `$PWD` is not tracked.
    let now = if target.text().starts_with(['/', '~']) { target } else { Word::unknown() };
    walker.state.set_scalar("PWD", now, &walker.session);
}

/// Handles `read a b`: splits the first line; the last variable gets the rest.
fn read(walker: &mut Walker, call: &Call, context: &Context) {
    const TAKERS: &str = "-a -d -n -N -p -t -u -i";
    let text = walker.standard_input(call, context);
    let mut rest = text.as_deref().and_then(|text| text.lines().next()).map(str::trim);
    let names = call.args().get(skip_options(call.args(), TAKERS)..).unwrap_or_default();
    for (place, name) in names.iter().enumerate() {
        let is_last = place + 1 == names.len();
        let value = rest.map(|line| {
            let split = if !is_last { line.split_once(char::is_whitespace) } else { None };
            let (first, behind) = split.unwrap_or((line, ""));
            rest = Some(behind.trim_start());
            first
        });
        let value = value.map_or_else(Word::unknown, Word::from);
        walker.state.set_scalar(name.text(), value, &walker.session);
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

/// Handles `set -euo pipefail` and `set -- a b`.
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
