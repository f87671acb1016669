//! Where a test run happens: the directory of each test command on a line.
//!
//! Only the text is read, so links are not followed and no folder is looked for. Paths that a
//! runner is given as what to test (`pytest other/tests`) are not places: it still runs here.

use super::command::{base_name, is_wrapped_in, test_commands};
use crate::sorted;
use shell_reader::{Command, Reach, Script, UNKNOWN};

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/places.rs"));

/// Where one test command of a line runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Where the line itself was started.
    Here,
    /// In this directory: absolute, from the home directory (`~/…`), or relative to where the
    /// line was started. `.` and `..` are resolved as far as the text goes.
    At(String),
    /// Only a run could tell: `cd "$DIR"`, a container, another machine.
    Unknown,
}

/// The places in which the test commands of a line that runs tests run, each once and in the order
/// of the line. `configured` are the user's own test commands, as in
/// [`Run`](super::Run::test_commands).
///
/// ```
/// use shell_reader;
/// use ralph_core::verdict::{Place, places};
///
/// let line = shell_reader::read("cd app && npm test && cargo test --manifest-path ../core/Cargo.toml");
/// assert_eq!(places(&line, &[]), [Place::At("app".into()), Place::At("core".into())]);
/// assert_eq!(places(&shell_reader::read("pytest -q | tail -3"), &[]), [Place::Here]);
/// ```
pub fn places(script: &Script, configured: &[String]) -> Vec<Place> {
    let all = &script.commands;
    if all.iter().all(|command| place_of(command, all) == Place::Here) {
        // As most lines do, whichever of their commands are tests.
        return vec![Place::Here];
    }
    let tests = test_commands(script, configured);
    let mut found = Vec::new();
    for test in &tests {
        // A wrapper works where the command in it does, which is listed as well.
        if tests.iter().any(|inner| is_wrapped_in(inner, test)) {
            continue;
        }
        let place = place_of(test, all);
        if !found.contains(&place) {
            found.push(place);
        }
    }
    found
}

fn place_of(test: &Command, commands: &[Command]) -> Place {
    let start = match &test.directory {
        None => String::new(),
        Some(word) => match word.known() {
            Some(path) if !perhaps_moved(test, commands) => path.to_owned(),
            _ => return Place::Unknown,
        },
    };
    let elsewhere = |reach: &Reach| matches!(reach, Reach::Wrapper(name) if is_elsewhere(name));
    if test.reached.iter().any(elsewhere) {
        return Place::Unknown;
    }
    let wrappers = commands.iter().filter(|outer| is_wrapped_in(test, outer));
    let path = wrappers.chain(std::iter::once(test)).try_fold(start, |path, command| {
        // The last words of a wrapper are the command in it, with options of its own.
        let inner = if std::ptr::eq(command, test) { 0 } else { test.args.len() + 1 };
        let own = command.args.len().saturating_sub(inner);
        let words = command.args.iter().take(own);
        let args: Vec<&str> = words.map(|word| word.known().unwrap_or(UNKNOWN_WORD)).collect();
        after_options(path, command.program.known()?, &args)
    });
    match path.as_deref().map(resolved) {
        None => Place::Unknown,
        Some(path) if path.is_empty() => Place::Here,
        Some(path) => Place::At(path),
    }
}

/// Whether a `cd` before the test may never have run: `if [ -d a ]; then cd a; fi; npm test`.
fn perhaps_moved(test: &Command, commands: &[Command]) -> bool {
    let earlier = commands.iter().take_while(|command| !std::ptr::eq(*command, test));
    let mut moves = earlier.filter(|command| matches!(command.name(), Some("cd" | "pushd")));
    moves.any(|command| {
        let last = command.reached.iter().rposition(|reach| *reach == Reach::Conditional);
        let way = last.and_then(|at| command.reached.get(..=at)).unwrap_or_default();
        !test.reached.starts_with(way)
    })
}

/// What stands for a word that is not known; it holds [`UNKNOWN`].
const UNKNOWN_WORD: &str = "\u{fffc}";

fn is_elsewhere(program: &str) -> bool {
    ELSEWHERE.contains(&program)
}

/// The path after the options of one program; `None` where one of them cannot be known.
fn after_options(start: String, program: &str, args: &[&str]) -> Option<String> {
    let mut name = base_name(program);
    if is_elsewhere(name) {
        return None;
    }
    if let (true, ["-m", module, ..]) = (name == "python", args) {
        name = module;
    }
    let Some(options) = sorted::find(OPTIONS, name) else { return Some(start) };
    let mut path = start;
    let mut words = args.iter().take_while(|arg| **arg != "--");
    while let Some(word) = words.next() {
        let Some(attached) = value_in(word, options) else { continue };
        let value = match attached {
            Some(value) => value,
            None => words.next()?,
        };
        if value.contains(UNKNOWN) {
            return None;
        }
        path = joined(&path, folder_of(value));
    }
    Some(path)
}

