//! Recognises test files, to distinguish tests that are written first from code that breaks tests.

use std::path::Path;

/// Folders with tests and test data, in common languages.
const FOLDERS: &str = "\
    test tests spec specs __tests__ __mocks__ __snapshots__ testdata test-data fixtures e2e features \
    cypress";

/// The endings of test file names, without the last extension.
const ENDINGS: [&str; 10] =
    ["_test", "_tests", "_spec", "-test", ".test", ".spec", "-spec", "Test", "Tests", "Spec"];

/// The beginnings of test file names.
const BEGINNINGS: [&str; 2] = ["test_", "test-"];

/// Returns whether a path, relative to the repository, is a test file.
pub fn is_test_file(path: &Path) -> bool {
    let named = |name: &str| FOLDERS.split(' ').any(|folder| folder == name);
    let in_folder = path.parent().is_some_and(|parent| {
        parent.components().any(|part| part.as_os_str().to_str().is_some_and(named))
    });
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    in_folder
        || ENDINGS.iter().any(|ending| stem.ends_with(ending))
        || BEGINNINGS.iter().any(|beginning| stem.starts_with(beginning))
        || stem == "conftest"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_files_are_recognized_by_name_and_folder() {
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
        ] {
            assert!(is_test_file(Path::new(path)), "{path}");
        }
        for path in ["src/lib.rs", "src/contest.py", "latest.js", "src/attestation.go", "Makefile"]
        {
            assert!(!is_test_file(Path::new(path)), "{path}");
        }
    }
}
