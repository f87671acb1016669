//! What one program with its arguments is for: running tests, listing them, perhaps running them,
//! showing text, or none of these.

use super::super::runners::{self, Runner};
use super::names::{is_test_file, is_test_name, may_test};
use super::pattern::{self, positionals};
use super::unwrap::{base_name, unwrap};

/// What a simple command is for, as far as tests are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Runs tests; the row is missing where only the name of a script or target says so.
    Runs(Option<&'static Runner>),
    /// Lists or builds tests without running any.
    Lists(Option<&'static Runner>),
    /// May run tests among other things: only a summary in the output can tell.
    May,
    /// Shows text that others wrote, a log for instance.
    Shows,
    /// Has nothing to do with tests.
    Other,
}

/// Classifies a program with its arguments.
pub(crate) fn of(program: &str, args: &[&str]) -> Purpose {
    let (program, args) = unwrap(program, args);
    let name = base_name(program);
    if is_help(args) {
        return Purpose::Other;
    }
    // `python -W error -m pytest`: what counts begins with the module.
    let args = match args.iter().position(|arg| *arg == "-m") {
        Some(at) if name == "python" => args.get(at..).unwrap_or_default(),
        _ => args,
    };
    if let Some(row) = row(name, args) {
        return of_row(row, name, args);
    }
    if let Some(purpose) = of_task(name, args).or_else(|| of_tool(name, args)) {
        return listing(purpose, args);
    }
    if let Some(purpose) = of_interpreter(name, args) {
        return listing(purpose, args);
    }
    let purpose = if is_test_file(program) { Purpose::Runs(None) } else { Purpose::May };
    listing(purpose, args)
}

fn row(name: &str, args: &[&str]) -> Option<&'static Runner> {
    runners::all().find(|row| row.invoked.iter().any(|form| pattern::matches(form, name, args)))
}

fn of_row(row: &'static Runner, name: &str, args: &[&str]) -> Purpose {
    let skipped = |arg: &&str| {
        arg.starts_with("-DskipTests") && !arg.ends_with("=false")
            || arg.starts_with("-DskipITs")
            || arg.starts_with("-Dmaven.test.skip")
    };
    let excluded = name == "gradle" && args.windows(2).any(|pair| pair == ["-x", "test"]);
    if args.iter().any(skipped) || excluded {
        return Purpose::Other;
    }
    // A build that includes the tests says so in its output, or it is only a build.
    let named = args.iter().any(|arg| is_test_name(arg) || matches!(*arg, "verify" | "check"));
    if matches!(name, "mvn" | "gradle") && !named {
        return Purpose::May;
    }
    listing(Purpose::Runs(Some(row)), args)
}

/// Turns a run into a listing where an option says so.
fn listing(purpose: Purpose, args: &[&str]) -> Purpose {
    let Purpose::Runs(row) = purpose else { return purpose };
    let lists = |arg: &&str| {
        matches!(
            *arg,
            "--list"
                | "--listTests"
                | "--list-tests"
                | "--collect-only"
                | "--co"
                | "--no-run"
                | "--dry-run"
                | "--dryrun"
                | "--dry"
                | "--gtest_list_tests"
                | "-list"
                | "--show-only"
                | "--list-test-names-only"
                | "--list-only"
                | "--list-suites"
                | "--list-tags"
                | "--test-case-list"
                | "-ltc"
                | "--list_content"
                | "--count-tests"
                | "--listtests"
        )
    };
    let go_build = row.is_some_and(|row| row.name == "go test") && args.contains(&"-c");
    let listed = args.iter().take_while(|arg| **arg != "-k").any(|arg| lists(&arg));
    // `cargo nextest list`, `vitest list`, but not `mocha -R list`
    let sub = row.is_some() && matches!(args, ["list", ..] | ["nextest", "list", ..]);
    if listed || go_build || sub { Purpose::Lists(row) } else { purpose }
}

