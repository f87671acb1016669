//! What would make agent and checks use the project instead of the copy. Only reported: nothing
//! here changes anything or runs a program of the project.
//!
//! One rule: a variable, a link or a small file that tools follow must not point into the project's
//! folder.

use std::collections::BTreeSet;
use std::io::Read;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_base::listing::first_few;
use ralph_base::state::open_regular;

use super::Workspace;
use ralph_project::diagnosis::Diagnosis;

/// Variables that contain paths by which code and programs are found.
const VARIABLES: &str = "\
    BUNDLE_GEMFILE CARGO_TARGET_DIR CLASSPATH GOPATH GOWORK LD_LIBRARY_PATH NODE_PATH PATH PERL5LIB \
    PYTHONPATH RUBYLIB UV_PROJECT_ENVIRONMENT";

/// Files and folders that are often ignored by git, carried into the copy, and may point back.
const BROUGHT: [&str; 6] =
    [".venv", "venv", "env", "node_modules", "go.work", ".cargo/config.toml"];

/// How much of a file is read; files that point elsewhere are shorter.
const LOOKED_INTO: u64 = 64 * 1024;

/// Returns what in the environment points back to the project. This is checked before there is a
/// copy, and before a setup could install into the user's own environment.
pub fn linked_by_environment(copy: &Workspace, env: &Env, commands: &[String]) -> Vec<Diagnosis> {
    if copy.is_in_place {
        return Vec::new();
    }
    let project = &copy.source.top;
    let mut found = Vec::new();
    for name in VARIABLES.split(' ') {
        let value = env.get(name).unwrap_or_default();
        if value.split(':').any(|path| Utf8Path::new(path).starts_with(project)) {
            let is_used = |program: &str| name == "PYTHONPATH" && program.starts_with("py");
            found.push(finding(&format!("the variable {name}"), user(commands, is_used)));
        }
    }
    let path = env.get("PATH").unwrap_or_default();
    let folders = path.split(':').filter_map(|bin| Utf8Path::new(bin).parent());
    let folders = folders.filter(|folder| {
        ["pyvenv.cfg", "conda-meta"].iter().any(|mark| folder.join(mark).exists())
    });
    let of_user = env.home().map(|home| home.join(".local"));
    let folders = folders.map(Utf8Path::to_owned).chain(of_user);
    let folders = folders.filter_map(|folder| folder.canonicalize_utf8().ok());
    for folder in folders.collect::<BTreeSet<_>>() {
        if let Some(file) = packages(&folder).find(|file| leads_into(file, project)) {
            let is_used = |program: &str| {
                !program.contains('/') && folder.join("bin").join(program).is_file()
            };
            found.push(finding(file.as_str(), user(commands, is_used)));
        }
    }
    found
}

/// Returns what in the copy points back to the project.
pub fn linked_by_files(copy: &Workspace, checks: &[String]) -> Vec<Diagnosis> {
    if copy.is_in_place || !copy.exists() {
        return Vec::new();
    }
    let project = &copy.source.top;
    let mut found = Vec::new();
    for folder in BTreeSet::from([&copy.top, &copy.root]) {
        for place in BROUGHT.map(|name| folder.join(name)) {
            let links = entries(&place).flat_map(|entry| entries(&entry).chain([entry]));
            let links = links.filter(|entry| entry.is_symlink()).chain([place.clone()]);
            let files = entries(&place.join("bin")).chain(packages(&place));
            if let Some(path) = links.chain(files).find(|path| leads_into(path, project)) {
                let is_used = |program: &str| copy.root.join(program).starts_with(&place);
                let below = path.strip_prefix(&copy.top).unwrap_or(&path);
                found.push(finding(&format!("{below} in the copy"), user(checks, is_used)));
            }
        }
    }
    let inside = format!("{project}/");
    let ours = [":(exclude,glob)**/.ralph/**", ":(exclude,glob)**/.claude/**"];
    let grep = ["grep", "-I", "-l", "-F", "-e", &inside, "--", "."];
    if let Ok(files) = copy.source.git().line(&[&grep[..], &ours].concat()) {
        found.push(finding(&format!("a path in {}", first_few(files.lines(), 5)), None));
    }
    found
}

