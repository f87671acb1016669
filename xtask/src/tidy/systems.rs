//! What only one system has stands in one file of a crate, beside what holds elsewhere.

use super::tree::{files, report};

/// The one file, in the sources of a crate.
const ALLOWED: &str = "src/linux.rs";

#[test]
fn what_only_linux_has_stands_in_one_file_of_a_crate() {
    let marks = [concat!("target", "_os"), concat!("/pro", "c/"), concat!("/pro", "c\"")];
    let mut findings = Vec::new();
    for file in files(&[".rs"]).iter().filter(|file| !file.path.ends_with(ALLOWED)) {
        for (number, line) in (1..).zip(file.text.lines()) {
            if marks.iter().any(|mark| line.contains(mark)) {
                findings.push(format!("{}:{number} belongs into {ALLOWED}: {line}", file.path));
            }
        }
    }
    report(findings);
}