/// Whether a word is one of these options, and its value if that is part of the same word.
fn value_in<'w>(word: &'w str, options: &str) -> Option<Option<&'w str>> {
    options.split(' ').find_map(|option| {
        let rest = word.strip_prefix(option)?;
        match rest.strip_prefix('=') {
            Some(value) => Some(Some(value)),
            None if rest.is_empty() => Some(None),
            // `-Cbuild`; but `-parallel` is no `-p` of which `arallel` would be the value.
            None => (option == "-C").then_some(Some(rest)),
        }
    })
}

/// A build file stands for the folder that holds it.
fn folder_of(path: &str) -> &str {
    let (folder, file) = path.rsplit_once('/').unwrap_or((".", path));
    if file.ends_with(".toml") || file.ends_with(".xml") { folder } else { path }
}

fn joined(start: &str, path: &str) -> String {
    if start.is_empty() || path.starts_with(['/', '~']) {
        path.to_owned()
    } else {
        format!("{start}/{path}")
    }
}

/// The path without `.`, and without `..` where the folder to leave is part of it.
fn resolved(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        let can_leave = parts.last().is_some_and(|last| !matches!(*last, ".." | "~"));
        if part == ".." && can_leave {
            parts.pop();
        } else if part != ".." || !path.starts_with('/') {
            parts.push(part);
        }
    }
    let text = parts.join("/");
    if path.starts_with('/') { format!("/{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shell_reader::read;

    /// `.` stands for here, `?` for unknown.
    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let shown = |place: Place| match place {
            Place::Here => ".".to_owned(),
            Place::At(path) => path,
            Place::Unknown => "?".to_owned(),
        };
        let found: Vec<String> = places(&read(line), &[]).into_iter().map(shown).collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn a_run_without_cd_is_here() {
        check("pytest -q", &["."]);
        check("cargo test --workspace 2>&1 | tail -5", &["."]);
        check("(cd /tmp && ls); npm test", &["."]);
        check("cd app && cd .. && npm test", &["."]);
        check("cd ./ && npm test", &["."]);
        check("cd /tmp && ls", &[]);
    }

    #[test]
    fn cd_leads_to_another_place() {
        check("cd /tmp/scratch && pytest", &["/tmp/scratch"]);
        check("cd ../other/./sub && go test ./...", &["../other/sub"]);
        check("(cd web && npx jest) && (cd api && pytest)", &["web", "api"]);
        check("pytest && cd web && npm test", &[".", "web"]);
        check("pushd /srv/x; timeout 60 make test; popd", &["/srv/x"]);
        check("bash -c 'cd /tmp/y && npm test'", &["/tmp/y"]);
        check("cd ~/elsewhere && cargo test", &["~/elsewhere"]);
    }

    #[test]
    fn options_lead_to_another_place() {
        check("npm --prefix web test", &["web"]);
        check("npm test --prefix=web", &["web"]);
        check("pnpm -C /tmp/a test", &["/tmp/a"]);
        check("pnpm --dir a run test", &["a"]);
        check("yarn --cwd web test", &["web"]);
        check("cargo test --manifest-path core/Cargo.toml", &["core"]);
        check("cargo test --manifest-path Cargo.toml", &["."]);
        check("go -C /tmp/m test ./...", &["/tmp/m"]);
        check("cd a && make -C ../b -C c test", &["b/c"]);
        check("make -Cbuild test", &["build"]);
        check("python3 -m pytest --rootdir /tmp/p", &["/tmp/p"]);
        check("mvn -q -f svc/pom.xml test", &["svc"]);
        check("./gradlew -p svc test", &["svc"]);
        check("uv --directory tools run pytest -x", &["tools"]);
        check("uv run --directory tools pytest", &["tools"]);
        check("poetry -C api run pytest --rootdir sub", &["api/sub"]);
        check("env -C /tmp/z npm test", &["/tmp/z"]);
        check("npm test -- --prefix web", &["."]);
    }

    #[test]
    fn what_only_a_run_can_tell_is_unknown() {
        check("cd \"$DIR\" && pytest", &["?"]);
        check("cd \"$(git rev-parse --show-toplevel)/a\" && pytest", &["?"]);
        check("npm --prefix $WEB test", &["?"]);
        check("docker compose exec web pytest", &["?"]);
        check("ssh host 'cd /srv && pytest'", &["?"]);
        check("if [ -d a ]; then cd a; fi; npm test", &["?"]);
    }

    #[test]
    fn a_branch_or_a_loop_is_where_its_own_cd_leads() {
        check("if true; then cd a && npm test; fi", &["a"]);
        check("for d in a b; do (cd $d && npm test); done", &["a", "b"]);
    }

    #[test]
    fn the_users_own_commands_count() {
        let own = ["./verify".to_owned()];
        assert_eq!(places(&read("cd x && ./verify --all"), &own), [Place::At("x".into())]);
    }
}
