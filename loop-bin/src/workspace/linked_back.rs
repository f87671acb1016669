//! What would make agent and checks use the project instead of the copy, or leaves the copy without
//! what the project finds around itself. Only looked for: nothing here changes anything or runs a
//! program of the project's.
//!
//! | file | what it looks at |
//! | --- | --- |
//! | `linked_back/variables.rs` | variables that name folders of the project |
//! | `linked_back/python.rs` | virtual environments with an editable install of the project |
//! | `linked_back/packages.rs` | `node_modules` with links into the project |
//! | `linked_back/manifests.rs` | paths in manifests, and links that git keeps |
//! | `linked_back/above.rs` | files above the project that tools look for |

mod above;
mod manifests;
mod packages;
mod python;
mod variables;

use camino::Utf8Path;
use ralph_core::env::Env;

use super::Workspace;
use crate::agent;

/// Something that leads out of the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkedBack {
    /// What was found, and the way on.
    pub(crate) message: String,
    /// Whether a check would certainly test the project instead of the copy.
    pub(crate) is_certain: bool,
}

impl LinkedBack {
    fn doubt(message: String) -> Self {
        Self { message, is_certain: false }
    }
}

impl Workspace {
    /// What the environment brings that leads back to the project. Known before there is a copy, and
    /// before a setup could install into the user's own environment.
    pub(crate) fn linked_by_environment(&self, env: &Env, commands: &[String]) -> Vec<LinkedBack> {
        if self.is_in_place {
            return Vec::new();
        }
        let project = &self.source.top;
        let mut found = python::active(env, project, commands);
        found.extend(variables::look(env, project, commands));
        found
    }

    /// What the copy holds that leads back, or out of it to where nothing is.
    pub(crate) fn linked_by_files(&self, checks: &[String]) -> Vec<LinkedBack> {
        if self.is_in_place || !self.exists() {
            return Vec::new();
        }
        let sides = Sides { project: &self.source.top, copy: &self.top };
        let mut folders = vec![self.top.as_path()];
        if self.root != self.top {
            folders.push(&self.root);
        }
        let mut found = Vec::new();
        for folder in folders {
            found.extend(python::in_copy(sides, folder, checks));
            found.extend(packages::look(sides, folder));
        }
        found.extend(manifests::look(sides));
        found.extend(above::look(sides));
        found
    }
}

/// The two work trees.
#[derive(Debug, Clone, Copy)]
struct Sides<'a> {
    project: &'a Utf8Path,
    copy: &'a Utf8Path,
}

impl Sides<'_> {
    /// A file of the copy as people name it.
    fn shown<'a>(&self, path: &'a Utf8Path) -> &'a Utf8Path {
        path.strip_prefix(self.copy).unwrap_or(path)
    }
}

/// Whether a path lies in a folder, by its name or by where it leads.
fn is_below(path: &Utf8Path, folder: &Utf8Path) -> bool {
    let real = || path.canonicalize_utf8();
    path.starts_with(folder) || real().is_ok_and(|real| real.starts_with(folder))
}

/// A program that a command line starts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Started<'a> {
    program: &'a str,
    /// Whether it is told to run a module, which python looks for in its own folder first.
    runs_module: bool,
}

/// The programs of a command line, as far as they can be told without a shell.
fn started(line: &str) -> Vec<Started<'_>> {
    let parts = line.split(['&', '|', ';', '\n']);
    let read = |part| {
        let runs_module = str::split_whitespace(part).any(|word| word == "-m");
        agent::program_of(part).map(|program| Started { program, runs_module })
    };
    parts.filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_of_a_line_are_found() {
        let names = |line| started(line).iter().map(|s| s.program).collect::<Vec<_>>();
        assert_eq!(names("cd app && A=1 pytest -q | tee log"), ["cd", "pytest", "tee"]);
        assert!(started("python3 -m pytest").iter().all(|started| started.runs_module));
    }
}
