//! The files of the tree, as git knows them.

use camino::Utf8PathBuf;

use crate::run;

/// A text file of the tree.
pub(super) struct File {
    /// Relative to the root.
    pub(super) path: Utf8PathBuf,
    pub(super) text: String,
}

/// Returns all files with one of these endings that git tracks or would track, except fixtures.
pub(super) fn files(endings: &[&str]) -> Vec<File> {
    let listed = run::output(run::command("git").args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))
    .unwrap();
    let names = listed.lines().filter(|name| !name.starts_with("fixtures/"));
    let names = names.filter(|name| endings.iter().any(|ending| name.ends_with(ending)));
    let existing = names.filter(|name| run::root().join(name).is_file());
    let read = |name: &str| fs_err::read_to_string(run::root().join(name)).unwrap();
    existing.map(|name| File { path: name.into(), text: read(name) }).collect()
}

/// Fails with all findings at once.
pub(super) fn report(findings: Vec<String>) {
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}
