//! Dependencies are documented, above all those of the hooks, which start for every tool call.

use std::collections::BTreeSet;

use crate::run;

const DOCUMENT: &str = "docs/dev/dependencies.md";

/// Compares the linked crates with the list in the document.
#[test]
fn hooks_link_only_documented_crates() {
    let tree = run::output(run::command("cargo").args([
        "tree",
        "--package",
        "ralph-hooks",
        "--edges",
        "normal,no-proc-macro",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]))
    .unwrap();
    let linked: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .filter(|name| !name.is_empty())
        .collect();
    let document = fs_err::read_to_string(run::root().join(DOCUMENT)).unwrap();
    let list =
        document.split("```linked-by-hooks\n").nth(1).and_then(|rest| rest.split("```").next());
    let documented: BTreeSet<&str> = list.unwrap_or_default().split_whitespace().collect();
    assert_eq!(linked, documented, "the list in {DOCUMENT} is not what `cargo tree` says");
}

#[test]
fn every_direct_dependency_has_a_reason() {
    let document = fs_err::read_to_string(run::root().join(DOCUMENT)).unwrap();
    let workspace = fs_err::read_to_string(run::root().join("Cargo.toml")).unwrap();
    let section = workspace.split("[workspace.dependencies]").nth(1).unwrap();
    let section = section.split("\n[").next().unwrap();
    let external = section.lines().filter(|line| !line.contains("path = "));
    let names = external.filter_map(|line| line.split_once(" = ")).map(|(name, _)| name.trim());
    let missing: Vec<&str> =
        names.filter(|name| !document.contains(&format!("| `{name}` |"))).collect();
    assert!(missing.is_empty(), "{DOCUMENT} gives no reason for {missing:?}");
}

#[test]
fn hooks_and_loop_do_not_depend_on_each_other() {
    for (package, other) in [("hooks-bin", "ralph-loop"), ("loop-bin", "ralph-hooks")] {
        let manifest =
            fs_err::read_to_string(run::root().join(package).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap();
        let dependencies = dependencies.split("[dev-dependencies]").next().unwrap();
        assert!(!dependencies.contains(other), "{package} depends on {other}");
    }
}
