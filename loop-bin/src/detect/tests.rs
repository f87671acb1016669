//! Detection in the layouts of well-known projects and of small, difficult ones.
//!
//! `RALPH_INTERNAL__UPDATE_DOCS=1 cargo test -p ralph-loop detect` regenerates the table of layouts.

use std::collections::BTreeMap;

use ralph_core::verdict::{Kind, Run, judge};
use test_support::fixtures;

use super::*;

/// A project in one file: its description, the expected commands, and its files.
#[derive(Default)]
struct Layout {
    name: String,
    about: String,
    wanted: Vec<String>,
    setup: Vec<String>,
    files: BTreeMap<String, String>,
}

impl Layout {
    fn parse(name: &str, text: &str) -> Self {
        let mut parts = text.split("=== ");
        let mut layout = Self { name: name.to_owned(), ..Self::default() };
        for line in parts.next().unwrap().lines() {
            match line.split_once(": ") {
                Some(("wanted", command)) => layout.wanted.push(command.to_owned()),
                Some(("setup", command)) => layout.setup.push(command.to_owned()),
                _ => line.clone_into(&mut layout.about),
            }
        }
        let file = |part: &str| part.split_once('\n').map(|(p, t)| (p.to_owned(), t.to_owned()));
        layout.files = parts.map(|part| file(part).unwrap()).collect();
        layout
    }

    fn detect(&self) -> Detected {
        let read = |path: &str| self.files.get(path).cloned();
        let files = Files { paths: self.files.keys().cloned().collect(), read: &read };
        detection::detect(&toml::from_str(TABLE).unwrap(), &files)
    }
}

fn layouts() -> Vec<Layout> {
    let mut found: Vec<Layout> = Vec::new();
    for entry in fixtures().join("layouts").read_dir_utf8().unwrap().flatten() {
        if let Some(name) = entry.file_name().strip_suffix(".txt") {
            let text = fs_err::read_to_string(entry.path()).unwrap();
            found.push(Layout::parse(name, &text));
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn commands(found: &[FoundCommand]) -> Vec<String> {
    found.iter().map(|found| found.command.clone()).collect()
}

const HEAD: &str = "\
# Layouts

Projects of many kinds as `ralph-loop init` sees them: one file each, with nothing but what detection reads.
They are written in the shape of the real ones, from knowledge of what those run.
A file begins with what the project is and with the checks that are `wanted`: what its own people run, as far as a machine without services or browsers can.
The table is written by a test, as the head of `loop-bin/src/detect/tests.rs` tells.

| layout | checks | setup | right? |
| --- | --- | --- | --- |
";

#[test]
fn layouts_of_real_projects_get_the_expected_checks_and_setup() {
    let layouts = layouts();
    let (mut table, mut right) = (HEAD.to_owned(), 0);
    for layout in &layouts {
        let found = layout.detect();
        let checks = commands(&found.checks);
        let is_right = checks == layout.wanted;
        right += usize::from(is_right);
        let cell = |list: &[String]| match list {
            [] => "none".to_owned(),
            list => list.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join("<br>"),
        };
        let wanted = cell(&layout.wanted);
        let verdict = if is_right { "yes".to_owned() } else { format!("no, wanted: {wanted}") };
        let runs_tests = |check: &String| {
            let run = Run { command: check, exit_code: Some(0), ..Run::default() };
            judge(&run).kind == Kind::Passed
        };
        assert!(checks.is_empty() || checks.iter().any(runs_tests), "{}", layout.name);
        let setup = commands(&found.setup);
        assert!(layout.setup.is_empty() || setup == layout.setup, "{}: {setup:?}", layout.name);
        let (checks, setup) = (cell(&checks), cell(&setup));
        let (name, about) = (&layout.name, &layout.about);
        table.push_str(&format!("| `{name}`: {about} | {checks} | {setup} | {verdict} |\n"));
    }
    table.push_str(&format!("\n{right} of {} are right.\n", layouts.len()));
    let path = fixtures().join("layouts/README.md");
    let known = fs_err::read_to_string(&path).unwrap_or_default();
    if Env::process().get("RALPH_INTERNAL__UPDATE_DOCS").is_some() {
        fs_err::write(&path, &table).unwrap();
    }
    assert!(layouts.len() >= 30 && right * 10 >= layouts.len() * 9, "{table}");
    assert_eq!(known, table, "write it anew, as the head of this file tells");
}
