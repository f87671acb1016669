//! Each fault point is in the list and is used in the code exactly once.

use std::collections::BTreeMap;

use ralph_base::fault::POINTS;
use regex::Regex;

use super::tree::{files, report};

#[test]
fn every_fault_point_is_listed_and_used_once() {
    let call = Regex::new(r#"fault::point\(\s*"([a-z.-]+)"\s*\)"#).unwrap();
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for file in files(&[".rs"]) {
        for name in call.captures_iter(&file.text).map(|capture| capture[1].to_owned()) {
            *found.entry(name).or_default() += 1;
        }
    }
    let missing = POINTS.split(' ').filter(|name| !found.contains_key(*name));
    let mut findings: Vec<String> =
        missing.map(|name| format!("{name} is listed and nowhere in the code")).collect();
    for (name, count) in &found {
        if !POINTS.split(' ').any(|point| point == name) {
            findings.push(format!("{name} is not in the list of crates/ralph-base/src/fault.rs"));
        } else if *count > 1 {
            findings.push(format!("{name} stands in the code {count} times"));
        }
    }
    report(findings);
}
