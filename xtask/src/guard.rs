//! `cargo xtask guard`: measures the guard on the labelled commands, by category.

use std::collections::BTreeMap;

use anyhow::ensure;
use ralph_core::guard::{self, Facts, Settings};
use test_support::{COMMAND_TABLES, LabelledCommand, labelled_commands};

/// The minimum share of right answers, for rows whose label is not a matter of taste.
const BAR: f64 = 1.0;

/// The number of right answers and of all rows in one category.
#[derive(Default)]
struct Score {
    right: usize,
    all: usize,
    false_alarms: usize,
}

/// Measures the guard on the tables under `fixtures/` and prints its wrong answers.
///
/// # Errors
/// If a table cannot be read, or if an answer is wrong that should be right.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut certain = Score::default();
    for file in COMMAND_TABLES {
        let mut categories: BTreeMap<(String, String), Score> = BTreeMap::new();
        println!("{file}");
        for row in labelled_commands(file) {
            let LabelledCommand { is_denied, category, command, tier, .. } = row;
            let denial = guard::check(&command, &facts(), &Settings::default());
            let score = categories.entry((tier.clone(), category.clone())).or_default();
            let right = denial.is_some() == is_denied;
            count(score, right, denial.is_some());
            if tier != "contested" {
                count(&mut certain, right, denial.is_some());
            }
            if !right {
                let rule = denial.map_or("nothing", |denial| {
                    guard::RULES
                        .iter()
                        .find(|rule| rule.name == denial.rule)
                        .map_or("own rule", |rule| rule.name)
                });
                println!("  wrong: {tier} {category} {command:?} (found {rule})");
            }
        }
        for ((tier, category), score) in &categories {
            println!("  {tier:<11} {category:<12} {}/{}", score.right, score.all);
        }
    }
    println!("{}/{} right, {} false alarms", certain.right, certain.all, certain.false_alarms);
    ensure!(certain.all > 0, "the tables are empty");
    ensure!(certain.share() >= BAR, "the guard is below the bar of {BAR}");
    Ok(())
}

impl Score {
    #[expect(clippy::cast_precision_loss, reason = "a few thousand rows")]
    fn share(&self) -> f64 {
        self.right as f64 / self.all as f64
    }
}

fn count(score: &mut Score, right: bool, denied: bool) {
    score.all += 1;
    score.right += usize::from(right);
    score.false_alarms += usize::from(!right && denied);
}

/// Returns the project and folders that the labels assume.
pub(crate) fn facts() -> Facts {
    Facts {
        root: "/home/dev/project".into(),
        cwd: "/home/dev/project".into(),
        temp: "/tmp".into(),
        home: "/home/dev".into(),
        ..Facts::default()
    }
}
