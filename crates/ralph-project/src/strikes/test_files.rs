//! Which files are tests? Asked to tell tests that are written first from code that breaks them.

use std::path::Path;

use globset::{Glob, GlobSet, GlobSetBuilder};

/// Folders that hold tests and what belongs to them, in the languages in common use.
const FOLDERS: [&str; 13] = [
    "test",
    "tests",
    "spec",
    "specs",
    "__tests__",
    "__mocks__",
    "__snapshots__",
    "testdata",
    "test-data",
    "fixtures",
    "e2e",
    "features",
    "cypress",
];

/// How the name of a test file, without its last extension, ends.
const ENDINGS: [&str; 10] =
    ["_test", "_tests", "_spec", "-test", ".test", ".spec", "-spec", "Test", "Tests", "Spec"];

/// How it begins.
const BEGINNINGS: [&str; 2] = ["test_", "test-"];

/// The files that count as tests: by their names, and by the user's own globs.
#[derive(Debug, Default)]
pub struct TestFiles {
    own: GlobSet,
}

impl TestFiles {
    /// With the user's globs, relative to the project; one that is not understood is passed over,
    /// because the configuration's reader has complained about it already.
    pub fn new(globs: &[String]) -> Self {
        let mut builder = GlobSetBuilder::new();
        for glob in globs.iter().filter_map(|glob| Glob::new(glob).ok()) {
            builder.add(glob);
        }
        Self { own: builder.build().unwrap_or_default() }
    }

    /// Whether a path, relative to the repository, is a test file.
    pub fn contains(&self, path: &Path) -> bool {
        let named = |name: &str| FOLDERS.contains(&name);
        let in_folder = path.parent().is_some_and(|parent| {
            parent.components().any(|part| part.as_os_str().to_str().is_some_and(named))
        });
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        in_folder
            || ENDINGS.iter().any(|ending| stem.ends_with(ending))
            || BEGINNINGS.iter().any(|beginning| stem.starts_with(beginning))
            || stem == "conftest"
            || self.own.is_match(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_files_are_known_by_name_and_folder() {
        let files = TestFiles::new(&["checks/**".to_owned(), "[broken".to_owned()]);
        for path in [
            "tests/it/main.rs",
            "src/app.test.ts",
            "pkg/server_test.go",
            "test_app.py",
            "conftest.py",
            "spec/models/user_spec.rb",
            "src/test/java/AppTest.java",
            "App.Tests/LoginTests.cs",
            "src/__snapshots__/a.snap",
            "checks/deep/a.sh",
        ] {
            assert!(files.contains(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn code_is_not_mistaken_for_tests() {
        let files = TestFiles::default();
        for path in ["src/lib.rs", "src/contest.py", "latest.js", "src/attestation.go", "Makefile"]
        {
            assert!(!files.contains(Path::new(path)), "{path}");
        }
    }
}
