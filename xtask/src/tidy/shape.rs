//! The shape of files: short, introduced, and without logic where nobody looks for it.

use super::tree::{files, report};

const LONGEST: usize = 500;

#[test]
fn files_are_short() {
    let long = files(&[".rs"]).into_iter().filter(|file| file.text.lines().count() > LONGEST);
    report(long.map(|file| format!("{} has more than {LONGEST} lines", file.path)).collect());
}

#[test]
fn files_say_what_they_are() {
    let silent = files(&[".rs"]).into_iter().filter(|file| !file.text.starts_with("//!"));
    report(silent.map(|file| format!("{} does not begin with //!", file.path)).collect());
}

#[test]
fn mod_files_only_declare() {
    let modules = files(&["/mod.rs"]);
    assert!(!modules.is_empty());
    let code =
        |line: &str| line.contains("fn ") || line.starts_with("impl") || line.contains("struct ");
    let mut findings = Vec::new();
    for file in modules {
        let lines = file.text.lines().filter(|line| !line.trim_start().starts_with("//"));
        findings
            .extend(lines.filter(|line| code(line)).map(|line| format!("{}: {line}", file.path)));
    }
    report(findings);
}
