//! Variables by which programs find code, where they name folders of the project.

use camino::Utf8Path;
use ralph_core::env::Env;

use super::{LinkedBack, started};

/// Where python looks for modules, before anything that is installed.
const PYTHON: &str = "PYTHONPATH";

/// Variables with a path or several, by which code and programs are found.
const SEARCHED: [&str; 12] = [
    PYTHON,
    "BUNDLE_GEMFILE",
    "CARGO_TARGET_DIR",
    "CLASSPATH",
    "GOPATH",
    "GOWORK",
    "LD_LIBRARY_PATH",
    "NODE_PATH",
    "PATH",
    "PERL5LIB",
    "RUBYLIB",
    "UV_PROJECT_ENVIRONMENT",
];

pub(super) fn look(env: &Env, project: &Utf8Path, commands: &[String]) -> Vec<LinkedBack> {
    let mut found = Vec::new();
    for name in SEARCHED {
        let value = env.get(name).unwrap_or_default();
        let mut folders = value.split(':').map(Utf8Path::new);
        let Some(folder) = folders.find(|folder| folder.starts_with(project)) else { continue };
        let below = folder.strip_prefix(project).unwrap_or(folder);
        let what = format!("{name} names {folder}, so not what is in the copy");
        let relative = if below.as_str().is_empty() { Utf8Path::new(".") } else { below };
        let way_on =
            format!("name it from the project ({relative}), unset it, or start with --in-place");
        let is_python = |line: &&String| {
            started(line).iter().any(|started| {
                let finds_copy = started.runs_module && below.as_str().is_empty();
                let name = Utf8Path::new(started.program).file_name().unwrap_or_default();
                name.starts_with("py") && !finds_copy
            })
        };
        found.push(match commands.iter().find(is_python).filter(|_| name == PYTHON) {
            Some(line) => LinkedBack {
                message: format!("`{line}` would use the project: {what}; {way_on}"),
                is_certain: true,
            },
            None => LinkedBack::doubt(format!("{what}; {way_on}")),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_name_the_project_are_found() {
        let project = Utf8Path::new("/srv/app");
        for (name, value, expected) in [
            ("PYTHONPATH", "/x:/srv/app/src", Some(true)),
            ("PYTHONPATH", "/srv/app", Some(false)),
            ("PYTHONPATH", "src:/srv/application", None),
            ("PATH", "/usr/bin:/srv/app/node_modules/.bin", Some(false)),
            ("GOWORK", "/srv/app/go.work", Some(false)),
            ("EDITOR", "/srv/app/edit", None),
        ] {
            let found = look(&Env::of([(name, value)]), project, &["python -m pytest".to_owned()]);
            let certain = found.first().map(|found| found.is_certain);
            assert_eq!(certain, expected, "{name}={value}: {found:?}");
        }
    }
}
