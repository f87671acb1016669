//! Links between documents are valid, in the sources and on the site of `cargo xtask book`.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use regex::Regex;

use super::tree::{File, files, report};

const SUMMARY: &str = "docs/SUMMARY.md";

#[test]
fn links_point_to_existing_headings() {
    let documents = files(&[".md"]);
    let headings: BTreeMap<&Utf8Path, Vec<String>> =
        documents.iter().map(|file| (file.path.as_path(), headings(&file.text))).collect();
    let mut findings = Vec::new();
    for file in &documents {
        for (page, anchor) in links(file).into_iter().filter(|(_, anchor)| !anchor.is_empty()) {
            let known = headings.get(page.as_path());
            if known.is_some_and(|known| !known.contains(&anchor)) {
                findings.push(format!("{}: {page} has no heading #{anchor}", file.path));
            }
        }
    }
    report(findings);
}

#[test]
fn the_site_contains_every_page_once_and_links_only_to_pages() {
    let documents = files(&[".md"]);
    let is_page = |path: &Utf8Path| path.starts_with("docs");
    let pages: Vec<&File> = documents.iter().filter(|file| is_page(&file.path)).collect();
    let listed = pages.iter().find(|file| file.path == SUMMARY).map(|file| links(file));
    let listed = listed.unwrap_or_default();
    let mut findings = Vec::new();
    for page in &pages {
        let count = listed.iter().filter(|(path, _)| *path == page.path).count();
        if page.path != SUMMARY && count != 1 {
            findings.push(format!("{} is {count} times in {SUMMARY}", page.path));
        }
        let outside = links(page).into_iter().filter(|(path, _)| !is_page(path));
        findings.extend(outside.map(|(path, _)| format!("{}: {path} is no page", page.path)));
    }
    report(findings);
}

#[test]
fn named_links_are_defined_and_used() {
    let used = Regex::new(r"\]\[([^\]\s]+)\]|\| \[([^\]]+)\] ").unwrap();
    let defined = Regex::new(r"(?m)^\[([^\]]+)\]: http").unwrap();
    let mut findings = Vec::new();
    for file in files(&[".md"]) {
        let text = without_code(&file.text);
        let defined: BTreeSet<&str> =
            defined.captures_iter(&text).filter_map(|c| Some(c.get(1)?.as_str())).collect();
        let used = used.captures_iter(&text);
        let used: BTreeSet<&str> =
            used.filter_map(|c| Some(c.get(1).or(c.get(2))?.as_str())).collect();
        if !defined.is_empty() {
            let odd = defined.symmetric_difference(&used);
            findings.extend(odd.map(|name| format!("{}: [{name}] is one-sided", file.path)));
        }
    }
    report(findings);
}

/// Returns the targets of links: the file, relative to the root, and the heading or nothing.
fn links(file: &File) -> Vec<(Utf8PathBuf, String)> {
    let link = Regex::new(r"\]\(([^)#:\s…]*)(?:#([^)]*))?\)").unwrap();
    let text = without_code(&file.text);
    let found = link.captures_iter(&text).map(|capture| {
        let folder = file.path.parent().unwrap_or(Utf8Path::new(""));
        let path = match &capture[1] {
            "" => file.path.clone(),
            path => joined(folder, path),
        };
        (path, capture.get(2).map_or(String::new(), |anchor| anchor.as_str().to_owned()))
    });
    found.collect()
}

/// Joins two paths and resolves `..`.
fn joined(folder: &Utf8Path, path: &str) -> Utf8PathBuf {
    let mut whole = folder.to_owned();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(whole.pop()),
            part => whole.push(part),
        }
    }
    whole
}

/// Returns the anchors of a document, as GitHub and mdBook name them.
fn headings(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let text = without_code(text);
    let lines = text.lines().filter(|line| line.starts_with('#'));
    for title in lines.filter_map(|line| line.trim_start_matches('#').strip_prefix(' ')) {
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = kept.flat_map(char::to_lowercase).collect();
        let anchor = anchor.replace(' ', "-");
        let before = found.iter().filter(|other| **other == anchor).count();
        found.push(if before == 0 { anchor } else { format!("{anchor}-{before}") });
    }
    found
}

/// Returns the text without fenced blocks.
fn without_code(text: &str) -> String {
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.collect::<Vec<_>>().join("\n")
}
