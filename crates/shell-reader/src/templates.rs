//! Programs that complete a command with arguments and run it: `xargs`, `find -exec`, `parallel`.

use super::context::{Call, Context};
use super::walk::Walker;
use super::wrappers::skip_options;
use super::{Effect, Reach, UNKNOWN, Word, values};

/// The maximum number of input lines for which a template is filled in.
const MAX_FILLED: usize = 8;

/// Options of `xargs` that take a value.
const XARGS_VALUES: &str =
    "-I -n -P -L -d -a -E -s --max-args --max-procs --max-lines --delimiter --arg-file --max-chars";

/// Options of `find` and `fd` that are followed by a command.
const FIND_RUNS: [&str; 8] =
    ["-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch"];

/// Follows a template program; false if `name` is not one.
pub(super) fn follow(walker: &mut Walker, name: &str, call: &Call, context: &Context) -> bool {
    match name {
        "xargs" | "gxargs" => xargs(walker, call, context),
        "find" | "gfind" | "fd" | "fdfind" => find(walker, call, context),
        "parallel" => parallel(walker, call, context),
        _ => return false,
    }
    true
}

fn xargs(walker: &mut Walker, call: &Call, context: &Context) {
    let (options, args) = call.args().split_at(skip_options(call.args(), XARGS_VALUES));
    let given = |wanted| values(options, wanted, XARGS_VALUES).into_iter();
    let one_by_one = given("-n -L").any(|number| number.text() == "1");
    let mut texts = options.iter().map(Word::text);
    let separates = |text: &str| !text.starts_with("--") && text.contains(['0', 'd']);
    let separated = texts.clone().any(|text| separates(text) || text.starts_with("--null"));
    let placeholder = given("-I").next().map(|mark| mark.text().to_owned()).or_else(|| {
        let text = texts.find(|text| *text == "-i" || text.starts_with("--replace"))?;
        Some(text.split_once('=').map_or("{}", |(_, mark)| mark).to_owned())
    });
    let input = walker.standard_input(call, context);
    let context = context.via(Reach::Template);
    match (placeholder, input) {
        (Some(mark), Some(text)) if text.lines().count() <= MAX_FILLED => {
            for line in text.lines() {
                walker.run(call.with_words(filled(args, &mark, line)), context.clone(), false);
            }
        }
        (Some(mark), _) => {
            walker.run(call.with_words(filled(args, &mark, &UNKNOWN.to_string())), context, false)
        }
        (None, input) => {
            let items: Vec<Word> = match input {
                Some(text) => items(&text, separated).map(Word::from).collect(),
                None => vec![Word::unknown()],
            };
            let size = if one_by_one && items.len() <= MAX_FILLED { 1 } else { items.len().max(1) };
            let mut rounds: Vec<&[Word]> = items.chunks(size).collect();
            if rounds.is_empty() {
                rounds.push(&[]);
            }
            for items in rounds {
                walker.run(call.with_words([args, items].concat()), context.clone(), false);
            }
        }
    }
}

/// Returns the items that `xargs` reads; with `separated`, only NULs and newlines split them.
fn items(text: &str, separated: bool) -> impl Iterator<Item = &str> {
    let separates = move |character: char| match character {
        '\0' | '\n' => true,
        _ => !separated && character.is_whitespace(),
    };
    text.split(separates).filter(|item| !item.is_empty())
}

/// Returns the words of a template with each `mark` replaced.
fn filled(template: &[Word], mark: &str, value: &str) -> Vec<Word> {
    template.iter().map(|word| Word::from(word.text().replace(mark, value))).collect()
}

fn find(walker: &mut Walker, call: &Call, context: &Context) {
    let args = call.args();
    let is_start = |text: &&str| !text.starts_with(['-', '(', '!', '\\']);
    let start = args.iter().map(Word::text).find(is_start).unwrap_or(".");
    // The results are below the starting point: that much is known.
    let found = format!("{}/{UNKNOWN}", start.trim_end_matches('/'));
    let mut rest = args;
    while let Some(at) = rest.iter().position(|arg| FIND_RUNS.contains(&arg.text())) {
        rest = rest.get(at + 1..).unwrap_or_default();
        let end = rest.iter().position(|arg| matches!(arg.text(), ";" | "+")).unwrap_or(rest.len());
        let template = rest.get(..end).unwrap_or_default();
        let effect = match rest.get(end).map(Word::text) {
            Some("+") => context.effect,
            _ => Effect::Ignored,
        };
        let inner = context.via(Reach::Template).with_effect(effect);
        walker.run(call.with_words(filled(template, "{}", &found)), inner, false);
        rest = rest.get(end..).unwrap_or_default();
    }
}

/// Follows `parallel`, which joins its words and passes them to a shell.
fn parallel(walker: &mut Walker, call: &Call, context: &Context) {
    let takers = "-j --jobs -P -I -n -N -a --arg-file -S --delay --timeout";
    let args = call.args().split_at(skip_options(call.args(), takers)).1;
    let end = args.iter().position(|arg| arg.text().starts_with(":::")).unwrap_or(args.len());
    let (template, values) = args.split_at(end);
    if args.is_empty() {
        // Without a template, each line of the input is a command.
        if let Some(text) = walker.standard_input(call, context) {
            walker.child(&text, Reach::Template, call, context);
        }
        return;
    }
    let template = template.iter().map(Word::text).collect::<Vec<_>>().join(" ");
    let mut values: Vec<&str> = values.iter().map(Word::text).collect();
    values.retain(|text| !text.starts_with(":::"));
    let unknown = UNKNOWN.to_string();
    if values.is_empty() {
        values.push(&unknown);
    }
    for value in values.into_iter().take(MAX_FILLED) {
        let text = if template.contains("{}") {
            template.replace("{}", value)
        } else {
            format!("{template} {value}")
        };
        walker.child(&text, Reach::Template, call, context);
    }
}
