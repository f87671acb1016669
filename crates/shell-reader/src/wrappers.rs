//! Programs that run the command in their arguments, as listed in `wrappers.toml`.

use super::context::{Call, Context};
use super::script::names;
use super::walk::Walker;
use super::{Effect, Reach, Word, quoted, sorted};

/// How a program runs the command in its arguments; the file explains the fields.
struct Wrapper {
    subcommands: &'static str,
    values: &'static str,
    operands: usize,
    style: &'static str,
}

// `WRAPPERS` and `TEXT_OPTIONS`, sorted by name.
include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));

/// Follows a wrapper; false if `name` is not one.
pub(super) fn follow(walker: &mut Walker, name: &str, call: &Call, context: &Context) -> bool {
    if name == "git" {
        return git(walker, call, context);
    }
    if let Some(text) = shell_text(name, call.args()) {
        walker.child(&text, Reach::Wrapper(name.to_owned()), call, context);
        return true;
    }
    let first = call.args().first().map_or("", Word::text);
    match name {
        "command" if first.starts_with("-v") || first == "-V" => return true,
        "docker" if matches!(first, "compose" | "container") => {
            let words = [Word::from("docker-compose")].into_iter();
            let words = words.chain(call.args().iter().skip(1).cloned()).collect();
            return follow(walker, "docker-compose", &call.with_words(words), context);
        }
        _ => {}
    }
    let Some(wrapper) = sorted::find(WRAPPERS, name) else { return false };
    let Some(words) = wrapped(wrapper, call.args()) else {
        // Without a command, the remote shell reads its standard input.
        if let ("ssh", Some(text)) = (name, walker.standard_input(call, context)) {
            walker.child(&text, Reach::Wrapper(name.to_owned()), call, context);
        }
        return true;
    };
    run_wrapped(walker, wrapper.style, name, call.with_words(words.to_vec()), context);
    true
}

/// Follows the command of a wrapper, in the way in which the wrapper parses it.
fn run_wrapped(walker: &mut Walker, style: &str, name: &str, call: Call, context: &Context) {
    let mut inner = call;
    while let Some((variable, value)) = leading_assignment(&inner.words) {
        inner.assignments.push((variable, value));
        inner.words.remove(0);
    }
    let reach = Reach::Wrapper(name.to_owned());
    match style {
        // The input of `ssh host bash -s` is read by the remote shell.
        "text" | "later" => {
            let text = inner.words.iter().map(Word::text).collect::<Vec<_>>().join(" ");
            let input = walker.standard_input(&inner, context);
            let effect = if style == "later" { Effect::Ignored } else { context.effect };
            walker.child(&text, reach, &inner, &Context { input, effect, ..context.clone() });
        }
        "texts" => {
            for word in &inner.words {
                walker.child(word.text(), reach.clone(), &inner, context);
            }
        }
        _ => match &*inner.words {
            // `yarn exec 'a b'`: program names have no blanks, so this is a command line.
            [only] if only.text().contains(' ') => {
                walker.child(only.text(), reach, &inner, context);
            }
            _ => {
                let functions = matches!(name, "time" | "noglob" | "nocorrect");
                walker.run(inner, context.via(reach), functions);
            }
        },
    }
}

/// Returns the words of the command that a wrapper runs.
fn wrapped<'w>(wrapper: &Wrapper, args: &'w [Word]) -> Option<&'w [Word]> {
    let mut rest = args;
    if !wrapper.subcommands.is_empty() {
        let is_one = |word: &&Word| names(wrapper.subcommands, word.text());
        if !rest.first().is_some_and(|word| is_one(&word)) {
            rest = rest.get(skip_options(rest, wrapper.values)..)?;
        }
        rest.first().filter(is_one)?;
        rest = rest.get(1..)?;
    }
    rest = rest.get(skip_options(rest, wrapper.values)..)?;
    rest = rest.get(wrapper.operands..)?;
    // `kubectl exec pod -c app -- sh`: program names do not look like options.
    rest = rest.get(skip_options(rest, wrapper.values)..)?;
    // `retry 3 git push`, `dotenv run -- pytest`: no program is named `run` or a number.
    let is_none = |word: &&Word| {
        word.text() == "run" || word.text().bytes().all(|byte| byte.is_ascii_digit())
    };
    rest = rest.get(rest.iter().take_while(is_none).count()..)?;
    rest = rest.strip_prefix(&[Word::from("--")]).unwrap_or(rest);
    (!rest.is_empty()).then_some(rest)
}

