//! Virtual environments whose packages are the project's own files.

use camino::{Utf8Path, Utf8PathBuf};
use ralph_core::env::Env;
use serde_json::Value;

use super::{LinkedBack, Sides, Started, is_below, started};

/// Variables that name an environment in use.
const ACTIVE: [&str; 2] = ["VIRTUAL_ENV", "CONDA_PREFIX"];

/// What people call an environment inside a project.
const INSIDE: [&str; 3] = [".venv", "venv", "env"];

/// Programs that work in the environment in use, wherever they are installed themselves.
const USING_ACTIVE: [&str; 3] = ["poetry", "pipenv", "pdm"];

/// Programs that make and use an environment of their own.
const USING_OWN: [&str; 4] = ["uv", "hatch", "nox", "tox"];

/// Environments in use in which the project is installed so that its files are imported in place.
pub(super) fn active(env: &Env, project: &Utf8Path, commands: &[String]) -> Vec<LinkedBack> {
    let named = ACTIVE.iter().filter_map(|name| env.get(name)).map(Utf8PathBuf::from);
    let path = env.get("PATH").unwrap_or_default();
    let of_path = path.split(':').map(Utf8Path::new).filter_map(Utf8Path::parent);
    let of_path = of_path.filter(|folder| folder.join("pyvenv.cfg").is_file());
    let of_user = env.home().map(|home| home.join(".local"));
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for folder in named.chain(of_path.map(Utf8Path::to_owned)).chain(of_user) {
        let real = folder.canonicalize_utf8().unwrap_or(folder);
        if seen.contains(&real) {
            continue;
        }
        if let Some(target) = installed_in_place(&real, project) {
            found.push(told_active(&real, &target, project, commands));
        }
        seen.push(real);
    }
    found
}

fn told_active(
    folder: &Utf8Path,
    target: &Utf8Path,
    project: &Utf8Path,
    commands: &[String],
) -> LinkedBack {
    let user = commands.iter().find(|line| {
        started(line).iter().any(|started| {
            // A module is looked for in the folder of the check first, and that is the copy's.
            let finds_copy = started.runs_module && target == project;
            uses(started, folder) && !finds_copy
        })
    });
    let what = format!("the environment {folder} imports {target}, so not what is in the copy");
    let way_on = "make an environment in the copy with [workspace] setup (`python3 -m venv .venv && \
                  .venv/bin/pip install -e .`) and name it in the checks (`.venv/bin/python -m \
                  pytest`), deactivate this one, or start with --in-place";
    match user {
        Some(line) => LinkedBack {
            message: format!("`{line}` would use the project: {what}; {way_on}"),
            is_certain: true,
        },
        None => LinkedBack::doubt(format!("{what}; {way_on}")),
    }
}

fn uses(started: &Started<'_>, folder: &Utf8Path) -> bool {
    let program = started.program;
    let is_there = !program.contains('/') && folder.join("bin").join(program).is_file();
    (is_there || USING_ACTIVE.contains(&program)) && !USING_OWN.contains(&program)
}

/// Environments in a folder of the copy: brought there, or made by the setup.
pub(super) fn in_copy(sides: Sides<'_>, folder: &Utf8Path, commands: &[String]) -> Vec<LinkedBack> {
    let mut found = Vec::new();
    for name in INSIDE {
        let place = folder.join(name);
        let target = installed_in_place(&place, sides.project)
            .or_else(|| interpreter_in(&place.join("bin"), sides.project));
        let Some(target) = target else { continue };
        let starts = [format!("{name}/bin/"), format!("./{name}/bin/")];
        let is_used = |line: &&String| {
            let programs = started(line);
            programs.iter().any(|used| starts.iter().any(|start| used.program.starts_with(start)))
        };
        let user = commands.iter().find(is_used);
        let what = format!("{name} in the copy leads to {target}, so not to what is in the copy");
        let way_on = format!(
            "take it out of .worktreeinclude and make it with [workspace] setup (`python3 -m venv \
             {name} && {name}/bin/pip install -e .`), or start with --in-place"
        );
        found.push(match user {
            Some(line) => LinkedBack {
                message: format!("`{line}` would use the project: {what}; {way_on}"),
                is_certain: true,
            },
            None => LinkedBack::doubt(format!("{what}; {way_on}")),
        });
    }
    found
}

/// The folder of the project that an environment imports in place.
fn installed_in_place(env: &Utf8Path, project: &Utf8Path) -> Option<Utf8PathBuf> {
    let libraries = env.join("lib").read_dir_utf8().ok()?.flatten();
    let versions = libraries.filter(|folder| folder.file_name().starts_with("python"));
    versions.map(|folder| folder.path().join("site-packages")).find_map(|packages| {
        let entries = packages.read_dir_utf8().ok()?.flatten();
        let mut entries: Vec<Utf8PathBuf> = entries.map(|entry| entry.into_path()).collect();
        // The file that python itself reads says more than the record of the installer.
        entries.sort_by_key(|path| path.extension() == Some("dist-info"));
        entries.iter().find_map(|entry| target_of(entry, project))
    })
}

