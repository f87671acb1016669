//! Packages for npm: one for each kind of machine, with the programs, and one that starts the right
//! one of these.

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::VERSION;
use super::target::Target;
use super::tree::Tree;
use crate::dist;

/// What npm starts; it starts the program.
const START: &str = include_str!("../../packaging/npm/start.js");

/// The package that people name.
pub(super) fn front(licences: &[(&str, String)], at: u64) -> Result<Vec<u8>> {
    let start = |name: &str| (name.to_owned(), Value::from("start.js"));
    let machine = |name: String| (name, Value::from(VERSION));
    let mut package = manifest("ralph-loop");
    package.insert("bin".to_owned(), dist::BINARIES.into_iter().map(start).collect());
    package.insert(
        "optionalDependencies".to_owned(),
        Target::npm_packages().map(machine).collect::<Map<_, _>>().into(),
    );
    package.insert("engines".to_owned(), json!({"node": ">=16"}));
    let mut tree = Tree::new(at);
    tree.add_program("start.js", START);
    pack(tree, package, licences)
}

/// The package with the programs for one kind of machine.
pub(super) fn machine(
    target: Target,
    programs: &[(&str, Vec<u8>)],
    licences: &[(&str, String)],
    at: u64,
) -> Result<Vec<u8>> {
    let [system, processor] = target.node;
    let mut package = manifest(&target.npm_package());
    package.insert("os".to_owned(), json!([system]));
    package.insert("cpu".to_owned(), json!([processor]));
    let mut tree = Tree::new(at);
    for (name, bytes) in programs {
        tree.add_program(format!("bin/{name}"), bytes.clone());
    }
    pack(tree, package, licences)
}

fn manifest(name: &str) -> Map<String, Value> {
    let mut package = Map::new();
    package.insert("name".to_owned(), name.into());
    package.insert("version".to_owned(), VERSION.into());
    package.insert(
        "description".to_owned(),
        "Runs a coding agent over a plan of stories, and commits only what was proven".into(),
    );
    package.insert("license".to_owned(), "MIT OR Apache-2.0".into());
    package
}

fn pack(
    mut tree: Tree,
    package: Map<String, Value>,
    licences: &[(&str, String)],
) -> Result<Vec<u8>> {
    tree.add("package.json", serde_json::to_string_pretty(&package)?);
    for (name, text) in licences {
        tree.add(*name, text.as_str());
    }
    tree.tar_gz("package")
}
