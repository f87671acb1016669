//! Names are meaningful, and the names of state files are in one place only.

use std::collections::BTreeMap;

use regex::Regex;

use super::tree::{File, files, report};

const EMPTY_WORDS: &str = "util|utils|helper|helpers|common|manager|handler|impl|v2|legacy|misc";

#[test]
fn names_are_meaningful() {
    let empty = format!(r"(^|_|-|/)({EMPTY_WORDS})(_|-|\.|/|$)");
    let in_path = Regex::new(&empty).unwrap();
    let declared =
        Regex::new(r"\b(?:fn|struct|enum|trait|mod|type|const)\s+([A-Za-z0-9_]+)").unwrap();
    let mut findings = Vec::new();
    for file in files(&[".rs", ".md", ".toml"]) {
        if in_path.is_match(file.path.as_str()) {
            findings.push(format!("{}: the file's name says nothing", file.path));
        }
        for name in declared.captures_iter(&code_of(&file)).map(|c| c[1].to_lowercase()) {
            if in_path.is_match(&name) {
                findings.push(format!("{}: `{name}` says nothing", file.path));
            }
        }
    }
    report(findings);
}

/// The folders with the code of each crate, without tests.
const CRATES: [&str; 12] = [
    "crates/board/src",
    "crates/client/src",
    "crates/work-copy/src",
    "crates/shell-reader/src",
    "crates/ralph-base/src",
    "crates/ralph-core/src",
    "crates/ralph-project/src",
    "crates/run-history/src",
    "crates/sandbox/src",
    "hooks-bin/src",
    "loop-bin/src",
    "xtask/src",
];

#[test]
fn public_type_names_are_unique_in_a_crate() {
    let declared =
        Regex::new(r"(?m)^pub(?:\(crate\))? (?:struct|enum|trait|type) ([A-Za-z0-9_]+)").unwrap();
    let mut findings = Vec::new();
    for root in CRATES {
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        for file in files(&[".rs"]).into_iter().filter(|file| file.path.starts_with(root)) {
            for name in declared.captures_iter(&file.text).map(|c| c[1].to_owned()) {
                if let Some(other) = seen.insert(name.clone(), file.path.to_string()) {
                    findings.push(format!("{name} is in {other} and in {}", file.path));
                }
            }
        }
    }
    report(findings);
}

/// The maximum number of public names.
const MOST_NAMES: usize = 80;

#[test]
fn the_public_interface_of_the_core_is_small() {
    let root = crate::run::root().join("crates/ralph-core/src");
    let read = |name: &str| fs_err::read_to_string(root.join(name)).unwrap();
    let lib = read("lib.rs");
    let mut names = public_names(&lib);
    let modules: Vec<&str> =
        lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    assert!(modules.contains(&"plan") && modules.contains(&"verdict"), "{modules:?}");
    for module in modules {
        let inside = public_names(&read(&format!("{module}/mod.rs")));
        names.extend(inside.into_iter().map(|name| format!("{module}::{name}")));
    }
    assert!(names.len() <= MOST_NAMES, "{} public names: {names:?}", names.len());
}

/// Returns the names that a module exports: its `pub use`s and its own `pub` items.
fn public_names(text: &str) -> Vec<String> {
    let offered = Regex::new(r"(?m)^pub use ([^;]+);").unwrap();
    let declared = Regex::new(r"(?m)^pub (?:mod|fn|struct|enum|trait|type|const) (\w+)").unwrap();
    let mut names: Vec<String> = declared.captures_iter(text).map(|c| c[1].to_owned()).collect();
    for list in offered.captures_iter(text) {
        let last = list[1].rsplit("::").next().unwrap_or_default().to_owned();
        let inner = list[1].split_once('{').map_or(last, |(_, inner)| inner.to_owned());
        let words = inner.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned);
        names.extend(words.filter(|word| !word.is_empty() && word != "self"));
    }
    names
}

/// The files that may contain names of state files, relative to the root.
const OWNERS: [&str; 2] =
    ["crates/ralph-base/src/state/dir.rs", "crates/ralph-base/src/state/session_dir.rs"];

#[test]
fn state_files_are_named_in_one_place() {
    let read = |owner| fs_err::read_to_string(crate::run::root().join(owner)).unwrap();
    let owners = OWNERS.map(read).concat();
    let literal =
        Regex::new(r#""([a-zA-Z./-]*\.(?:log|json|jsonl|lock|md)|\.[a-z]+|current-story)""#)
            .unwrap();
    let names: Vec<String> = literal.captures_iter(&owners).map(|c| c[1].to_owned()).collect();
    assert!(names.iter().any(|name| name == "events.jsonl") && names.len() > 15, "{names:?}");
    // `.gitignore` is also a file name of git.
    let names: Vec<String> = names.into_iter().filter(|name| name != ".gitignore").collect();
    let mut findings = Vec::new();
    for file in files(&[".rs"]) {
        let is_test = file.path.as_str().contains("test") || file.path.starts_with("xtask");
        if OWNERS.iter().any(|owner| file.path == *owner) || is_test {
            continue;
        }
        let code = code_of(&file);
        let code = code.split("#[cfg(test)]").next().unwrap_or_default();
        let spelled = names.iter().filter(|name| code.contains(&format!("\"{name}\"")));
        findings
            .extend(spelled.map(|name| format!("{}: \"{name}\" belongs in {OWNERS:?}", file.path)));
    }
    report(findings);
}

fn code_of(file: &File) -> String {
    let lines = file.text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}
