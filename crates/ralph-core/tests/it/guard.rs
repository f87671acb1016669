//! The guard on labelled commands: every decision must match the label.

use ralph_core::guard::{self, Facts, Settings};
use test_support::labelled_commands;

fn facts() -> Facts {
    Facts {
        root: "/home/dev/project".into(),
        cwd: "/home/dev/project".into(),
        temp: "/tmp".into(),
        home: "/home/dev".into(),
        ..Facts::default()
    }
}

fn misses(file: &str, tiers: &[&str], settings: &Settings) -> Vec<String> {
    labelled_commands(file)
        .into_iter()
        .filter(|row| tiers.contains(&row.tier.as_str()))
        .filter_map(|row| {
            let denial = guard::check(&row.command, &facts(), settings);
            let found = denial.as_ref().map(|denial| &denial.rule);
            // If the reason is the name of a rule, this rule must deny the command.
            let names_rule = guard::RULES.iter().any(|rule| rule.name == row.reason);
            let is_other = names_rule && found != Some(&row.reason);
            (denial.is_some() != row.is_denied || is_other)
                .then(|| format!("{} {:?} {:?}", row.category, row.command, found))
        })
        .collect()
}

#[test]
fn every_labelled_command_is_judged_as_labelled() {
    let enable = ["publish", "publish-image", "deploy", "database"].map(str::to_owned).to_vec();
    let outward = Settings { enable, ..Settings::default() };
    for (file, settings) in [
        ("commands.tsv", &Settings::default()),
        ("commands-extra.tsv", &Settings::default()),
        ("commands-outward.tsv", &outward),
    ] {
        let missed = misses(file, &["core", "configured"], settings);
        assert!(missed.is_empty(), "{} missed:\n{}", missed.len(), missed.join("\n"));
    }
}

#[test]
fn contested_commands_follow_the_documented_defaults() {
    // Bash refuses the whole line; the guard judges the readable parts of an invalid line.
    let refused = "echo \\$(git push)x | cat; true";
    let missed = misses("commands.tsv", &["contested"], &Settings::default());
    assert!(missed.iter().all(|miss| miss.contains(&format!("{refused:?}"))), "{missed:#?}");
    assert_eq!(missed.len(), 1);
}

#[test]
fn the_documentation_names_every_rule_with_its_default() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guard.md");
    let page = std::fs::read_to_string(path).unwrap();
    for rule in guard::RULES {
        let head = format!("### `{}`\n\nDefault: {}.\n", rule.name, rule.default_words());
        assert!(page.contains(&head), "docs/guard.md needs a section beginning with {head}");
    }
}
