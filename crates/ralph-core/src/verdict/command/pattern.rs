//! The pattern notation in the runner table for how a runner is started.
//!
//! | word | matches |
//! | --- | --- |
//! | first word | the program, without its folder and extension |
//! | `word` | the next argument that is not an option |
//! | `-x`, `--long` | this option, anywhere |
//! | `~test` | an argument that names tests, anywhere |
//! | `=text` | exactly this argument, anywhere |
//! | `*text` | an argument that contains this text, anywhere |

use super::names::{is_test_file, is_test_name};

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/pattern.rs"));

/// Returns whether `args` match the words of a pattern.
pub(crate) fn matches(words: &str, args: &[&str]) -> bool {
    let mut positionals = positionals(args);
    words.split_whitespace().all(|word| {
        if let Some(kind) = word.strip_prefix('~') {
            args.iter().any(|arg| names_tests(arg, kind))
        } else if let Some(text) = word.strip_prefix('=') {
            args.contains(&text)
        } else if let Some(text) = word.strip_prefix('*') {
            args.iter().any(|arg| arg.contains(text))
        } else if word.starts_with('-') {
            args.iter().any(|arg| {
                arg.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            })
        } else {
            positionals.next() == Some(word)
        }
    })
}

/// Returns the arguments that are neither options nor values of options.
pub(crate) fn positionals<'a>(args: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let mut value = false;
    args.iter().copied().filter(move |arg| {
        if std::mem::take(&mut value) {
            return false;
        }
        value = WITH_VALUE.contains(arg);
        !arg.starts_with('-') && !arg.starts_with('+')
    })
}

fn names_tests(arg: &str, kind: &str) -> bool {
    if arg.starts_with('-') {
        return false;
    }
    match kind {
        // sbt takes several tasks in one argument.
        "test" | "tests" | "spec" => {
            arg.split(';').any(is_test_name) || (arg.contains('.') && is_test_file(arg))
        }
        other => arg.split(['.', '/', ':']).any(|part| part == other),
    }
}