fn is_help(args: &[&str]) -> bool {
    let own = args.iter().take_while(|arg| **arg != "--");
    let mut own = own.copied();
    own.any(|arg| matches!(arg, "--help" | "--version" | "-help" | "-version" | "--usage"))
        || matches!(args, ["-h" | "-V" | "help" | "version"])
        || (args.first() == Some(&"help") && args.len() < 4)
}

/// Task runners and package managers, whose target or script name tells.
fn of_task(name: &str, args: &[&str]) -> Option<Purpose> {
    let mut words = positionals(args).filter(|word| !word.contains('='));
    match name {
        "make" | "ninja" | "samu" | "scons" | "waf" | "mage" | "doit" | "grunt" | "gulp" | "b2" => {
            if args
                .iter()
                .any(|arg| matches!(*arg, "-n" | "--just-print" | "--dry-run" | "--version"))
            {
                return Some(Purpose::Other);
            }
            let check =
                |word: &str| matches!(word, "check" | "check-all" | "checkall") && name != "grunt";
            let tests =
                words.any(|word| is_test_name(word) || check(word) || word.starts_with("check-"));
            Some(if tests { Purpose::Runs(None) } else { Purpose::May })
        }
        "npm" | "pnpm" | "yarn" | "bun" | "cnpm" | "ied" => Some(of_package_script(name, args)),
        "rake" | "mspec" if words.next().is_none() => Some(Purpose::Runs(None)),
        "just" | "task" | "go-task" | "rake" | "invoke" | "inv" | "poe" | "composer" | "thor"
        | "mask" | "mise" | "hatch" | "cmake" | "moon" | "earthly" | "dagger" | "fab" | "lage"
        | "rush" | "wireit" | "run-s" | "run-p" | "npm-run-all" | "concurrently" | "babashka"
        | "bb" | "nbb" | "nimble" | "pdm" | "poetry" | "pixi" | "tusk" | "xc" | "runme" | "nps" => {
            Some(of_target(name, args))
        }
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

fn of_target(name: &str, args: &[&str]) -> Purpose {
    let targets: Vec<&str> = positionals(args)
        .filter(|word| !word.contains('=') && !matches!(*word, "run" | "run-script" | "r" | "exec"))
        .collect();
    let builds_target = args.iter().any(|arg| matches!(*arg, "--target" | "-t" | "--build"));
    if name == "cmake" && !builds_target {
        return Purpose::Other;
    }
    let target_value = args.windows(2).any(|pair| {
        matches!(pair, ["--target" | "-t", target] if is_test_name(target) || *target == "check")
    });
    let installs = matches!(
        targets.first(),
        Some(
            &"install" | &"add" | &"update" | &"require" | &"remove" | &"build" | &"lock" | &"sync"
        )
    );
    if name == "cmake" {
        return if target_value { Purpose::Runs(None) } else { Purpose::Other };
    }
    if installs {
        Purpose::Other
    } else if targets.iter().any(|target| is_test_name(target)) || target_value {
        Purpose::Runs(None)
    } else {
        Purpose::May
    }
}

/// `npm test`, `npm run test:unit`, `yarn workspace app test`, `pnpm -r test`, `yarn jest`
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
    // Without `run`, yarn, pnpm and bun start programs of the project as well.
    if name != "npm" || named {
        let at = own.iter().position(|arg| *arg == script).map_or(own.len(), |at| at + 1);
        let rest = own.get(at..).unwrap_or_default();
        if let Some(row) = row(base_name(script), rest) {
            return of_row(row, script, rest);
        }
        if may_test(script) && script != "ci" || (named && script == "ci") {
            return Purpose::May;
        }
    }
    if named
        && !matches!(script, "build" | "start" | "dev" | "lint" | "format" | "typecheck" | "serve")
    {
        return Purpose::May;
    }
    if matches!(script, "publish" | "version" | "pack") { Purpose::May } else { Purpose::Other }
}

/// Programs that are known not to run tests.
fn of_tool(name: &str, args: &[&str]) -> Option<Purpose> {
    match name {
        "cat" | "tac" | "less" | "more" | "head" | "tail" | "grep" | "egrep" | "fgrep" | "rg"
        | "ag" | "ack" | "awk" | "gawk" | "mawk" | "sed" | "jq" | "yq" | "bat" | "batcat"
        | "nl" | "cut" | "tr" | "sort" | "uniq" | "diff" | "cmp" | "colordiff" | "delta"
        | "strings" | "xxd" | "od" | "column" | "paste" | "gh" | "glab" | "journalctl"
        | "dmesg" | "curl" | "wget" | "http" | "zcat" | "zgrep" | "find" | "tree" | "kubectl"
        | "docker" | "podman" | "docker-compose" | "ssh" | "aws" | "gcloud" | "az" | "xmllint"
        | "history" | "man" | "comm" | "join" => Some(Purpose::Shows),
        "echo" | "printf" | "ls" | "cd" | "pushd" | "popd" | "pwd" | "export" | "set" | "unset"
        | "source" | "." | ":" | "true" | "false" | "test" | "[" | "[[" | "which" | "type"
        | "exit" | "return" | "read" | "local" | "declare" | "alias" | "wc" | "tee" | "touch"
        | "mkdir" | "rm" | "rmdir" | "cp" | "mv" | "ln" | "chmod" | "chown" | "stat" | "file"
        | "du" | "df" | "date" | "sleep" | "kill" | "pkill" | "killall" | "ps" | "top" | "wait"
        | "jobs" | "trap" | "basename" | "dirname" | "realpath" | "readlink" | "seq" | "yes"
        | "tar" | "zip" | "unzip" | "gzip" | "ping" | "nc" | "ss" | "lsof" | "id" | "whoami"
        | "uname" | "hostname" | "env" | "xargs" | "pip" | "pip3" | "pipx" | "apt" | "apt-get"
        | "brew" | "yum" | "dnf" | "apk" | "systemctl" | "service" | "gcc" | "g++" | "clang"
        | "clang++" | "cc" | "c++" | "rustc" | "javac" | "kotlinc" | "ghc" | "tsc" | "vue-tsc"
        | "swiftc" | "as" | "ld" | "ar" | "eslint" | "prettier" | "stylelint" | "biome"
        | "mypy" | "pyright" | "ruff" | "flake8" | "black" | "isort" | "pylint" | "bandit"
        | "shellcheck" | "shfmt" | "hadolint" | "rubocop" | "phpstan" | "psalm" | "phpcs"
        | "php-cs-fixer" | "golangci-lint" | "gofmt" | "goimports" | "rustfmt" | "clang-format"
        | "clang-tidy" | "cppcheck" | "ktlint" | "detekt" | "checkstyle" | "credo" | "dialyzer"
        | "slither" | "webpack" | "rollup" | "esbuild" | "vite" | "parcel" | "next" | "nuxt"
        | "pre-commit" | "lefthook" | "husky" | "coverage" | "lcov" | "gcov" | "genhtml"
        | "terraform" | "tofu" | "ansible" | "ansible-playbook" | "helm" | "claude" | "code"
        | "vim" | "nano" | "open" | "psql" | "mysql" | "sqlite3" | "redis-cli" | "mongosh"
        | "ls-lint" | "gdb" | "lldb" | "nm" | "objdump" | "ldd" | "base64" | "md5sum"
        | "sha256sum" | "mktemp" | "flutter" | "dart" | "mix" | "rebar3" | "stack" | "cabal"
        | "dub" | "zig" | "crystal" | "swift" | "xcodebuild" | "deno" | "forge" | "nx"
        | "turbo" | "lerna" | "uv" | "conda" | "bundle" | "gem" | "meson" | "autoreconf"
        | "mvn" | "gradle" | "sbt" | "dotnet" | "msbuild" | "playwright" | "cypress" | "karma"
        | "go" | "gleam" | "dune" | "opam" | "luarocks" => Some(Purpose::Other),
        "configure" if args.len() < 40 => Some(Purpose::Other),
        _ => None,
    }
}

/// Interpreters: the script that they run tells.
fn of_interpreter(name: &str, args: &[&str]) -> Option<Purpose> {
    if !matches!(
        name,
        "python"
            | "node"
            | "ruby"
            | "php"
            | "perl"
            | "lua"
            | "luajit"
            | "bash"
            | "sh"
            | "zsh"
            | "dash"
            | "ksh"
            | "fish"
            | "tsx"
            | "ts-node"
            | "bun"
            | "sbcl"
            | "Rscript"
            | "julia"
            | "java"
            | "groovy"
            | "racket"
            | "guile"
            | "tclsh"
            | "swipl"
            | "emacs"
            | "octave"
            | "escript"
            | "elixir"
            | "erl"
            | "pwsh"
            | "powershell"
            | "nim"
            | "osascript"
            | "scala"
            | "kotlin"
            | "coffee"
            | "babel-node"
            | "esr"
            | "jiti"
            | "wasmtime"
            | "qemu"
            | "R"
            | "clojure"
            | "lein"
            | "ocaml"
            | "runghc"
            | "runhaskell"
            | "stap"
            | "gjs"
            | "raku"
    ) {
        return None;
    }
    let inline = |arg: &&str| {
        matches!(
            *arg,
            "-c" | "-e" | "-p" | "-l" | "-n" | "--eval" | "--check" | "--print" | "-pe" | "-ne"
        )
    };
    let compiles =
        name == "nim" && args.first().is_some_and(|arg| matches!(*arg, "c" | "r" | "cpp"));
    let mut scripts = args.iter().copied().filter(|arg| !arg.starts_with('-'));
    let script = if compiles { scripts.nth(1) } else { scripts.next() };
    let before_script = args.iter().take_while(|arg| Some(**arg) != script);
    let checks_only = before_script.clone().any(|arg| inline(&arg));
    if checks_only && !matches!(name, "java" | "emacs" | "swipl" | "nim" | "sbcl") {
        return Some(Purpose::Other);
    }
    let Some(script) = script else { return Some(Purpose::Other) };
    if name == "nim" {
        let runs = args.iter().any(|arg| matches!(*arg, "-r" | "r" | "--run"));
        let stem = base_name(script);
        let tests = runs && (is_test_file(script) || stem.starts_with('t'));
        return Some(if tests { Purpose::Runs(None) } else { Purpose::Other });
    }
    let at = args.iter().position(|arg| *arg == script).map_or(args.len(), |at| at + 1);
    let rest = args.get(at..).unwrap_or_default();
    Some(of_script(name, script, rest, args))
}

fn of_script(name: &str, script: &str, rest: &[&str], args: &[&str]) -> Purpose {
    // `node node_modules/jest/bin/jest.js`, `php vendor/bin/phpunit`, `ruby bin/rails test`
    let file = base_name(script).trim_end_matches(".js");
    if let Some(row) = row(file, rest) {
        return of_row(row, file, rest);
    }
    let package = script.split_once("node_modules/").map(|(_, inside)| inside);
    if let Some(package) =
        package.and_then(|inside| inside.trim_start_matches(".bin/").split('/').next())
    {
        return row(package, rest).map_or(Purpose::May, |row| of_row(row, package, rest));
    }
    let sub = rest.first().is_some_and(|word| is_test_name(word))
        && matches!(
            file,
            "setup.py"
                | "manage.py"
                | "artisan"
                | "console"
                | "rails"
                | "tasks.py"
                | "Build"
                | "run.py"
                | "dev.py"
        );
    let loaded =
        matches!(name, "java" | "emacs" | "sbcl" | "swipl" | "ruby" | "julia" | "racket" | "guile")
            && args
                .iter()
                .any(|arg| !arg.starts_with('-') && !arg.contains(':') && is_test_file(arg));
    if is_test_file(script) || sub || loaded { Purpose::Runs(None) } else { Purpose::May }
}
