//! The commands that make a copy of a project ready, by the lock files and manifests that are there.

use camino::Utf8Path;

/// What installs the packages of a project.
pub(super) fn detect(root: &Utf8Path) -> Vec<String> {
    let has = |name: &str| root.join(name).is_file();
    let mut commands: Vec<String> = Vec::new();
    commands.extend(javascript(root));
    commands.extend(python(root).map(|python| python.setup));
    let others = [
        ("Gemfile", "bundle install"),
        ("composer.json", "composer install"),
        ("go.mod", "go mod download"),
        ("mix.exs", "mix deps.get"),
    ];
    let others = others.into_iter().filter(|(file, _)| has(file));
    commands.extend(others.map(|(_, command)| command.to_owned()));
    commands
}

fn javascript(root: &Utf8Path) -> Option<String> {
    let has = |name: &str| root.join(name).is_file();
    let text = fs_err::read_to_string(root.join("package.json")).ok()?;
    let command = if has("pnpm-lock.yaml") {
        "pnpm install --frozen-lockfile"
    } else if has("yarn.lock") && has(".yarnrc.yml") {
        "yarn install --immutable"
    } else if has("yarn.lock") {
        "yarn install --frozen-lockfile"
    } else if has("bun.lock") || has("bun.lockb") {
        "bun install --frozen-lockfile"
    } else if has("package-lock.json") || has("npm-shrinkwrap.json") {
        "npm ci"
    } else if text.contains("ependencies\"") {
        // Nothing that git would take for a story's work.
        "npm install --no-package-lock"
    } else {
        return None;
    };
    Some(command.to_owned())
}

/// How a Python project is made ready and tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Python {
    pub(super) setup: String,
    pub(super) check: &'static str,
}

/// Names that people give to what only the tests need.
const EXTRAS: [&str; 4] = ["test", "tests", "testing", "dev"];

pub(super) fn python(root: &Utf8Path) -> Option<Python> {
    let read = |name: &str| fs_err::read_to_string(root.join(name)).unwrap_or_default();
    let has = |name: &str| root.join(name).is_file();
    if has("uv.lock") {
        return Some(Python { setup: "uv sync".to_owned(), check: "uv run pytest" });
    }
    if has("poetry.lock") {
        let setup = "poetry install".to_owned();
        return Some(Python { setup, check: "poetry run pytest" });
    }
    let project = read("pyproject.toml");
    let is_package = has("setup.py") || project.contains("[project]");
    let mut wanted: Vec<String> = Vec::new();
    let mut texts = project.clone();
    for file in ["requirements.txt", "requirements-dev.txt", "requirements-test.txt"] {
        if has(file) {
            wanted.push(format!("-r {file}"));
            texts.push_str(&read(file));
        }
    }
    if is_package {
        wanted.push(match extra(&project) {
            Some(extra) => format!("-e '.[{extra}]'"),
            None => "-e .".to_owned(),
        });
    }
    if wanted.is_empty() {
        return None;
    }
    if !texts.contains("pytest") {
        wanted.push("pytest".to_owned());
    }
    // Older versions of venv do not hide the folder from git themselves.
    let setup = format!(
        "python3 -m venv .venv && echo '*' > .venv/.gitignore && .venv/bin/pip install {}",
        wanted.join(" ")
    );
    Some(Python { setup, check: ".venv/bin/python -m pytest" })
}

/// The optional dependencies that the tests need, by their usual names.
fn extra(project: &str) -> Option<&'static str> {
    let (_, rest) = project.split_once("optional-dependencies")?;
    let section = rest.split("\n[").next()?;
    let keys: Vec<&str> = section
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(key, _)| key.trim_matches(['.', ' ']))
        .collect();
    EXTRAS.into_iter().find(|extra| keys.contains(extra))
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let scratch = Scratch::new();
        for (name, text) in files {
            scratch.file(name, text);
        }
        assert_eq!(detect(scratch.root()), expected, "{files:?}");
    }

    #[test]
    fn packages_are_installed_as_the_lock_file_says() {
        let package = ("package.json", r#"{"devDependencies":{"vitest":"1"}}"#);
        check(&[package, ("package-lock.json", "")], &["npm ci"]);
        check(&[package, ("pnpm-lock.yaml", "")], &["pnpm install --frozen-lockfile"]);
        check(&[package, ("yarn.lock", "")], &["yarn install --frozen-lockfile"]);
        let berry = [package, ("yarn.lock", ""), (".yarnrc.yml", "")];
        check(&berry, &["yarn install --immutable"]);
        check(&[package, ("bun.lockb", "")], &["bun install --frozen-lockfile"]);
        check(&[package], &["npm install --no-package-lock"]);
        check(&[("package.json", "{}")], &[]);
        check(&[("Gemfile", ""), ("Gemfile.lock", "")], &["bundle install"]);
        check(&[("composer.json", "{}")], &["composer install"]);
        check(&[("go.mod", "")], &["go mod download"]);
        check(&[("mix.exs", "")], &["mix deps.get"]);
        check(&[("Cargo.toml", ""), ("Cargo.lock", "")], &[]);
        check(&[("pom.xml", "")], &[]);
    }

    #[test]
    fn a_python_project_gets_an_environment_of_its_own() {
        check(&[("pyproject.toml", "[project]"), ("uv.lock", "")], &["uv sync"]);
        check(&[("pyproject.toml", ""), ("poetry.lock", "")], &["poetry install"]);
        let venv = |wanted: &str| {
            format!(
                "python3 -m venv .venv && echo '*' > .venv/.gitignore && .venv/bin/pip install \
                 {wanted}"
            )
        };
        check(&[("requirements.txt", "pytest==8\n")], &[&venv("-r requirements.txt")]);
        check(&[("setup.py", "")], &[&venv("-e . pytest")]);
        let project = "[project]\nname = 'x'\n[project.optional-dependencies]\nlint = []\n\
                       test = ['pytest']\n[tool.x]\ndev = 1\n";
        check(&[("pyproject.toml", project)], &[&venv("-e '.[test]'")]);
        let dotted = "[project]\noptional-dependencies.tests = ['pytest']\n";
        check(&[("pyproject.toml", dotted)], &[&venv("-e '.[tests]'")]);
        check(&[("pyproject.toml", "[tool.ruff]\n")], &[]);
    }
}
