//! The guard against labelled commands: every one must be judged as its label says.

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

fn misses(file: &str, tiers: &[&str]) -> Vec<String> {
    misses_with(file, tiers, &Settings::default())
}

fn misses_with(file: &str, tiers: &[&str], settings: &Settings) -> Vec<String> {
    labelled_commands(file)
        .into_iter()
        .filter(|row| tiers.contains(&row.tier.as_str()))
        .filter_map(|row| {
            let denial = guard::check(&row.command, &facts(), settings);
            let found = denial.as_ref().map(|denial| &denial.rule);
            // Where the reason is the name of a rule, no other one may speak first.
            let names_rule = guard::RULES.iter().any(|rule| rule.name == row.reason);
            let is_other = names_rule && found != Some(&row.reason);
            (denial.is_some() != row.is_denied || is_other)
                .then(|| format!("{} {:?} {:?}", row.category, row.command, found))
        })
        .collect()
}

#[test]
fn every_labelled_command_is_judged_as_labelled() {
    let missed = misses("commands.tsv", &["core", "configured"]);
    assert!(missed.is_empty(), "{} missed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn further_disguises_are_judged_as_labelled() {
    let missed = misses("commands-extra.tsv", &["core", "configured"]);
    assert!(missed.is_empty(), "{} missed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn what_leaves_the_machine_is_judged_as_labelled() {
    let enable = ["publish", "publish-image", "deploy", "database"].map(str::to_owned).to_vec();
    let settings = Settings { enable, ..Settings::default() };
    let missed = misses_with("commands-outward.tsv", &["core"], &settings);
    assert!(missed.is_empty(), "{} missed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn matters_of_taste_follow_their_documented_defaults() {
    // Bash refuses this line as a whole; a line that cannot be read is judged by what can.
    let refused = "echo \\$(git push)x | cat; true";
    let missed = misses("commands.tsv", &["contested"]);
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
