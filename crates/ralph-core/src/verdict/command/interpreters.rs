//! Interpreters: the script that they run tells what they do.

use super::super::runners;
use super::names::{base_name, is_listed, is_test_file, is_test_name};
use super::purpose::{Purpose, of_row};

const INTERPRETERS: &str = "\
    python node ruby php perl lua luajit bash sh zsh dash ksh fish tsx ts-node bun sbcl Rscript \
    julia java groovy racket guile tclsh swipl emacs octave escript elixir erl pwsh powershell \
    nim osascript scala kotlin coffee babel-node esr jiti wasmtime qemu R clojure lein ocaml \
    runghc runhaskell stap gjs raku";

/// Scripts whose first argument names what they do.
const ENTRY_SCRIPTS: &str = "setup.py manage.py artisan console rails tasks.py Build run.py dev.py";

/// Options that make an interpreter read a text or check a file instead of running a script.
const NOT_RUNNING: &str = "-c -e -p -l -n --eval --check --print -pe -ne";

/// What an interpreter is started for; `None` for other programs.
pub(super) fn of_interpreter(name: &str, args: &[&str]) -> Option<Purpose> {
    if !is_listed(INTERPRETERS, name) {
        return None;
    }
    let compiles = name == "nim" && matches!(args.first(), Some(&"c" | &"r" | &"cpp"));
    let mut scripts = args.iter().copied().filter(|arg| !arg.starts_with('-'));
    let script = scripts.nth(usize::from(compiles));
    let mut before_script = args.iter().take_while(|arg| Some(**arg) != script);
    let checks_only = before_script.any(|arg| is_listed(NOT_RUNNING, arg));
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
    let sub = rest.first().is_some_and(|word| is_test_name(word)) && is_listed(ENTRY_SCRIPTS, file);
    Some(if is_test_file(script) || sub { Purpose::Runs(None) } else { Purpose::May })
}
