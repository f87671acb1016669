//! `ralph-loop init`: a config with the right checks, an example plan and lifecycle templates.
//! Nothing that exists is overwritten.

mod setup;

use std::os::unix::fs::PermissionsExt;

use camino::Utf8Path;
use clap::Command;
use ralph_core::env::Env;
use ralph_core::state::{self, StateDir};

use crate::exit::{Failure, Success};
use crate::here;
use crate::terminal::say;

const PLAN: &str = "\
# Plan

### US-001: Say what is to be done in one line

- [ ] What a person would see when it is done
  - Where: the files concerned
  - Acceptance: how one can tell

### US-002: The next story (depends: US-001)

- [ ] …
";

/// One row for each kind of project: a file that gives it away, what it is, and its checks.
const PROJECTS: [(&str, &str, &[&str]); 18] = [
    ("Cargo.toml", "cargo", &["cargo test"]),
    ("pnpm-lock.yaml", "pnpm", &["pnpm test"]),
    ("yarn.lock", "yarn", &["yarn test"]),
    ("bun.lock", "bun", &["bun run test"]),
    ("bun.lockb", "bun", &["bun run test"]),
    ("package.json", "npm", &["npm test"]),
    // How these are checked depends on what installs them.
    ("pyproject.toml", "python", &[]),
    ("setup.py", "python", &[]),
    ("requirements.txt", "python", &[]),
    ("go.mod", "go", &["go vet ./...", "go test ./..."]),
    ("pom.xml", "maven", &["mvn --batch-mode test"]),
    ("build.gradle", "gradle", &["./gradlew test"]),
    ("build.gradle.kts", "gradle", &["./gradlew test"]),
    ("Gemfile", "ruby", &["bundle exec rake test"]),
    ("mix.exs", "elixir", &["mix test"]),
    ("composer.json", "php", &["composer test"]),
    ("justfile", "just", &["just test"]),
    ("Makefile", "make", &["make test"]),
];

/// The lifecycle scripts and what they are told.
const SCRIPTS: [(&str, &str); 4] = [
    ("started", "Runs once, before the first iteration: RALPH_PLAN_FILE, RALPH_SPEC_DIR."),
    (
        "next_iteration",
        "Runs before each iteration: RALPH_ITERATION, RALPH_LAST_EXIT_CODE, RALPH_LAST_DURATION, \
         RALPH_COMMITS_MADE. Exit 1 skips the iteration.",
    ),
    (
        "post_iteration",
        "Runs after each iteration: RALPH_STORY, RALPH_EXIT_CODE, RALPH_DURATION, RALPH_OUTCOME.",
    ),
    (
        "finished",
        "Runs once, at the end: RALPH_FINISH_TYPE, RALPH_TOTAL_ITERATIONS, RALPH_TOTAL_COMMITS, \
         RALPH_DURATION.",
    ),
];

/// A program of the user's own that scripts may call.
const NOTIFY: &str = "\
#!/bin/sh
# A program of your own: every lifecycle script can call it by its name, `notify \"some text\"`.
# Put more of them beside it; the loop itself never runs them.
echo \"$*\"
";

/// The subcommand.
pub(crate) fn command() -> Command {
    Command::new("init").about(
        "Make a project ready: config, example plan, lifecycle templates; overwrites nothing",
    )
}

/// Does it.
pub(crate) fn run(env: &Env) -> Result<Success, Failure> {
    let project = here::project(env)?;
    let root = project.root();
    let state = project.own_state();
    state.prepare()?;
    let (kind, checks) = detect(root);
    let setup = setup::detect(root);
    say(match kind {
        Some(kind) => format!("The kind of project is {kind}."),
        None => {
            "The kind of project was not recognised; set [verify] commands yourself.".to_owned()
        }
    });
    write_new(&state.config(), &config(&checks, &setup), false)?;
    let find = || Ok::<_, Failure>(here::plan(&project, env, &here::config(&project, env, &[])?));
    if find()?.is_err() && state.prd_numbers().is_empty() {
        write_new(&state.plan(1), PLAN, false)?;
    }
    let plan = match find()? {
        Ok(plan) => plan.path().to_owned(),
        Err(_) => state.plan(state.prd_numbers().first().copied().unwrap_or(1)),
    };
    for (name, about) in SCRIPTS {
        let text = format!(
            "#!/bin/sh\n# {about}\n# Also: RALPH_MODE, RALPH_MAX_ITERATIONS, RALPH_PROJECT_DIR, \
             RALPH_LOG_DIR, RALPH_STARTED_AT.\n# Exit 0: go on; 2: stop the loop; anything else: \
             a warning.\n# Programs in custom/ are called by their names: notify \"hello from \
             {name}\"\nexit 0\n"
        );
        write_new(&state.lifecycle().join(name), &text, true)?;
    }
    let custom = StateDir::custom_programs(&state.lifecycle());
    write_new(&custom.join("notify"), NOTIFY, true)?;
    say(format!("\nNext:\n  write your stories into {}, and commit", here::shown(&plan)));
    say("  ralph-loop doctor            # is everything in place?");
    say("  ralph-loop --dry-run         # what would be done?");
    say("  ralph-loop                   # go");
    Ok(Success::Done)
}

