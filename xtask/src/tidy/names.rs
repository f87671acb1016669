//! Names: none that say nothing, and those of state files in one place only.

use regex::Regex;

use super::tree::{File, files, report};

const EMPTY_WORDS: &str = "util|utils|helper|helpers|common|manager|handler|impl|v2|legacy|misc";

#[test]
fn names_say_something() {
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

/// The files that may spell them out, relative to the root.
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
    // Git's own name, which is also that of a file of ours.
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
