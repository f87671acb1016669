//! Whether the checks are still the same: what defines them was not changed, and no fewer tests ran.

use ralph_base::listing::first_few;
use ralph_project::checks::Check;
use ralph_project::verification::{Finding, Grade};

use crate::run::attempt::Stopped;
use crate::run::attempt::verify::{Texts, Verifier, Work};

/// Files that say what a check does: a word of its command, the files, and what a changed line must contain to
/// matter; nothing means any line.
const DEFINED_BY: &[(&str, &str, &str)] = &[
    (
        "npm",
        "package.json",
        "\"test|\"pretest|\"posttest|\"check|\"lint|\"build|\"jest\"|\"mocha\"|testMatch|testRegex|testPathIgnore|\"ava\"|\"c8\"|\"node --test|\"vitest|jest |mocha ",
    ),
    (
        "yarn",
        "package.json",
        "\"test|\"pretest|\"posttest|\"check|\"lint|\"jest\"|testMatch|testPathIgnore|jest |vitest|mocha ",
    ),
    (
        "pnpm",
        "package.json",
        "\"test|\"pretest|\"posttest|\"check|\"lint|\"jest\"|testMatch|testPathIgnore|jest |vitest|mocha ",
    ),
    ("bun", "package.json", "\"test|\"check"),
    (
        "",
        "jest.config.js jest.config.ts jest.config.mjs jest.config.cjs vitest.config.ts vitest.config.js vitest.config.mts .mocharc.json .mocharc.js .mocharc.yml karma.conf.js ava.config.js",
        "",
    ),
    ("", "pytest.ini tox.ini noxfile.py .coveragerc .rspec phpunit.xml phpunit.xml.dist", ""),
    (
        "pytest",
        "pyproject.toml setup.cfg",
        "pytest|testpaths|addopts|python_files|python_functions|norecursedirs|--ignore|--deselect",
    ),
    ("cargo", "Cargo.toml", "test = false|autotests|[[test]]|harness|doctest"),
    ("cargo", "nextest.toml config.toml", ""),
    ("make", "Makefile makefile GNUmakefile", ""),
    ("just", "justfile Justfile .justfile", ""),
    ("task", "Taskfile.yml Taskfile.yaml", ""),
    ("rake", "Rakefile", ""),
    ("gradle", "build.gradle build.gradle.kts", "test|exclude|filter|ignoreFailures"),
    ("mvn", "pom.xml", "skip|exclude|testFailureIgnore|<include"),
    ("tox", "tox.ini", ""),
];

/// What hides the result of a check, in scripts and settings.
#[rustfmt::skip]
const HIDDEN_BY: [&str; 7] = [
    "|| true", "|| :", "; true", "set +e", "--passWithNoTests", "continue-on-error: true", "ignoreFailures",
];

#[derive(Debug)]
pub(super) struct Definition;

impl Verifier for Definition {
    fn name(&self) -> &'static str {
        "definition"
    }

    fn is_due(&self, work: &Work<'_>) -> bool {
        !work.checks.is_empty()
    }

    fn verify(&self, work: &mut Work<'_>) -> Result<Vec<Finding>, Stopped> {
        let commands: Vec<String> = work.checks.iter().map(|check| check.command.clone()).collect();
        let is_part = |path: &std::path::Path| matters(path) || is_named(&commands, path);
        let texts = work.texts(is_part)?;
        let changed = texts.iter().filter(|one| defines(&commands, one) || hides(one));
        let changed: Vec<&str> = changed.map(|one| one.path.as_str()).collect();
        let mut remarks = Vec::new();
        if !changed.is_empty() {
            remarks.push(format!(
                "the story changed what the checks do, in {}",
                first_few(changed, 5)
            ));
        }
        remarks.extend(work.checks.iter().filter_map(|check| fewer(work, check)));
        if remarks.is_empty() {
            return Ok(Vec::new());
        }
        let about = "the checks changed".to_owned();
        Ok(vec![Finding { about, remarks, ..Finding::new(self.name(), Grade::Remark, "") }])
    }
}

/// Says so if fewer tests ran than when the last story landed.
fn fewer(work: &Work<'_>, check: &Check) -> Option<String> {
    let before = *work.job.tests_before.get(&check.command)?;
    let counts = check.verdict_of(&work.job.context.config)?.counts;
    let now = counts.passed + counts.failed;
    let name = check.name();
    (now < before).then(|| match now {
        0 => format!("`{name}` ran {before} tests before, and now reports none"),
        now => format!("`{name}` ran {before} tests before, and now {now}"),
    })
}

fn name_of(path: &std::path::Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn matters(path: &std::path::Path) -> bool {
    let name = name_of(path);
    let is_known = DEFINED_BY.iter().any(|(_, files, _)| files.split(' ').any(|file| file == name));
    let endings = [".sh", ".yml", ".yaml", ".json", ".toml", ".mk"];
    is_known || endings.iter().any(|ending| name.ends_with(ending))
}

/// Whether a check's command names a file.
fn is_named(commands: &[String], path: &std::path::Path) -> bool {
    let Some(path) = path.to_str() else { return false };
    let is_it = |word: &str| word.trim_matches(['"', '\'']).trim_start_matches("./") == path;
    commands.iter().any(|command| command.split_whitespace().any(is_it))
}

/// Whether a change is one of what a check does; a new file defines nothing that was there.
fn defines(commands: &[String], one: &Texts) -> bool {
    let path = std::path::Path::new(&one.path);
    if one.is_new || ralph_project::strikes::is_test_file(path) {
        return false;
    }
    let is_used = |word: &str| commands.iter().any(|command| command.contains(word));
    let applies = |(word, files, lines): &&(&str, &str, &str)| {
        let is_file = files.split(' ').any(|file| file == name_of(path));
        is_file && is_used(word) && (lines.is_empty() || one.differ(lines))
    };
    is_named(commands, path) || DEFINED_BY.iter().any(|row| applies(&row))
}

/// Whether a change hides results of checks.
fn hides(one: &Texts) -> bool {
    let count = |text: &str| HIDDEN_BY.iter().map(|it| text.matches(it).count()).sum::<usize>();
    count(&one.new) > count(&one.old)
}
