//! Shells, and the text that they run: `-c`, standard input, a script just written.

use std::rc::Rc;

use super::context::{Call, Context};
use super::walk::Walker;
use super::{Effect, Reach, Word, builtins};

/// Programs that read shell text.
const SHELLS: [&str; 15] = [
    "bash", "sh", "zsh", "dash", "ksh", "mksh", "ash", "fish", "rbash", "yash", "csh", "tcsh",
    "nu", "xonsh", "elvish",
];

/// Follows a shell, `source` or `at`; false if `name` is none of them.
pub(super) fn follow(walker: &mut Walker, name: &str, call: &Call, context: &Context) -> bool {
    match name {
        _ if SHELLS.contains(&name) => shell(walker, call, context),
        "source" | "." => source(walker, call, context),
        "at" | "batch" => {
            if let Some(text) = walker.standard_input(call, context) {
                let inner = context.clone().with_effect(Effect::Ignored);
                walker.child(&text, Reach::Text, call, &inner);
            }
        }
        _ => return false,
    }
    true
}

fn shell(walker: &mut Walker, call: &Call, context: &Context) {
    let Invocation { source, options, parameters } = invocation(call);
    let before = walker.state.clone();
    walker.state.parameters = Rc::new(parameters);
    // The child shell does not inherit options such as `set -e`.
    walker.state.exits_on_failure = false;
    walker.state.pipe_fails = false;
    builtins::set(walker, &options);
    match source {
        Source::Text(text) => walker.child(text.text(), Reach::Text, call, context),
        Source::File(path) => {
            if let Some(text) = walker.script(&path, call, context) {
                walker.child(&text, Reach::Text, call, context);
            }
        }
        Source::Nothing => {}
    }
    walker.state = before;
}

fn source(walker: &mut Walker, call: &Call, context: &Context) {
    let Some(path) = call.args().first() else { return };
    if let Some(text) = walker.script(path.text(), call, context) {
        let before = Rc::clone(&walker.state.parameters);
        if call.args().len() > 1 {
            walker.state.parameters = Rc::new(call.args().to_vec());
        }
        walker.run_text(&text, Some(call.span.clone()), &context.via(Reach::Text));
        walker.state.parameters = before;
    }
}

/// The arguments of a shell.
struct Invocation {
    source: Source,
    options: Vec<Word>,
    parameters: Vec<Word>,
}

enum Source {
    Text(Word),
    /// A path, or `-` for the standard input.
    File(String),
    Nothing,
}

fn invocation(call: &Call) -> Invocation {
    let mut args = call.args().iter().cloned().peekable();
    let mut options = Vec::new();
    let (mut takes_text, mut from_input) = (false, false);
    while let Some(arg) =
        args.next_if(|arg| arg.text().len() > 1 && arg.text().starts_with(['-', '+']))
    {
        let text = arg.text();
        if text == "--" {
            break;
        }
        // `-n` only checks the syntax, except in nushell.
        let checks = !text.starts_with("--") && text.starts_with('-') && text.contains('n');
        let runs_nothing =
            matches!(text, "--version" | "--help") || (checks && call.name() != Some("nu"));
        if runs_nothing {
            return Invocation { source: Source::Nothing, options, parameters: Vec::new() };
        }
        if matches!(text, "--rcfile" | "--init-file" | "--command") {
            takes_text |= text == "--command";
            if text != "--command" {
                args.next();
            }
        } else if !text.starts_with("--") {
            takes_text |= text.contains('c') && text.starts_with('-');
            from_input |= text.contains('s');
            let names_option = text.contains(['o', 'O']);
            options.push(Word::from(text.replace('c', "")));
            if names_option {
                options.extend(args.next());
            }
        }
    }
    options.retain(|option| option.text().len() > 1);
    let zero = call.words.first().cloned().unwrap_or_else(Word::unknown);
    if takes_text {
        let source = args.next().map_or(Source::Nothing, Source::Text);
        let mut parameters: Vec<Word> = args.collect();
        if parameters.is_empty() {
            parameters.push(zero);
        }
        return Invocation { source, options, parameters };
    }
    let file = if from_input { None } else { args.next() };
    let parameters = std::iter::once(zero).chain(args).collect();
    let path = file.map_or_else(|| "-".to_owned(), |path| path.text().to_owned());
    let path = if path == "/dev/stdin" { "-".to_owned() } else { path };
    let source = Source::File(path);
    Invocation { source, options, parameters }
}
