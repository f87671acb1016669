//! The core loop stays short.

use super::tree::files;

const CORE: &str = "loop-bin/src/run/conductor.rs";
const LONGEST_CORE: usize = 200;

/// Returns the code of a file without its tests.
fn code(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or(text)
}

#[test]
fn the_core_loop_is_short() {
    let core = files(&[".rs"]).into_iter().find(|file| file.path == CORE);
    let core = core.expect("the core loop is there");
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let lines = code(&core.text).lines().filter(is_code).count();
    assert!(lines < LONGEST_CORE, "{CORE} has {lines} lines of code");
}
