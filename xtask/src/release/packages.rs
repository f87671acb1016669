//! The packages of others that the programs are made of, as cargo knows them: their list for scanners,
//! and their licences for people.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use serde_json::{Value, json};

use super::VERSION;
use super::target::Target;
use crate::run;

/// The packages whose programs are released.
const ROOTS: [&str; 2] = ["ralph-loop", "ralph-hooks"];

/// One package, ours included.
pub(super) struct Package {
    name: String,
    version: String,
    licence: String,
    folder: Utf8PathBuf,
    /// None if it is ours.
    checksum: Option<String>,
    depends_on: BTreeSet<String>,
}

/// What `cargo metadata` prints, as far as it matters here.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Known>,
    resolve: Resolved,
}

#[derive(Deserialize)]
struct Known {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: Utf8PathBuf,
}

#[derive(Deserialize)]
struct Resolved {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

/// None for what is linked; else what it is needed for.
#[derive(Deserialize)]
struct EdgeKind {
    kind: Option<String>,
}

/// What is in `Cargo.lock`.
#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// What is linked into the programs for this machine, sorted by name and version.
pub(super) fn linked(target: Target) -> Result<Vec<Package>> {
    let mut metadata = run::command("cargo");
    metadata.args(["metadata", "--format-version=1", "--locked"]);
    metadata.args(["--filter-platform", target.triple]);
    let metadata: Metadata = serde_json::from_str(&run::output(&mut metadata)?)?;
    let lock: Lock = toml::from_str(&fs_err::read_to_string(run::root().join("Cargo.lock"))?)?;
    let names: BTreeMap<&str, String> =
        metadata.packages.iter().map(|known| (known.id.as_str(), known.purl())).collect();
    let mut edges: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for node in &metadata.resolve.nodes {
        let is_linked = |edge: &&Edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none());
        let linked = node.deps.iter().filter(is_linked);
        let on = linked.filter_map(|edge| names.get(edge.pkg.as_str()).cloned()).collect();
        edges.insert(&node.id, on);
    }
    let mut packages = BTreeMap::new();
    for known in &metadata.packages {
        let is_it = |one: &&Locked| one.name == known.name && one.version == known.version;
        let checksum = lock.package.iter().find(is_it).and_then(|one| one.checksum.clone());
        let depends_on = edges.remove(known.id.as_str()).unwrap_or_default();
        packages.insert(known.purl(), known.package(checksum, depends_on));
    }
    Ok(reachable(packages))
}

/// Those that the programs need, directly or by way of others.
fn reachable(mut packages: BTreeMap<String, Package>) -> Vec<Package> {
    let is_root = |package: &&Package| ROOTS.contains(&package.name.as_str());
    let mut waiting: Vec<String> = packages.values().filter(is_root).map(Package::purl).collect();
    let mut found = BTreeMap::new();
    while let Some(purl) = waiting.pop() {
        if let Some(package) = packages.remove(&purl) {
            waiting.extend(package.depends_on.iter().cloned());
            found.insert(purl, package);
        }
    }
    found.into_values().collect()
}

impl Known {
    fn purl(&self) -> String {
        purl(&self.name, &self.version)
    }

    fn package(&self, checksum: Option<String>, depends_on: BTreeSet<String>) -> Package {
        let manifest = &self.manifest_path;
        Package {
            name: self.name.clone(),
            version: self.version.clone(),
            // An older way to write it.
            licence: self.license.clone().unwrap_or_default().replace('/', " OR "),
            folder: manifest.parent().unwrap_or(manifest).to_owned(),
            checksum,
            depends_on,
        }
    }
}

/// As scanners name a package.
fn purl(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{version}")
}

impl Package {
    fn purl(&self) -> String {
        purl(&self.name, &self.version)
    }

