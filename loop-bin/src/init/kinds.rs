//! What kind of project it is, by its lock files and manifests: the commands that make a copy of it
//! ready, and those that check it.

use camino::Utf8Path;

/// A file that gives a kind of project away, what it is, what installs its packages, and its checks.
type Row = (&'static str, &'static str, &'static str, &'static [&'static str]);

/// The surest of each kind first.
const KINDS: [Row; 25] = [
    ("Cargo.toml", "cargo", "", &["cargo test"]),
    ("pnpm-lock.yaml", "javascript", "pnpm install --frozen-lockfile", &["pnpm test"]),
    (".yarnrc.yml", "javascript", "yarn install --immutable", &["yarn test"]),
    ("yarn.lock", "javascript", "yarn install --frozen-lockfile", &["yarn test"]),
    ("bun.lock", "javascript", "bun install --frozen-lockfile", &["bun run test"]),
    ("bun.lockb", "javascript", "bun install --frozen-lockfile", &["bun run test"]),
    ("package-lock.json", "javascript", "npm ci", &["npm test"]),
    ("npm-shrinkwrap.json", "javascript", "npm ci", &["npm test"]),
    // Nothing that git would take for a story's work.
    ("package.json", "javascript", "npm install --no-package-lock", &["npm test"]),
    ("uv.lock", "python", "uv sync", &["uv run pytest"]),
    ("poetry.lock", "python", "poetry install", &["poetry run pytest"]),
    // What these need depends on what they say.
    ("pyproject.toml", "python", "", &["python3 -m pytest"]),
    ("setup.py", "python", "", &["python3 -m pytest"]),
    ("requirements.txt", "python", "", &["python3 -m pytest"]),
    ("go.mod", "go", "go mod download", &["go vet ./...", "go test ./..."]),
    ("pom.xml", "maven", "", &["mvn --batch-mode test"]),
    ("build.gradle", "gradle", "", &["./gradlew test"]),
    ("build.gradle.kts", "gradle", "", &["./gradlew test"]),
    ("Gemfile", "ruby", "bundle install", &["bundle exec rake test"]),
    ("mix.exs", "elixir", "mix deps.get", &["mix test"]),
    ("composer.json", "php", "composer install", &["composer test"]),
    ("*.sln", "dotnet", "", &["dotnet test"]),
    ("*.csproj", "dotnet", "", &["dotnet test"]),
    ("justfile", "just", "", &["just test"]),
    ("Makefile", "make", "", &["make test"]),
];

/// The rows whose file is there.
fn rows(root: &Utf8Path) -> impl Iterator<Item = &'static Row> {
    let entries = root.read_dir_utf8().into_iter().flatten().flatten();
    let names: Vec<String> = entries.map(|entry| entry.file_name().to_owned()).collect();
    KINDS.iter().filter(move |(file, ..)| match file.strip_prefix('*') {
        Some(end) => names.iter().any(|name| name.ends_with(end)),
        None => names.iter().any(|name| name == file),
    })
}

/// What kind of project it is, and how it is checked.
pub(super) fn checks(root: &Utf8Path) -> (Option<&'static str>, Vec<String>) {
    let Some((_, kind, setup, checks)) = rows(root).find(|row| can_test(root, row)) else {
        return (None, Vec::new());
    };
    if *kind == "python" && setup.is_empty() && !environment(root).is_empty() {
        return (Some(kind), vec![".venv/bin/python -m pytest".to_owned()]);
    }
    (Some(kind), checks.iter().map(|&check| check.to_owned()).collect())
}

/// A runner that has no task called `test` cannot check anything.
fn can_test(root: &Utf8Path, (file, kind, ..): &Row) -> bool {
    let text = |file: &str| fs_err::read_to_string(root.join(file)).unwrap_or_default();
    match *kind {
        "javascript" => {
            let package = text("package.json");
            // What `npm init` writes always fails.
            package.contains("\"test\"") && !package.contains("no test specified")
        }
        "make" | "just" => {
            text(file).lines().any(|line| line.starts_with("test") && line.contains(':'))
        }
        _ => true,
    }
}

/// What installs the packages of a project, of each kind that it is.
pub(super) fn setup(root: &Utf8Path) -> Vec<String> {
    let (mut kinds, mut commands) = (Vec::new(), Vec::new());
    for (file, kind, setup, _) in rows(root) {
        if kinds.contains(kind) {
            continue;
        }
        kinds.push(kind);
        let needs_none = *file == "package.json"
            && fs_err::read_to_string(root.join(file)).is_ok_and(|t| !t.contains("ependencies\""));
        if *kind == "python" && setup.is_empty() {
            commands.push(environment(root));
        } else if !needs_none {
            commands.push((*setup).to_owned());
        }
    }
    commands.retain(|command| !command.is_empty());
    commands
}

/// What makes an environment for a Python project that no tool has locked; empty if it needs none.
fn environment(root: &Utf8Path) -> String {
    let has = |name: &str| root.join(name).is_file();
    let project = fs_err::read_to_string(root.join("pyproject.toml")).unwrap_or_default();
    let files = ["requirements.txt", "requirements-dev.txt", "requirements-test.txt"];
    let files = files.into_iter().filter(|file| has(file));
    let mut wanted: Vec<String> = files.map(|file| format!("-r {file}")).collect();
    if has("setup.py") || project.contains("[project]") {
        wanted.push("-e .".to_owned());
    }
    if wanted.is_empty() {
        return String::new();
    }
    // Older versions of venv do not hide the folder from git themselves.
    let wanted = wanted.join(" ");
    format!(
        "python3 -m venv .venv && echo '*' > .venv/.gitignore && .venv/bin/pip install {wanted} \
         pytest"
    )
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
        let (found, checks) = checks(scratch.root());
        assert_eq!(
            (found, checks.first().map(String::as_str).unwrap_or_default()),
            (kind, first),
            "{files:?}"
        );
    }

    #[test]
    fn projects_are_recognised_by_their_files() {
        let package = ("package.json", r#"{"scripts":{"test":"vitest"}}"#);
        check(&[("Cargo.toml", "")], Some("cargo"), "cargo test");
        check(&[package], Some("javascript"), "npm test");
        check(&[package, ("pnpm-lock.yaml", "")], Some("javascript"), "pnpm test");
        check(&[package, ("yarn.lock", "")], Some("javascript"), "yarn test");
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

    #[track_caller]
    fn check_setup(files: &[(&str, &str)], expected: &[&str]) {
        let scratch = Scratch::new();
        for (name, text) in files {
            scratch.file(name, text);
        }
        assert_eq!(setup(scratch.root()), expected, "{files:?}");
    }

    #[test]
    fn packages_are_installed_as_the_lock_file_says() {
        let package = ("package.json", r#"{"devDependencies":{"vitest":"1"}}"#);
        check_setup(&[package, ("package-lock.json", "")], &["npm ci"]);
        check_setup(&[package, ("pnpm-lock.yaml", "")], &["pnpm install --frozen-lockfile"]);
        check_setup(&[package, ("yarn.lock", "")], &["yarn install --frozen-lockfile"]);
        let berry = [package, ("yarn.lock", ""), (".yarnrc.yml", "")];
        check_setup(&berry, &["yarn install --immutable"]);
        check_setup(&[package, ("bun.lockb", "")], &["bun install --frozen-lockfile"]);
        check_setup(&[package], &["npm install --no-package-lock"]);
        check_setup(&[("package.json", "{}")], &[]);
        check_setup(&[("Gemfile", ""), ("Gemfile.lock", "")], &["bundle install"]);
        check_setup(&[("composer.json", "{}")], &["composer install"]);
        check_setup(&[("go.mod", "")], &["go mod download"]);
        check_setup(&[("mix.exs", "")], &["mix deps.get"]);
        check_setup(&[("Cargo.toml", ""), ("Cargo.lock", "")], &[]);
        check_setup(&[("pom.xml", "")], &[]);
    }

    #[test]
    fn a_python_project_gets_an_environment_of_its_own() {
        check_setup(&[("pyproject.toml", "[project]"), ("uv.lock", "")], &["uv sync"]);
        check_setup(&[("pyproject.toml", ""), ("poetry.lock", "")], &["poetry install"]);
        let venv = |wanted: &str| {
            format!(
                "python3 -m venv .venv && echo '*' > .venv/.gitignore && .venv/bin/pip install \
                 {wanted}"
            )
        };
        check_setup(&[("requirements.txt", "x\n")], &[&venv("-r requirements.txt pytest")]);
        check_setup(&[("setup.py", "")], &[&venv("-e . pytest")]);
        check_setup(&[("pyproject.toml", "[tool.ruff]\n")], &[]);
    }
}
