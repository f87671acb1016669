//! Interpreters, classified by the script that they run.

use super::super::runners;
use super::names::{base_name, is_other_purpose, is_test_file, is_test_name};
use super::purpose::{Purpose, of_row};

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/interpreters.rs"));

fn is_shell(name: &str) -> bool {
    matches!(name, "sh" | "bash" | "zsh" | "dash" | "ksh")
}

/// Returns whether the first argument of a script names tests: `./build.sh test-unit`, `bin/cake
/// test`, but not `./lint.sh tests`.
pub(super) fn asks_for_tests(script: &str, args: &[&str]) -> bool {
    let is_plain =
        |word: &&str| !word.contains(['/', '.', '=']) && !matches!(*word, "tests" | "spec");
    args.first().filter(|word| is_plain(word)).is_some_and(|word| is_test_name(word))
        && (ENTRY_SCRIPTS.contains(&script)
            || !is_other_purpose(script.trim_start_matches("build")))
}

/// Returns the purpose of an interpreter call; `None` for other programs.
pub(super) fn of_interpreter(name: &str, args: &[&str]) -> Option<Purpose> {
    if !INTERPRETERS.contains(&name) {
        return None;
    }
    let compiles = name == "nim" && matches!(args.first(), Some(&"c" | &"r" | &"cpp"));
    let value = |option: &str| {
        TAKES_VALUE.iter().any(|known| known.split_once(' ') == Some((name, option)))
    };
    let before = std::iter::once("").chain(args.iter().copied());
    let mut scripts =
        before.zip(args).filter(|(before, arg)| !arg.starts_with('-') && !value(before));
    let script = scripts.nth(usize::from(compiles)).map(|(_, script)| *script);
    let mut before_script = args.iter().take_while(|arg| Some(**arg) != script);
    let checks_only = before_script.any(|arg| NOT_RUNNING.contains(arg));
    if checks_only && !matches!(name, "java" | "emacs" | "swipl" | "nim" | "sbcl") {
        return Some(Purpose::Other);
    }
    let Some(script) = script else { return Some(Purpose::Other) };
    if name == "nim" {
        let runs = args.iter().any(|arg| matches!(*arg, "-r" | "r" | "--run"));
        let tests = runs && (is_test_file(script) || base_name(script).starts_with('t'));
        return Some(if tests { Purpose::Runs(None) } else { Purpose::Other });
    }
    let at = args.iter().position(|arg| *arg == script).map_or(args.len(), |at| at + 1);
    let rest = args.get(at..).unwrap_or_default();
    // `node node_modules/jest/bin/jest.js`, `php vendor/bin/phpunit`, `ruby bin/rails test`
    let file = base_name(script).trim_end_matches(".js");
    if let Some(row) = runners::find(file, rest) {
        return Some(of_row(row, file, rest));
    }
    let is_entry = ENTRY_SCRIPTS.contains(&file) || !file.contains('.') || is_shell(name);
    let sub = is_entry && asks_for_tests(file, rest);
    Some(if is_test_file(script) || sub { Purpose::Runs(None) } else { Purpose::May })
}
