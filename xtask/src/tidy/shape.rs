//! Files are short and begin with a description.

use super::tree::{files, report};

const LONGEST: usize = 400;

#[test]
fn files_are_short() {
    let long = files(&[".rs"]).into_iter().filter(|file| file.text.lines().count() > LONGEST);
    report(long.map(|file| format!("{} has more than {LONGEST} lines", file.path)).collect());
}

#[test]
fn files_start_with_a_description() {
    let silent = files(&[".rs"]).into_iter().filter(|file| !file.text.starts_with("//!"));
    report(silent.map(|file| format!("{} does not begin with //!", file.path)).collect());
}
