//! The rooms of the loop (files and folders of its `src`) have an order, and each imports only rooms below it. So a
//! reader of one room needs none of those above it, and what is above can be deleted.

use std::collections::BTreeSet;

use super::circles::{Module, Modules, Path, place_of, resolve};
use super::tree::{files, report};

/// From top to bottom; rooms of one floor do not see each other.
const FLOORS: [&[&str]; 11] = [
    &["args", "external"],
    &["commands"],
    &["observers", "boards", "verifiers"],
    &["run"],
    &["report"],
    &["plan_choice", "in_progress", "housekeeping"],
    &["record", "probe"],
    &["detect", "example", "forge", "readable"],
    &["flags", "here", "in_task", "receipts", "suggest"],
    &["exit"],
    &["terminal"],
];

/// Imports that still run upwards, as `from: to`. The list only shrinks.
const EXCEPTIONS: [&str; 0] = [];

#[test]
fn rooms_of_the_loop_import_only_rooms_below_them() {
    let mut modules = Modules::new();
    for file in files(&[".rs"]) {
        if let Some((_, path)) = place_of(&file).filter(|(place, _)| place == "loop-bin") {
            modules.insert(path, Module::read(&file.text));
        }
    }
    assert!(modules.len() > 60, "the files of the loop are read");
    let mut found = upward(&modules);
    let stale = EXCEPTIONS.iter().filter(|it| !found.iter().any(|found| found == *it));
    let stale: Vec<String> = stale.map(|it| format!("{it}: no exception is needed")).collect();
    found.retain(|it| !EXCEPTIONS.contains(&it.as_str()));
    report(found.into_iter().chain(stale).collect());
}

#[test]
fn an_upward_import_is_found_by_any_spelling() {
    let texts = [
        ("record", "use crate::{exit::Failure, run::Conductor};"),
        ("run", "use crate::record::RunRecord;\nfn f() { super::boards::g() }"),
        ("run::start", "use crate::commands;\nuse super::conductor;"),
        ("boards", "use crate::verifiers::scope;\nmod fleet;"),
        ("boards::fleet", "use super::Other;\n#[cfg(test)]\nmod tests {\n    use crate::args;\n}"),
        ("drawer", ""),
    ];
    let others = ["exit", "commands", "verifiers", "args"].map(|name| (name, ""));
    let path = |name: &str| name.split("::").map(str::to_owned).collect::<Path>();
    let module = |(name, text)| (path(name), Module::read(text));
    let found = upward(&texts.into_iter().chain(others).map(module).collect());
    let wanted = [
        "boards: verifiers",
        "drawer: it has no floor",
        "record: run",
        "run: boards",
        "run::start: commands",
    ];
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), wanted);
}

/// The imports of rooms that are not below, and the rooms without a floor.
fn upward(modules: &Modules) -> BTreeSet<String> {
    let floor_of = |path: &Path| {
        FLOORS
            .iter()
            .position(|rooms| path.first().is_some_and(|room| rooms.contains(&room.as_str())))
    };
    let mut found = BTreeSet::new();
    for (path, module) in modules.iter().filter(|(path, _)| !path.is_empty()) {
        let Some(floor) = floor_of(path) else {
            found.insert(format!("{}: it has no floor", path.join("::")));
            continue;
        };
        let needed = module.uses.iter().filter_map(|(_, to)| resolve(modules, path, to, 0));
        let others = needed.filter(|to| !to.is_empty() && to.first() != path.first());
        let above = others.filter(|to| floor_of(to).is_none_or(|other| other <= floor));
        found.extend(above.map(|to| format!("{}: {}", path.join("::"), to.join("::"))));
    }
    found
}