    fn component(&self) -> Value {
        let kind = if ROOTS.contains(&self.name.as_str()) { "application" } else { "library" };
        let hash = |sum: &String| json!({"alg": "SHA-256", "content": sum});
        json!({
            "type": kind,
            "bom-ref": self.purl(),
            "name": self.name,
            "version": self.version,
            "purl": self.purl(),
            "licenses": [{"expression": self.licence}],
            "hashes": self.checksum.iter().map(hash).collect::<Vec<_>>(),
        })
    }
}

/// The list for scanners, in the form of CycloneDX.
pub(super) fn bill_of_materials(packages: &[Package], target: Target) -> Result<String> {
    let program = target.archive();
    let roots = packages.iter().filter(|package| ROOTS.contains(&package.name.as_str()));
    let depends_on = |id: &str, on: Vec<String>| json!({"ref": id, "dependsOn": on});
    let whole = depends_on(&program, roots.map(Package::purl).collect());
    let parts = packages
        .iter()
        .map(|package| depends_on(&package.purl(), package.depends_on.iter().cloned().collect()));
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {
            "type": "application",
            "bom-ref": program,
            "name": "ralph-loop",
            "version": VERSION,
        }},
        "components": packages.iter().map(Package::component).collect::<Vec<_>>(),
        "dependencies": std::iter::once(whole).chain(parts).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

/// The licences of others, as their packages hold them; each text once.
pub(super) fn notices(packages: &[Package]) -> Result<String> {
    let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut list = String::new();
    for package in packages.iter().filter(|package| package.checksum.is_some()) {
        let title = format!("{} {}", package.name, package.version);
        list += &format!("{title}: {}\n", package.licence);
        for text in licence_texts(&package.folder)? {
            named.entry(text).or_default().push(title.clone());
        }
    }
    let mut texts: Vec<String> = named
        .into_iter()
        .map(|(text, titles)| format!("{}\n\n{text}", titles.join(", ")))
        .collect();
    texts.sort();
    let line = format!("\n{}\n\n", "-".repeat(80));
    Ok(format!(
        "The programs contain these packages of others, under these licences.\n\n{list}{line}{}\n",
        texts.join(&line)
    ))
}

fn licence_texts(folder: &Utf8Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for entry in folder.read_dir_utf8()? {
        let entry = entry?;
        let name = entry.file_name().to_uppercase();
        let is_licence = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"]
            .iter()
            .any(|beginning| name.starts_with(beginning));
        if is_licence && entry.path().is_file() {
            texts.push(fs_err::read_to_string(entry.path())?.trim().to_owned());
        }
    }
    texts.sort();
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_names_what_is_linked_and_nothing_else() {
        let target = Target::find("x86_64-unknown-linux-musl").unwrap();
        let packages = linked(target).unwrap();
        let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
        for linked in ["ralph-loop", "ralph-hooks", "ralph-loop-core", "serde_json", "clap"] {
            assert!(names.contains(&linked), "{linked}: {names:?}");
        }
        for other in ["insta", "proptest", "tempfile", "windows-sys", "xtask"] {
            assert!(!names.contains(&other), "{other}: {names:?}");
        }
        let bill: Value =
            serde_json::from_str(&bill_of_materials(&packages, target).unwrap()).unwrap();
        let components = bill["components"].as_array().unwrap();
        for component in components {
            let is_ours = component["name"].as_str().unwrap().starts_with("ralph-")
                || component["name"] == "installer";
            assert_eq!(component["hashes"] == json!([]), is_ours, "{component}");
            assert_ne!(component["licenses"][0]["expression"], "", "{component}");
        }
        let known: Vec<&Value> = components.iter().map(|part| &part["bom-ref"]).collect();
        for edge in bill["dependencies"].as_array().unwrap() {
            let on = edge["dependsOn"].as_array().unwrap();
            assert!(on.iter().all(|part| known.contains(&part)), "{edge}");
        }
        assert!(notices(&packages).unwrap().contains("Permission is hereby granted"));
    }
}
