//! Code for Linux is in one file per crate, next to the code for other systems.

use super::tree::{files, report};

/// The file that may contain such code, relative to the crate.
const ALLOWED: &str = "src/linux.rs";

#[test]
fn linux_specific_code_is_in_one_file_per_crate() {
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