fn finding(what: &str, user: Option<&String>) -> Diagnosis {
    let way_on = "points into the project instead of the copy; create it in the copy with \
                  [workspace] setup, use a relative path, remove it from the environment, or start \
                  with --in-place";
    match user {
        Some(line) => {
            Diagnosis::Problem(format!("`{line}` would use the project: {what} {way_on}"))
        }
        None => Diagnosis::Note(format!("{what} {way_on}")),
    }
}

/// Returns the first command line that starts a program which `is_used` accepts.
fn user(commands: &[String], is_used: impl Fn(&str) -> bool) -> Option<&String> {
    let starts = |line: &&String| {
        shell_reader::read(line).commands.iter().any(|one| is_used(one.program.text()))
    };
    commands.iter().find(starts)
}

/// Lists the files by which a Python environment finds code elsewhere.
fn packages(environment: &Utf8Path) -> impl Iterator<Item = Utf8PathBuf> + use<> {
    let folders = entries(&environment.join("lib")).map(|version| version.join("site-packages"));
    folders.flat_map(|folder| entries(&folder)).filter(|file| {
        matches!(file.extension(), Some("pth" | "egg-link"))
            || file.file_name().is_some_and(|name| name.starts_with("__editable__"))
    })
}

fn entries(folder: &Utf8Path) -> impl Iterator<Item = Utf8PathBuf> + use<> {
    let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
    entries.map(|entry| entry.into_path())
}

/// Whether a link leads into the project, or the text of a file names a path in it.
fn leads_into(path: &Utf8Path, project: &Utf8Path) -> bool {
    if path.is_symlink() {
        return path.canonicalize_utf8().is_ok_and(|real| real.starts_with(project));
    }
    let Ok(file) = open_regular(path) else { return false };
    let mut start = Vec::new();
    // What cannot be read, such as a folder, counts as empty.
    let _ = file.take(LOOKED_INTO).read_to_end(&mut start);
    let text = String::from_utf8_lossy(&start);
    let mut behind = text.split(project.as_str()).skip(1);
    behind.any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || "-_.".contains(c)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use test_support::Scratch;

    use super::*;

    #[test]
    fn links_and_files_that_point_into_the_project_are_found() {
        let scratch = Scratch::new();
        let (project, other) = (scratch.dir("app"), scratch.dir("app-other"));
        scratch.dir("app/src");
        for (text, expected) in [
            (format!("# x\n{project}/src\n"), true),
            (format!("MAPPING = {{'app': '{project}'}}"), true),
            (format!("#!{project}/.venv/bin/python\n"), true),
            (format!("{other}\n{project}2\n"), false),
            ("import site\n".to_owned(), false),
        ] {
            assert_eq!(leads_into(&scratch.file("file", &text), &project), expected, "{text}");
        }
        for (target, expected) in [("app/src", true), ("app-other", false), ("nowhere", false)] {
            let link = scratch.path(&format!("to-{}", target.replace('/', "-")));
            symlink(target, &link).unwrap();
            assert_eq!(leads_into(&link, &project), expected, "{target}");
        }
        assert!(!leads_into(&project, &project));
    }

    #[test]
    fn every_form_of_an_editable_install_is_checked() {
        let scratch = Scratch::new();
        let folder = "env/lib/python3.11/site-packages";
        for file in ["a.pth", "__editable___app_finder.py", "app.egg-link", "app.py"] {
            scratch.file(&format!("{folder}/{file}"), "");
        }
        assert_eq!(packages(&scratch.path("env")).count(), 3);
    }

    #[test]
    fn the_command_that_starts_a_matching_program_is_found() {
        let commands = ["npm test".to_owned(), "cd x && A=1 timeout 9 pytest -q".to_owned()];
        let is_python = |program: &str| program.starts_with("py");
        assert_eq!(user(&commands, is_python), Some(&commands[1]));
        assert_eq!(user(&commands[..1], is_python), None);
    }
}
