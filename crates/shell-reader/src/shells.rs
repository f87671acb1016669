//! Shells and what makes them run a text: `-c`, standard input, a script just written.

use std::rc::Rc;

use super::call::Call;
use super::context::{Context, Input};
use super::walk::Walker;
use super::{Fate, Reach, Word, builtins};

/// Programs that read shell text.
const SHELLS: [&str; 15] = [
    "bash", "sh", "zsh", "dash", "ksh", "mksh", "ash", "fish", "rbash", "yash", "csh", "tcsh",
    "nu", "xonsh", "elvish",
];

impl Walker<'_> {
    /// Notes that the command that is being followed runs a text which nobody can read here.
    pub(super) fn mark_hidden(&mut self) {
        if let Some(command) = self.commands.get_mut(self.current) {
            command.hidden = true;
        }
    }
}

/// Follows a shell, `source` or `at`; false if `name` is none of them.
pub(super) fn follow(walker: &mut Walker, name: &str, call: &Call, context: &Context) -> bool {
    match name {
        _ if SHELLS.contains(&name) => shell(walker, name, call, context),
        "source" | "." => source(walker, call, context),
        "at" | "batch" => {
            if let Input::Known(text) = walker.standard_input(call, context) {
                let inner = context.clone().with_fate(Fate::Masked);
                walker.child(&text, Reach::HereDocument, call, &inner);
            }
        }
        "make" | "gmake" => makefile(walker, call, context),
        "crontab" => timetable(walker, call, context),
        _ => return false,
    }
    true
}

/// Follows the recipes of a makefile that stands on the line itself.
fn makefile(walker: &mut Walker, call: &Call, context: &Context) {
    let args = call.args();
    let option = args.iter().position(|arg| matches!(arg.text(), "-f" | "--file"));
    let named = option.and_then(|at| args.get(at + 1)).map(Word::text);
    let text = match named {
        Some("-" | "/dev/stdin") => known_input(walker, call, context),
        Some(path) => walker.session.file(path),
        None => ["GNUmakefile", "makefile", "Makefile"]
            .iter()
            .find_map(|name| walker.session.file(name)),
    };
    let text = text.unwrap_or_default();
    for recipe in text.lines().filter_map(|line| line.strip_prefix('\t')) {
        let recipe = recipe.trim_start_matches(['@', '-', '+', ' ']);
        walker.child(recipe, Reach::ShellText("make".to_owned()), call, context);
    }
}

/// Follows the entries of a timetable that stands on the line itself.
fn timetable(walker: &mut Walker, call: &Call, context: &Context) {
    let text = match call.args().last().map(Word::text) {
        None | Some("-") => known_input(walker, call, context),
        Some(path) => walker.session.file(path),
    };
    let inner = context.clone().with_fate(Fate::Masked);
    for entry in text.unwrap_or_default().lines() {
        let times = if entry.starts_with('@') { 1 } else { 5 };
        let command = entry.split_whitespace().skip(times).collect::<Vec<_>>().join(" ");
        walker.child(&command, Reach::ShellText("crontab".to_owned()), call, &inner);
    }
}

fn known_input(walker: &Walker, call: &Call, context: &Context) -> Option<String> {
    match walker.standard_input(call, context) {
        Input::Known(text) => Some(text.to_string()),
        _ => None,
    }
}

fn shell(walker: &mut Walker, name: &str, call: &Call, context: &Context) {
    let Invocation { source, options, parameters } = invocation(call);
    let before = walker.state.clone();
    walker.state.parameters = Rc::new(parameters);
    // The commands of the line are a child's own business: its options start afresh.
    walker.state.exits_on_failure = false;
    walker.state.pipe_fails = false;
    builtins::set(walker, &options);
    match source {
        Source::Text(text) => {
            if text.text().trim_start().starts_with(super::script::UNKNOWN) {
                walker.mark_hidden();
            }
            walker.child(text.text(), Reach::ShellText(name.to_owned()), call, context);
        }
        Source::File(path) => {
            if let Some(text) = walker.session.file(path.text()) {
                walker.child(&text, Reach::ShellText(name.to_owned()), call, context);
            } else if path.text().starts_with("/dev/fd/") || path.known().is_none() {
                walker.mark_hidden();
            }
        }
        Source::Input => read_input(walker, name, call, context),
        Source::Nothing => {}
    }
    walker.state = before;
}

fn read_input(walker: &mut Walker, name: &str, call: &Call, context: &Context) {
    let document = call.redirects.iter().any(super::walk::is_text);
    match walker.standard_input(call, context) {
        Input::Known(text) => {
            if text.trim_start().starts_with(super::script::UNKNOWN) {
                walker.mark_hidden();
            }
            let reach =
                if document { Reach::HereDocument } else { Reach::ShellText(name.to_owned()) };
            walker.child(&text, reach, call, context);
        }
        Input::Unknown => walker.mark_hidden(),
        Input::Inherited => {}
    }
}

fn source(walker: &mut Walker, call: &Call, context: &Context) {
    let Some(path) = call.args().first() else { return };
    let text = match path.text() {
        "/dev/stdin" | "-" | "/dev/fd/0" => known_input(walker, call, context),
        path => walker.session.file(path),
    };
    match text {
        Some(text) => {
            let reach = Reach::ShellText("source".to_owned());
            let before = Rc::clone(&walker.state.parameters);
            if call.args().len() > 1 {
                walker.state.parameters = Rc::new(call.args().to_vec());
            }
            walker.run_text(&text, Some(call.span.clone()), &context.via(reach));
            walker.state.parameters = before;
        }
        None if path.text().starts_with("/dev/") => walker.mark_hidden(),
        None => {}
    }
}

/// What a shell was told to run.
struct Invocation {
    source: Source,
    options: Vec<Word>,
    parameters: Vec<Word>,
}

enum Source {
    Text(Word),
    File(Word),
    Input,
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
        // `-n` only checks the syntax; to nushell it means something else.
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
    let source = match file {
        Some(path) if path.text() == "-" || path.text() == "/dev/stdin" => Source::Input,
        Some(path) => Source::File(path),
        None => Source::Input,
    };
    Invocation { source, options, parameters }
}
