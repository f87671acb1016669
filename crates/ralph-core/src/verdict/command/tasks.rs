//! Task runners and package managers, classified by the name of the target or script.

use super::super::runners;
use super::names::{base_name, is_test_name};
use super::pattern::positionals;
use super::purpose::{Purpose, of_row};

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/tasks.rs"));

/// Returns the purpose of a task runner or package manager call; `None` for other programs.
pub(super) fn of_task(name: &str, args: &[&str]) -> Option<Purpose> {
    let mut words = positionals(args).filter(|word| !word.contains('='));
    match name {
        "make" | "ninja" | "samu" | "scons" | "waf" | "mage" | "doit" | "grunt" | "gulp"
        | "jake" | "b2" => {
            let only_prints = ["-n", "--just-print", "--dry-run", "--version"];
            if args.iter().any(|arg| only_prints.contains(arg)) {
                return Some(Purpose::Other);
            }
            let check = |word: &str| matches!(word, "check" | "checkall") && name != "grunt";
            let tests =
                words.any(|word| is_test_name(word) || check(word) || word.starts_with("check-"));
            Some(if tests { Purpose::Runs(None) } else { Purpose::May })
        }
        "npm" | "pnpm" | "yarn" | "bun" | "cnpm" | "ied" => Some(of_package_script(name, args)),
        "rake" | "mspec" | "mamba" if words.next().is_none() => Some(Purpose::Runs(None)),
        name if TARGETED.contains(&name) => Some(of_target(args)),
        "cargo" => {
            let mut words = positionals(args);
            let task = matches!(words.next(), Some("make" | "xtask" | "run-script" | "cmd"));
            let tests = task && words.any(|word| is_test_name(word) || word == "ci");
            Some(if tests { Purpose::Runs(None) } else { Purpose::Other })
        }
        "git" => Some(match positionals(args).find(|word| !word.contains('=')) {
            Some("commit" | "push") => Purpose::May,
            _ => Purpose::Shows,
        }),
        _ => None,
    }
}

/// Returns whether a program runs tasks, of which several may be test runs.
pub(crate) fn is_task(program: &str) -> bool {
    let name = base_name(program);
    !matches!(name, "git" | "cargo") && of_task(name, &["test"]).is_some()
}

fn of_target(args: &[&str]) -> Purpose {
    let targets: Vec<&str> = positionals(args)
        .filter(|word| !word.contains('=') && !matches!(*word, "run" | "run-script" | "r" | "exec"))
        .collect();
    let other = "install add update require remove build lock sync";
    if targets.first().is_some_and(|first| other.split(' ').any(|one| one == *first)) {
        Purpose::Other
    } else if targets.iter().any(|target| is_test_name(target)) {
        Purpose::Runs(None)
    } else {
        Purpose::May
    }
}

/// Classifies `npm test`, `npm run test:unit`, `yarn workspace app test`, `pnpm -r test`.
fn of_package_script(name: &str, args: &[&str]) -> Purpose {
    let own: Vec<&str> = args.iter().take_while(|arg| **arg != "--").copied().collect();
    let mut words = positionals(&own).peekable();
    let mut named = false;
    while let Some(word) = words.peek().copied() {
        match word {
            "run" | "run-script" | "rum" | "workspaces" | "foreach" => {
                named = true;
                words.next();
            }
            "workspace" => {
                words.next();
                words.next();
            }
            _ => break,
        }
    }
    let Some(script) = words.next() else { return Purpose::Other };
    if matches!(script, "t" | "tst") && !named || is_test_name(script) {
        return Purpose::Runs(None);
    }
    // Without `run`, yarn, pnpm and bun also start programs of the project.
    let starts = name != "npm" || named;
    let at = own.iter().position(|arg| *arg == script).map_or(own.len(), |at| at + 1);
    let rest = own.get(at..).unwrap_or_default();
    if let Some(row) = runners::find(base_name(script), rest)
        && starts
    {
        return of_row(row, script, rest);
    }
    let other = "build start dev lint format typecheck serve install add remove";
    if starts && !other.split(' ').any(|one| one == script) { Purpose::May } else { Purpose::Other }
}
