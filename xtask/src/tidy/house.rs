//! The loop stays simple: a short core loop, small structs, and types in few files.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::tree::{File, files, report};

const LOOP: [&str; 4] = ["loop-bin/src/", "crates/board/", "crates/client/", "crates/work-copy/"];
const CORE: &str = "loop-bin/src/run/conductor.rs";
const LONGEST_CORE: usize = 200;
const MOST_FIELDS: usize = 12;
const MOST_FILES: usize = 3;

/// Returns the code of a file without its tests.
fn code(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or(text)
}

/// Returns the files of the loop and of the crates that only the loop uses.
fn files_of_loop() -> impl Iterator<Item = File> {
    let is_ours = |file: &File| LOOP.iter().any(|folder| file.path.starts_with(folder));
    files(&[".rs"]).into_iter().filter(is_ours)
}

#[test]
fn the_core_loop_is_short() {
    let core = files(&[".rs"]).into_iter().find(|file| file.path == CORE);
    let core = core.expect("the core loop is there");
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let lines = code(&core.text).lines().filter(is_code).count();
    assert!(lines < LONGEST_CORE, "{CORE} has {lines} lines of code");
}

#[test]
fn structs_of_the_loop_are_small() {
    let whole = Regex::new(r"(?ms)^(?:pub\S* )?struct (\w+)(?:<[^>]*>)? \{\n(.*?)^\}").unwrap();
    let field = Regex::new(r"(?m)^    (?:pub(?:\([^)]*\))? )?\w+: ").unwrap();
    let mut found = Vec::new();
    for file in files_of_loop() {
        for one in whole.captures_iter(code(&file.text)) {
            let fields = field.find_iter(&one[2]).count();
            if fields > MOST_FIELDS {
                found.push(format!("{}: {} has {fields} fields", file.path, &one[1]));
            }
        }
    }
    report(found);
}

#[test]
fn types_of_the_loop_are_implemented_in_few_files() {
    let block = Regex::new(r"(?m)^impl(?:<[^>]*>)? (?:[^{\n]* for )?(\w+)").unwrap();
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files_of_loop() {
        for one in block.captures_iter(code(&file.text)) {
            places.entry(one[1].to_owned()).or_default().insert(file.path.to_string());
        }
    }
    let wide = places.iter().filter(|(_, files)| files.len() > MOST_FILES);
    report(wide.map(|(name, files)| format!("{name} has impl blocks in {files:?}")).collect());
}