/// What kind of project it is, and how it is checked.
fn detect(root: &Utf8Path) -> (Option<&'static str>, Vec<&'static str>) {
    for (file, kind, checks) in PROJECTS {
        if root.join(file).is_file() && is_usable(root, kind, file) {
            if kind == "python" {
                let check = setup::python(root).map_or("python3 -m pytest", |python| python.check);
                return (Some(kind), vec![check]);
            }
            return (Some(kind), checks.to_vec());
        }
    }
    let dotnet = |name: &str| name.ends_with(".sln") || name.ends_with(".csproj");
    let entries = fs_err::read_dir(root).into_iter().flatten().flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    if names.any(|name| dotnet(&name)) {
        return (Some("dotnet"), vec!["dotnet test"]);
    }
    (None, Vec::new())
}

/// A runner that has no task called `test` cannot check anything.
fn is_usable(root: &Utf8Path, kind: &str, file: &str) -> bool {
    let has = |file: &str, word: &str| {
        fs_err::read_to_string(root.join(file)).is_ok_and(|text| text.contains(word))
    };
    match kind {
        // What `npm init` writes always fails.
        "npm" | "pnpm" | "yarn" | "bun" => {
            has("package.json", "\"test\"") && !has("package.json", "no test specified")
        }
        "make" | "just" => {
            let text = fs_err::read_to_string(root.join(file)).unwrap_or_default();
            text.lines().any(|line| line.starts_with("test") && line.contains(':'))
        }
        _ => true,
    }
}

fn config(checks: &[&str], setup: &[String]) -> String {
    let checks: Vec<String> = checks.iter().map(|check| format!("{check:?}")).collect();
    let setup: Vec<String> = setup.iter().map(|command| format!("{command:?}")).collect();
    format!(
        "# All settings are optional; docs/configuration.md lists them.\n\n[verify]\n\
         # A story is done only when all of these succeed.\ncommands = [{}]\n\n[workspace]\n\
         # What makes a new copy of the project ready; run again when a lock file changed.\n\
         setup = [{}]\n",
        checks.join(", "),
        setup.join(", ")
    )
}

fn write_new(path: &Utf8Path, text: &str, executable: bool) -> Result<(), Failure> {
    if path.symlink_metadata().is_ok() {
        say(format!("kept     {}", here::shown(path)));
        return Ok(());
    }
    state::replace(path, text.as_bytes())?;
    if executable {
        fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    }
    say(format!("written  {}", here::shown(path)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    fn check(files: &[(&str, &str)], kind: Option<&str>, first: &str) {
        let scratch = Scratch::new();
        for (name, text) in files {
            scratch.file(name, text);
        }
        let (found, checks) = detect(scratch.root());
        assert_eq!(
            (found, checks.first().copied().unwrap_or_default()),
            (kind, first),
            "{files:?}"
        );
    }

    #[test]
    fn projects_are_recognised_by_their_files() {
        let package = ("package.json", r#"{"scripts":{"test":"vitest"}}"#);
        check(&[("Cargo.toml", "")], Some("cargo"), "cargo test");
        check(&[package], Some("npm"), "npm test");
        check(&[package, ("pnpm-lock.yaml", "")], Some("pnpm"), "pnpm test");
        check(&[package, ("yarn.lock", "")], Some("yarn"), "yarn test");
        let untested = r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#;
        check(&[("package.json", untested)], None, "");
        check(&[("package.json", "{}"), ("Makefile", "test: all\n")], Some("make"), "make test");
        check(&[("pyproject.toml", "")], Some("python"), "python3 -m pytest");
        let project = ("pyproject.toml", "[project]\n");
        check(&[project], Some("python"), ".venv/bin/python -m pytest");
        check(&[project, ("uv.lock", "")], Some("python"), "uv run pytest");
        check(&[("go.mod", "")], Some("go"), "go vet ./...");
        check(&[("pom.xml", "")], Some("maven"), "mvn --batch-mode test");
        check(&[("build.gradle.kts", "")], Some("gradle"), "./gradlew test");
        check(&[("app.csproj", "")], Some("dotnet"), "dotnet test");
        check(&[("Gemfile", "")], Some("ruby"), "bundle exec rake test");
        check(&[("mix.exs", "")], Some("elixir"), "mix test");
        check(&[("composer.json", "")], Some("php"), "composer test");
        check(&[("justfile", "test:\n")], Some("just"), "just test");
        check(&[("README.md", "")], None, "");
    }

    #[test]
    fn the_config_that_is_written_can_be_read() {
        let text = config(&["cargo test", "echo \"hi\" \\ x"], &["npm ci".to_owned()]);
        let env = Env::of([("", "")]);
        let read = ralph_core::config::Config::from_parts("c", &text, &env, &[]).unwrap();
        assert_eq!(read.verify.commands, ["cargo test", "echo \"hi\" \\ x"]);
        assert_eq!(read.workspace.setup, ["npm ci"]);
    }
}
