//! Files of the loop must not have dependency cycles, and cycles elsewhere must be small, so that a
//! reader of one file does not need all files. Uses of parent modules do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::tree::{File, files, report};

/// The number of files in the largest allowed cycle outside the loop.
const MOST_FILES: usize = 6;

/// Patterns of imports, module declarations, renamed imports, and paths in code.
static IMPORTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?<public>pub(?:\([^)]*\))? )?use (?<what>[^;]+);").unwrap()
});
static MODULE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)^.*\bmod \w+;$").unwrap());
static RENAMED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r" as \w+").unwrap());
static NAMED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b(?:crate|super)(?:::\w+)+").unwrap());

pub(super) type Path = Vec<String>;

/// A module and what it uses from others: each local name with its path.
pub(super) struct Module {
    pub(super) uses: Vec<(String, Path)>,
    /// The names that it only re-exports.
    handed_on: BTreeSet<String>,
}

/// The modules of one crate, by their paths.
pub(super) type Modules = BTreeMap<Path, Module>;

#[test]
fn dependency_cycles_between_files_are_limited() {
    let mut crates: BTreeMap<String, Modules> = BTreeMap::new();
    for file in files(&[".rs"]) {
        if let Some((place, path)) = place_of(&file) {
            crates.entry(place).or_default().insert(path, Module::read(&file.text));
        }
    }
    assert!(crates["loop-bin"].len() > 60, "the files of the loop are read");
    let mut found = Vec::new();
    for (place, modules) in &crates {
        let most = if place == "loop-bin" { 1 } else { MOST_FILES };
        for circle in circles(modules).into_iter().filter(|circle| circle.len() > most) {
            let names: Vec<String> = circle.iter().map(|path| path.join("::")).collect();
            found.push(format!("{place}: these need each other: {}", names.join(", ")));
        }
    }
    report(found);
}

#[test]
fn a_dependency_cycle_is_found() {
    let texts = [
        ("a", "use super::b::{self, Other};"),
        ("b", "pub(super) use c::Thing;\nmod c;\nfn f(_: Thing) {}"),
        ("b::c", "fn f() { crate::a::g() }\nuse super::d;"),
        ("b::d", "use crate::b::Thing;"),
        ("e", "use crate::b::Thing;\n#[cfg(test)]\nmod tests {\n    use crate::e::f;\n}"),
    ];
    let path = |name: &str| name.split("::").map(str::to_owned).collect::<Path>();
    let module = |(name, text)| (path(name), Module::read(text));
    let found = circles(&texts.into_iter().map(module).collect());
    let names: Vec<_> = ["a", "b", "b::c", "b::d"].map(path).into();
    assert_eq!(found, [names.into_iter().collect()].into());
}

/// Returns the crate of a file and its module path; `None` for tests.
pub(super) fn place_of(file: &File) -> Option<(String, Path)> {
    let (place, below) = file.path.as_str().split_once("/src/")?;
    let mut path: Path = below.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|name| ["lib", "main", "mod"].contains(&name.as_str())) {
        path.pop();
    }
    let is_test = path.iter().any(|name| name == "tests") || place.contains("/tests");
    (!is_test).then(|| (place.to_owned(), path))
}

impl Module {
    pub(super) fn read(text: &str) -> Self {
        let text = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let (mut uses, mut handed_on) = (Vec::new(), BTreeSet::new());
        for import in IMPORTED.captures_iter(text) {
            let plain = RENAMED.replace_all(&import["what"], "").replace(['\n', ' '], "");
            let before = uses.len();
            expand(&[], &plain, &mut uses);
            if import.name("public").is_some() {
                handed_on.extend(uses.iter().skip(before).map(|(name, _)| name.clone()));
            }
        }
        let rest = MODULE.replace_all(text, "");
        let rest = IMPORTED.replace_all(&rest, "");
        let words: BTreeSet<&str> =
            rest.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        handed_on.retain(|name| !words.contains(name.as_str()));
        NAMED.find_iter(text).for_each(|name| expand(&[], name.as_str(), &mut uses));
        Self { uses, handed_on }
    }
}

/// Expands `a::{b, c::d}` to `a::b` and `a::c::d`.
fn expand(before: &[String], text: &str, found: &mut Vec<(String, Path)>) {
    let Some((head, inner)) = text.split_once('{') else {
        let rest = text.split("::").filter(|name| *name != "self" && !name.is_empty());
        let path: Path = before.iter().cloned().chain(rest.map(str::to_owned)).collect();
        let name = path.last().cloned().unwrap_or_default();
        return found.push((name, path));
    };
    let head = head.trim_end_matches("::").split("::").map(str::to_owned);
    let before: Path = before.iter().cloned().chain(head).collect();
    let (mut depth, mut start) = (0, 0);
    let inner = inner.strip_suffix('}').unwrap_or(inner);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = inner.get(start..at).unwrap_or_default();
                if !part.is_empty() {
                    expand(&before, part, found);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// Resolves a path as written in a module to the module of this crate that defines it.
pub(super) fn resolve(
    modules: &Modules,
    from: &Path,
    named: &[String],
    depth: usize,
) -> Option<Path> {
    let (mut base, mut rest) = (from.clone(), named);
    match named.first()?.as_str() {
        "crate" => (base, rest) = (Path::new(), named.get(1..)?),
        "super" => {
            while let Some("super") = rest.first().map(String::as_str) {
                base.pop()?;
                rest = rest.get(1..)?;
            }
        }
        child => {
            let child = [from.as_slice(), &[child.to_owned()]].concat();
            modules.get(&child)?;
        }
    }
    while let Some((next, after)) = rest.split_first() {
        base.push(next.clone());
        if !modules.contains_key(&base) {
            base.pop();
            let known = modules.get(&base)?.uses.iter().find(|(name, _)| name == next);
            let elsewhere = known.filter(|_| depth < 5).map(|(_, path)| path);
            let there = elsewhere.and_then(|path| resolve(modules, &base, path, depth + 1));
            return Some(there.unwrap_or(base));
        }
        rest = after;
    }
    Some(base)
}

fn circles(modules: &Modules) -> BTreeSet<BTreeSet<Path>> {
    let needs: BTreeMap<&Path, BTreeSet<Path>> = modules
        .iter()
        .map(|(path, module)| {
            // A re-export alone is not a dependency.
            let needed = module.uses.iter().filter(|(name, _)| !module.handed_on.contains(name));
            let found = needed.filter_map(|(_, to)| resolve(modules, path, to, 0));
            (path, found.filter(|to| !path.starts_with(to)).collect())
        })
        .collect();
    let reached = |from: &Path| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(next) = open.pop() {
            open.extend(needs[&next].iter().filter(|to| seen.insert((*to).clone())).cloned());
        }
        seen
    };
    let reach: BTreeMap<&Path, BTreeSet<Path>> =
        modules.keys().map(|path| (path, reached(path))).collect();
    let circle = |path: &&Path| -> BTreeSet<Path> {
        reach[*path].iter().filter(|other| reach[other].contains(*path)).cloned().collect()
    };
    modules.keys().map(|path| circle(&path)).filter(|circle| !circle.is_empty()).collect()
}
