//! Finds the plan: the first file that exists; within a group of files, the first unfinished plan.
//!
//! The caller decides which paths are searched.

use super::{Error, Options, Plan};
use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::listing::first_few;
use ralph_base::state;
use std::io;

/// An error in choosing or loading a plan.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// None of the files exists.
    #[error(
        "no plan found; create one with `ralph-loop init`, or pass one with --plan (looked for {})",
        names(.0)
    )]
    NotFound(Vec<Utf8PathBuf>),
    /// Several plans of other tools have open stories.
    #[error("several plans have open stories: {}; choose one with --plan", first_few(.0, 9))]
    Several(Vec<Utf8PathBuf>),
    /// The file exists but cannot be read from disk.
    #[error("cannot read the plan: {0}; check its permissions, or specify another with --plan")]
    Io(#[from] io::Error),
    /// The file exists but is not a valid plan.
    #[error(transparent)]
    Plan(#[from] Error),
}

/// Lists the files; several are shown relative to their common parent folder.
fn names(paths: &[Utf8PathBuf]) -> String {
    let [first, _, ..] = paths else { return first_few(paths, usize::MAX) };
    let holds_all = |top: &&Utf8Path| paths.iter().all(|path| path.starts_with(top));
    let top = first.ancestors().find(holds_all).unwrap_or(first);
    first_few(paths.iter().map(|path| path.strip_prefix(top).unwrap_or(path)), usize::MAX)
}

/// Chooses among groups of files, in order of preference. From the first group with an existing
/// file, returns the first plan with open stories, or else the last plan.
///
/// A file that exists but cannot be parsed is an error; it is never skipped.
pub fn find(groups: &[Vec<Utf8PathBuf>], options: &Options) -> Result<Plan, FindError> {
    for group in groups {
        let mut finished = None;
        for path in group {
            let Some(bytes) = read_file(path)? else { continue };
            let plan = parse(path, bytes, options)?;
            if plan.counts().open > 0 {
                return Ok(plan);
            }
            finished = Some(plan);
        }
        if let Some(plan) = finished {
            return Ok(plan);
        }
    }
    Err(FindError::NotFound(groups.concat()))
}

/// Parses a plan; for a Task Master file, uses the current tag unless the options name one.
fn parse(path: &Utf8Path, bytes: Vec<u8>, options: &Options) -> Result<Plan, Error> {
    let project = if path.ends_with(state::TASK_MASTER) { path.ancestors().nth(3) } else { None };
    match project.filter(|_| options.tag.is_empty()) {
        None => Plan::parse(path, bytes, options),
        Some(project) => {
            let tag = state::current_tag(project);
            Plan::parse(path, bytes, &Options { tag, ..options.clone() })
        }
    }
}

/// Chooses among plans of other tools: the only one with open stories, or else the last one.
pub fn find_only(files: &[Utf8PathBuf], options: &Options) -> Result<Plan, FindError> {
    let plans = files.iter().map(|path| load(path, options));
    let (mut open, mut rest): (Vec<_>, Vec<_>) =
        plans.partition(|plan| plan.as_ref().is_ok_and(|plan| plan.counts().open > 0));
    match (open.len(), open.pop().or_else(|| rest.pop())) {
        (0 | 1, Some(plan)) => plan,
        (_, None) => Err(FindError::NotFound(Vec::new())),
        (_, last) => {
            let paths = open.into_iter().chain(last).flatten();
            Err(FindError::Several(paths.map(|plan| plan.path().to_owned()).collect()))
        }
    }
}

/// Returns the contents of a file, or `None` if it does not exist.
pub fn read_file(path: &Utf8Path) -> io::Result<Option<Vec<u8>>> {
    state::read_if_there(path)
}

/// Reads one plan from disk.
pub fn load(path: &Utf8Path, options: &Options) -> Result<Plan, FindError> {
    find(&[vec![path.to_owned()]], options)
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    /// Looks for the plan among these groups of paths, in a folder with the files of `disk`.
    fn check(groups: &[&[&str]], disk: &[(&str, &str)], expected: &str) {
        let scratch = Scratch::new();
        for (name, text) in disk {
            scratch.file(name, text);
        }
        let groups: Vec<Vec<Utf8PathBuf>> = groups
            .iter()
            .map(|group| group.iter().map(|name| scratch.path(name)).collect())
            .collect();
        let found = match find(&groups, &Options::default()) {
            Ok(plan) => plan.path().to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found.replace(&format!("{}/", scratch.root()), ""), expected);
    }

    const NUMBERED: &[&str] = &["P-1", "P-2", "P-10"];

    #[test]
    fn the_first_existing_file_is_the_plan_and_in_a_group_the_first_with_open_stories() {
        let two: &[&[&str]] = &[&["a.md"], &["b.md"]];
        check(two, &[("a.md", "- [ ] x"), ("b.md", "- [ ] x")], "a.md");
        check(two, &[("b.md", "- [x] x")], "b.md");
        let disk = [("P-1", "- [x] x"), ("P-10", "- [ ] x"), ("P-2", "- [!] x")];
        check(&[NUMBERED], &disk, "P-10");
        check(&[NUMBERED], &[("P-1", "- [ ] x"), ("P-2", "- [ ] x")], "P-1");
        check(&[NUMBERED], &[("P-1", "- [x] x"), ("P-2", "- [x] x")], "P-2");
    }

    #[test]
    fn an_unreadable_or_missing_plan_is_an_error() {
        let disk = [("P-1", "text"), ("P-2", "- [ ] x")];
        let empty = "P-1: no stories found; write stories as `- [ ] US-001: title`, or `### \
                     US-001: title` with boxes below";
        check(&[NUMBERED], &disk, empty);
        check(
            &[&["a.md"], NUMBERED],
            &[],
            "no plan found; create one with `ralph-loop init`, or pass one with --plan (looked for \
             a.md, P-1, P-2, P-10)",
        );
    }

    #[test]
    fn a_missing_file_is_none_and_a_folder_is_an_error() {
        let folder = Utf8PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        assert!(read_file(&folder.join("no-such-file")).unwrap().is_none());
        assert!(read_file(&folder).unwrap_err().to_string().contains("not a regular file"));
    }
}
