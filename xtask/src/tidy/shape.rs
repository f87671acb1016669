//! Files begin with a description.

use super::tree::{files, report};

#[test]
fn files_start_with_a_description() {
    let silent = files(&[".rs"]).into_iter().filter(|file| !file.text.starts_with("//!"));
    report(silent.map(|file| format!("{} does not begin with //!", file.path)).collect());
}
