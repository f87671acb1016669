//! Computes the output of the few commands whose output can be derived from the line.
//!
//! `echo 'git push' | bash` and `eval "$(printf …)"` run what they print, so the text matters.

use super::expand::Expander;
use super::script::base_name;
use super::state::Value;
use super::tree::{Body, Item, List, RawRedirect, Stage};
use super::{RedirectKind, Word, escapes};

/// The longest output to compute.
const MAX_OUTPUT: usize = 64 * 1024;

/// Programs whose output can, at least sometimes, be derived from the line.
const PRINTERS: [&str; 13] = [
    "echo", "printf", "cat", "tee", "which", "command", "type", "pwd", ":", "true", "mktemp",
    "find", "git",
];

/// Returns the output of a list, including trailing newlines, if all of it is known.
pub(super) fn of_list(list: &List, input: Option<&str>, expander: Expander) -> Option<Word> {
    let mut text = String::new();
    for item in &list.items {
        text.push_str(of_item(item, input, expander)?.text());
        if text.len() > MAX_OUTPUT {
            return None;
        }
    }
    Some(Word::from(text))
}

fn of_item(item: &Item, input: Option<&str>, expander: Expander) -> Option<Word> {
    let [(_, pipeline)] = item.chain.as_slice() else { return None };
    let mut stages = pipeline.stages.iter();
    let mut text = of_stage(stages.next()?, input, expander)?;
    for stage in stages {
        text = of_stage(stage, Some(text.text()), expander)?;
    }
    Some(text)
}

/// Returns the output of one command, given `input`.
pub(super) fn of_stage(stage: &Stage, input: Option<&str>, expander: Expander) -> Option<Word> {
    match &stage.body {
        Body::Group { list, .. } => of_list(list, input, expander),
        Body::Simple { words, .. } => {
            // Only for these few programs are all words expanded.
            if words.first()?.inert().is_some_and(|program| !is_printer(base_name(program))) {
                return None;
            }
            let first = expander.fields(words.get(..1)?);
            let name = first.first()?.base_name().filter(|name| is_printer(Some(name)))?;
            let words = expander.fields(words);
            let document = stage.redirects.iter().find_map(|redirect| text_of(redirect, expander));
            of_words(name, words.get(1..)?, document.as_ref().map(Word::text).or(input), expander)
        }
        _ => None,
    }
}

fn is_printer(name: Option<&str>) -> bool {
    name.is_some_and(|name| PRINTERS.contains(&name))
}

/// Returns the text that a redirection supplies as input.
fn text_of(redirect: &RawRedirect, expander: Expander) -> Option<Word> {
    let text = expander.value(redirect.word()?);
    match redirect.kind {
        RedirectKind::HereDocument => Some(text),
        RedirectKind::HereString => Some(Word::from(format!("{}\n", text.text()))),
        RedirectKind::Read => expander.file(text.known()?).map(|text| Word::from(&*text)),
        _ => None,
    }
}

/// Returns the output of `name` with `args`.
fn of_words(name: &str, args: &[Word], input: Option<&str>, expander: Expander) -> Option<Word> {
    let texts: Vec<&str> = args.iter().map(Word::text).collect();
    match (name, texts.as_slice()) {
        ("echo", args) => Some(Word::from(echo(args))),
        ("printf", ["-v", ..]) => None,
        ("printf", ["--", format, args @ ..] | [format, args @ ..]) => {
            printf(format, args).map(Word::from)
        }
        ("cat" | "tee", []) | ("cat", ["-"]) | ("tee", [_]) => input.map(Word::from),
        ("cat", [path]) => expander.file(path).map(|text| Word::from(&*text)),
        ("which", [program]) | ("command", ["-v", program]) | ("type", ["-p" | "-P", program]) => {
            // The program's folder is unknown, its name is not.
            let folder = if program.starts_with('/') { "" } else { "\u{fffc}/" };
            Some(Word::from(format!("{folder}{program}\n")))
        }
        ("pwd", []) => Some(Word::from(format!("{}\n", scalar(expander, "PWD")?))),
        ("mktemp", args) => {
            temporary(args, scalar(expander, "TMPDIR").unwrap_or("/tmp")).map(Word::from)
        }
        ("git", ["rev-parse", "--show-toplevel"]) => {
            Some(Word::from(format!("{}\n", scalar(expander, "CLAUDE_PROJECT_DIR")?)))
        }
        ("find", args) if !args.iter().any(|arg| arg.starts_with("-exec")) => {
            let start = args.iter().find(|arg| !arg.starts_with('-')).unwrap_or(&".");
            Some(Word::from(format!("{}/\u{fffc}\n", start.trim_end_matches('/'))))
        }
        (":" | "true", _) => Some(Word::from("")),
        _ => None,
    }
}

/// Returns the path that `mktemp` prints: a known folder, an unknown name.
fn temporary(args: &[&str], folder: &str) -> Option<String> {
    let folder = folder.trim_end_matches('/');
    let (options, templates): (Vec<&str>, Vec<&str>) =
        args.iter().partition(|arg| arg.starts_with('-'));
    let in_folder = options.iter().any(|option| matches!(*option, "-t" | "-dt" | "--tmpdir"));
    match templates.as_slice() {
        [] => Some(format!("{folder}/\u{fffc}\n")),
        [_] if in_folder => Some(format!("{folder}/\u{fffc}\n")),
        [template] if options.iter().all(|option| matches!(*option, "-d" | "-q" | "-u")) => {
            Some(format!("{}\u{fffc}\n", template.trim_end_matches('X')))
        }
        _ => None,
    }
}

fn scalar<'s>(expander: Expander<'s>, name: &str) -> Option<&'s str> {
    match expander.state.variable(name)? {
        Value::Scalar(word) => Some(word.text()),
        Value::Array(_) => None,
    }
}

fn echo(args: &[&str]) -> String {
    let is_option = |arg: &str| {
        arg.strip_prefix('-').is_some_and(|flags| {
            !flags.is_empty() && flags.chars().all(|flag| matches!(flag, 'n' | 'e' | 'E'))
        })
    };
    let options = args.iter().take_while(|arg| is_option(arg)).count();
    let (options, words) = args.split_at(options);
    let text = words.join(" ");
    let text = if options.iter().any(|option| option.contains('e')) {
        escapes::decode(&text)
    } else {
        text
    };
    if options.iter().any(|option| option.contains('n')) { text } else { text + "\n" }
}

/// Computes `printf`, which repeats its format until the arguments are used up.
fn printf(format: &str, args: &[&str]) -> Option<String> {
    let mut text = String::new();
    let mut args = args.iter();
    loop {
        let before = args.len();
        let mut rest = format;
        while let Some(place) = rest.find('%') {
            let (literal, directive) = rest.split_at(place);
            text.push_str(&escapes::decode(literal));
            let letter = directive.get(1..2)?;
            match letter {
                "%" => text.push('%'),
                "s" | "d" | "i" | "q" => text.push_str(args.next().unwrap_or(&"")),
                "b" => text.push_str(&escapes::decode(args.next().unwrap_or(&""))),
                _ => return None,
            }
            rest = directive.get(2..)?;
        }
        text.push_str(&escapes::decode(rest));
        if args.len() == 0 || args.len() == before {
            return Some(text);
        }
        if text.len() > MAX_OUTPUT {
            return None;
        }
    }
}
