//! Recognises the names of tests: targets and scripts (`test:unit`, `testDebugUnitTest`), and files
//! (`run_tests.sh`, `calc_test.rb`, `t/basic.t`); and normalises program names.

use shell_reader::sorted;

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/names.rs"));

/// Returns the program's name without folder, extension and version: `./gradlew` is `gradle`.
pub(crate) fn base_name(program: &str) -> &str {
    let file = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let file = [".exe", ".cmd", ".bat", ".phar", ".ps1"]
        .iter()
        .find_map(|ending| file.strip_suffix(ending))
        .unwrap_or(file);
    // `npx jest@29`
    let file =
        file.split_once('@').map_or(file, |(name, _)| if name.is_empty() { file } else { name });
    let plain = file.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let versioned = || VERSIONED.iter().find(|name| **name == plain);
    sorted::find(OTHER_NAMES, file).or_else(versioned).copied().unwrap_or(file)
}

/// Splits at capitals and at anything but letters and digits: `testDebugUnitTest`.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut lower_before = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && lower_before) {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        }
        lower_before = c.is_lowercase();
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// Recognises `test`, `tests`, `testing`, `test2`, `pytest`, `runtests`, `spec`, `e2e`.
fn is_test_word(word: &str) -> bool {
    let plain = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let starts =
        plain.strip_prefix("test").is_some_and(|rest| !rest.starts_with(['a', 'b', 'i', 'o']));
    let ends = plain.ends_with("test") || plain.ends_with("tests");
    matches!(plain, "spec" | "specs" | "testing" | "testall" | "tst")
        || word == "e2e"
        || starts
        || (ends && !NO_TESTS.contains(&plain))
}

/// Returns whether a target or script of this name runs tests.
pub(crate) fn is_test_name(name: &str) -> bool {
    let words = words(name);
    words.iter().any(|word| is_test_word(word) || TEST_TARGETS.contains(&word.as_str()))
        && !words.iter().any(|word| OTHER_PURPOSE.contains(&word.as_str()))
}

/// Returns whether a session of this name does not run tests: `lint`, `docs`.
pub(super) fn is_other_purpose(name: &str) -> bool {
    words(name).iter().any(|word| OTHER_PURPOSE.contains(&word.as_str()))
}

/// Returns whether a script or program file of this name is a test.
pub(crate) fn is_test_file(path: &str) -> bool {
    let path = path.trim_end_matches('/');
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let stem = file.split('.').next().unwrap_or(file);
    let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
    let words = words(file);
    let named = words.iter().any(|word| is_test_word(word))
        && !words.iter().any(|word| OTHER_PURPOSE.contains(&word.as_str()));
    // `test-build` tests the build; as the name of a target it would build tests.
    let tests_it = matches!(words.as_slice(), [test, act, ..] if test == "test"
        && matches!(act.as_str(), "build" | "install" | "compile" | "deploy"));
    named
        || tests_it
        || matches!(stem, "t" | "spec")
        || matches!(extension, "t" | "bats" | "test")
        || (file.starts_with("t_") || file.starts_with("T_"))
        || path.rsplit(['/', '\\']).nth(1).is_some_and(|folder| {
            matches!(folder, "test" | "tests" | "spec" | "specs" | "t" | "__tests__" | "testing")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_only_contain_test_are_not_names_of_tests() {
        for name in ["testDebugUnitTest", "unit-tests", "test-py311", "integrationTest", "spec"] {
            assert!(is_test_name(name), "{name}");
        }
        for name in ["latest", "lint:test", "build-tests", "install-test-deps", "testbed"] {
            assert!(!is_test_name(name), "{name}");
        }
        for name in ["calc_test.rb", "t/basic.t", "./spec", "calc.test.mjs", "CalcTest"] {
            assert!(is_test_file(name), "{name}");
        }
        for name in ["fake.js", "manage.py", "latest.py", "./deploy.sh"] {
            assert!(!is_test_file(name), "{name}");
        }
    }
}
