//! The core loop stays short, and looks up no name in a folder of an attempt.

use regex::Regex;

use super::tree::{files, report};

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

/// Where a folder that an attempt writes is read or written from outside.
const OUTSIDE: [&str; 5] = [
    "loop-bin/src/",
    "crates/work-copy/",
    "crates/board/",
    "crates/client/",
    "crates/run-history/",
];

/// An attempt exchanges files for links at any moment, so they are opened by `state::` alone.
#[test]
fn state_of_an_attempt_is_accessed_by_the_state_module_alone() {
    let dir = files(&["state/dir.rs"]).pop().expect("it names the files").text;
    let names = Regex::new(r"(?m)^\s+(\w+): own / ").unwrap();
    let names: Vec<&str> = names.captures_iter(&dir).map(|it| it.extract::<1>().1[0]).collect();
    assert!(names.contains(&"claim") && names.contains(&"sessions"), "{names:?}");
    let named = Regex::new(&format!(r"\.({})\(\)", names.join("|"))).unwrap();
    let by_name =
        Regex::new(r"fs_err::|File::|\.exists\(|\.is_file\(|\.is_dir\(|metadata\(|read_dir")
            .unwrap();
    let outside = files(&[".rs"]).into_iter();
    let outside = outside.filter(|it| OUTSIDE.iter().any(|folder| it.path.starts_with(folder)));
    let found = outside.flat_map(|file| {
        let is_wrong = |it: &&str| named.is_match(it) && by_name.is_match(it);
        let wrong = code(&file.text).split(';').filter(is_wrong).map(str::trim);
        wrong.map(|it| format!("{}: {it}", file.path)).collect::<Vec<_>>()
    });
    report(found.collect());
}
