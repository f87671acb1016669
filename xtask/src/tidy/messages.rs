//! The programs contain every message that the troubleshooting page quotes.

use regex::Regex;

use super::tree::{files, report};

const PAGE: &str = "docs/troubleshooting.md";

/// The minimum length of a piece between two `…` that is searched for.
const LEAST: usize = 3;

#[test]
fn quoted_messages_exist_in_the_programs() {
    // A text that continues on the next line of the source.
    let folded = Regex::new(r"\\\n\s*").unwrap();
    let sources = files(&[".rs", ".toml"]);
    let sources = sources.iter().filter(|file| !file.path.starts_with("xtask"));
    let said: Vec<String> =
        sources.map(|file| folded.replace_all(&file.text, "").into_owned()).collect();
    let page = fs_err::read_to_string(crate::run::root().join(PAGE)).unwrap();
    let blocks = page.split("```text\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let quoted: Vec<&str> = blocks.flat_map(str::lines).collect();
    assert!(quoted.len() > 30, "{quoted:?}");
    let is_said = |part: &str| said.iter().any(|text| text.contains(part));
    let missing = quoted.into_iter().flat_map(|line| line.split('…')).filter(|part| {
        let part = part.trim();
        part.len() >= LEAST && !is_said(part)
    });
    report(missing.map(|part| format!("{PAGE}: no program says `{part}`")).collect());
}