fn target_of(entry: &Utf8Path, project: &Utf8Path) -> Option<Utf8PathBuf> {
    let name = entry.file_name()?;
    let text = |path: &Utf8Path| fs_err::read_to_string(path).ok();
    match entry.extension()? {
        "pth" | "egg-link" => {
            let text = text(entry)?;
            let mut lines = text.lines().map(|line| Utf8Path::new(line.trim()));
            lines.find(|line| line.is_absolute() && is_below(line, project)).map(Utf8Path::to_owned)
        }
        "py" if name.starts_with("__editable__") => {
            let text = text(entry)?;
            let mut quoted = text.split(['\'', '"']).map(Utf8Path::new);
            quoted.find(|path| path.is_absolute() && path.starts_with(project)).map(Into::into)
        }
        "dist-info" => {
            let record: Value =
                serde_json::from_str(&text(&entry.join("direct_url.json"))?).ok()?;
            let is_editable = record.get("dir_info")?.get("editable")?.as_bool()?;
            let url = record.get("url")?.as_str()?.strip_prefix("file://")?;
            let path = Utf8PathBuf::from(url.replace("%20", " "));
            (is_editable && is_below(&path, project)).then_some(path)
        }
        _ => None,
    }
}

/// The interpreter that scripts of a copied environment name, if it is the project's.
fn interpreter_in(bin: &Utf8Path, project: &Utf8Path) -> Option<Utf8PathBuf> {
    bin.read_dir_utf8().ok()?.flatten().find_map(|entry| {
        let start = start_of(entry.path())?;
        let line = start.strip_prefix("#!")?.lines().next()?;
        let program = Utf8Path::new(line.split_whitespace().next()?);
        program.starts_with(project).then(|| program.to_owned())
    })
}

/// The beginning of a file, so that no large program is read as a whole.
fn start_of(path: &Utf8Path) -> Option<String> {
    use std::io::Read;
    let mut start = Vec::new();
    fs_err::File::open(path).ok()?.take(512).read_to_end(&mut start).ok()?;
    Some(String::from_utf8_lossy(&start).into_owned())
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    /// A project, and an environment beside it with one file in its packages.
    fn stage(file: &str, text: &str) -> (Scratch, Utf8PathBuf, Utf8PathBuf) {
        let scratch = Scratch::new();
        let (project, env) = (scratch.dir("app"), scratch.path("env"));
        scratch.dir("app/src");
        let text = text.replace("{app}", project.as_str());
        scratch.file(&format!("env/lib/python3.11/site-packages/{file}"), &text);
        scratch.file("env/bin/pytest", "");
        scratch.file("env/bin/python", "");
        (scratch, project, env)
    }

    fn look(project: &Utf8Path, env: &Utf8Path, command: &str) -> Vec<LinkedBack> {
        let env = Env::of([("VIRTUAL_ENV", env.as_str()), ("PATH", "/usr/bin")]);
        active(&env, project, &[command.to_owned()])
    }

    #[test]
    fn every_form_of_an_editable_install_is_found() {
        for (file, text) in [
            ("app.pth", "# x\n{app}/src\n"),
            ("__editable__.app-1.0.pth", "{app}/src"),
            ("__editable___app_finder.py", "MAPPING = {'app': '{app}/src/app'}\n"),
            ("app.egg-link", "{app}/src\n.\n"),
            (
                "app-1.dist-info/direct_url.json",
                r#"{"url":"file://{app}","dir_info":{"editable":true}}"#,
            ),
        ] {
            let (_scratch, project, env) = stage(file, text);
            let found = look(&project, &env, "pytest -q");
            assert!(matches!(&found[..], [one] if one.is_certain), "{file}: {found:?}");
        }
    }

    #[test]
    fn what_leads_elsewhere_is_left_alone() {
        for (file, text) in [
            ("app.pth", "/srv/other\nimport site\n"),
            ("distutils-precedence.pth", "import os; x = '{app}'\n"),
            ("app-1.dist-info/direct_url.json", r#"{"url":"file://{app}","dir_info":{}}"#),
            ("app.py", "'{app}'"),
        ] {
            let (_scratch, project, env) = stage(file, text);
            assert_eq!(look(&project, &env, "pytest"), [], "{file}");
        }
    }

    #[test]
    fn only_a_check_that_uses_the_environment_makes_it_certain() {
        for (target, command, expected) in [
            ("{app}/src", "pytest", true),
            ("{app}/src", "cd x && python -m pytest", true),
            ("{app}", "python -m pytest", false),
            ("{app}", "pytest", true),
            ("{app}/src", "poetry run pytest", true),
            ("{app}/src", "uv run pytest", false),
            ("{app}/src", ".venv/bin/python -m pytest", false),
            ("{app}/src", "npm test", false),
        ] {
            let (_scratch, project, env) = stage("app.pth", target);
            let found = look(&project, &env, command);
            assert_eq!(found[0].is_certain, expected, "{target} {command}: {found:?}");
        }
    }

    #[test]
    fn an_environment_that_was_copied_is_found_by_its_scripts() {
        let scratch = Scratch::new();
        let (project, copy) = (scratch.dir("app"), scratch.dir("copy"));
        let sides = Sides { project: &project, copy: &copy };
        let interpreter = project.join(".venv/bin/python");
        scratch.file("copy/.venv/bin/pytest", format!("#!{interpreter}\n"));
        let look = |command: &str| in_copy(sides, &copy, &[command.to_owned()]);
        assert!(look("./.venv/bin/pytest -q")[0].is_certain);
        assert!(!look("uv run pytest")[0].is_certain);
        scratch.file("copy/.venv/bin/pytest", "#!/usr/bin/python3\n");
        assert_eq!(look(".venv/bin/pytest"), []);
    }
}