/// Returns the number of leading words that are options and their values.
pub(super) fn skip_options(args: &[Word], values: &str) -> usize {
    let mut place = 0;
    while let Some(text) = args.get(place).map(Word::text) {
        if text == "--" {
            return place + 1;
        }
        if !text.starts_with(['-', '+']) {
            break;
        }
        // In a cluster such as `-iu`, the last letter may take a value.
        let last = text.chars().last().filter(|_| !text.starts_with("--")).unwrap_or(' ');
        let wanted = values.split(' ').filter(|option| {
            *option == text || (option.len() == 2 && text.len() > 2 && option.ends_with(last))
        });
        place += 1 + wanted.count();
    }
    place.min(args.len())
}

/// Returns the first `NAME=value` before the command of `env` or `sudo`.
fn leading_assignment(words: &[Word]) -> Option<(String, Word)> {
    let (name, value) = words.first()?.text().split_once('=')?;
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    is_name.then(|| (name.to_owned(), Word::from(value)))
}

/// Returns the shell text given by an option, also in a cluster such as `-qc`.
fn shell_text(name: &str, args: &[Word]) -> Option<String> {
    let options = sorted::find(TEXT_OPTIONS, name)?;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let text = arg.text();
        if text == "--" {
            return None;
        }
        for option in options.split(' ') {
            // `-qc text` is `-q -c text`.
            let clustered = option.len() == 2
                && text.starts_with('-')
                && !text.starts_with("--")
                && text.ends_with(option.trim_start_matches('-'));
            if text == option || clustered {
                let first = rest.next()?.text().to_owned();
                // `env -S` and `nix -c` also take the words after it.
                let behind = rest.filter(|_| matches!(name, "env" | "nix"));
                return Some(behind.fold(first, |text, word| text + " " + &quoted(word.text())));
            }
            let behind = text.strip_prefix(option).filter(|value| !value.is_empty());
            if let Some(value) = behind.and_then(|value| value.strip_prefix('=')) {
                return Some(value.to_owned());
            }
            // `-S'a b'` has its value in the same word.
            if let Some(value) = behind
                && option.len() == 2
                && text.contains(' ')
            {
                return Some(value.to_owned());
            }
        }
        // The command of `env` or `npx` begins here; later options belong to it.
        if !text.starts_with('-') && !text.contains('=') && matches!(name, "env" | "npx") {
            return None;
        }
    }
    None
}

/// Follows the commands that git runs in `submodule foreach` and `bisect run`.
fn git(walker: &mut Walker, call: &Call, context: &Context) -> bool {
    let values = "-C -c --git-dir --work-tree --namespace --super-prefix --config-env";
    let args = call.args().get(skip_options(call.args(), values)..).unwrap_or_default();
    let via = || context.via(Reach::Wrapper("git".to_owned()));
    let texts: Vec<&str> = args.iter().map(Word::text).collect();
    match texts.as_slice() {
        ["submodule", rest @ ..] => {
            let Some(at) = rest.iter().position(|arg| *arg == "foreach") else { return true };
            let words = rest.get(at + 1..).unwrap_or_default();
            let words: Vec<&str> =
                words.iter().copied().skip_while(|arg| arg.starts_with('-')).collect();
            walker.child(&words.join(" "), Reach::Text, call, &via());
        }
        ["bisect", "run", ..] => {
            let words = args.get(2..).unwrap_or_default().to_vec();
            walker.run(call.with_words(words), via(), false);
        }
        _ => {}
    }
    true
}
