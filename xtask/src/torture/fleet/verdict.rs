//! What must be true when all machines of a fleet have ended.

use std::collections::BTreeMap;

use anyhow::Result;
use test_support::program;

use super::{Fleet, PLAN, plan_with};

/// All that is wrong.
pub(super) fn of(fleet: &Fleet) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let bare = fleet.bare();
    let git = |args: &[&str]| fleet.user.git_in(bare.as_std_path(), args);
    let plan = git(&["show", &format!("main:{PLAN}")]);
    if plan != plan_with(fleet.stories, "x") {
        found.push(format!("the plan is\n{plan}"));
    }
    let progress = git(&["show", "main:progress.md"]);
    let told = progress.matches("- Status: SUCCESS").count();
    if told != fleet.stories {
        found.push(format!("the progress tells of {told} successes"));
    }
    let left = git(&["for-each-ref", "--format=%(refname)", "refs/ralph/fleet/main/claims"]);
    if !left.is_empty() {
        println!("fleet: claims that nobody holds any more: {}", left.lines().count());
    }
    found.extend(stories(fleet)?);
    Ok(found)
}

/// Each story landed once, and each commit passes its check when it is checked out alone.
fn stories(fleet: &Fleet) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let (bare, clone) = (fleet.bare(), fleet.user.scratch().path("checked-out"));
    let format = "--format=%H %(trailers:key=Ralph-Story,valueonly=true,separator=)";
    let listed = fleet.user.git_in(bare.as_std_path(), ["log", "--reverse", format, "main"]);
    let mut landed: BTreeMap<&str, usize> = BTreeMap::new();
    fleet.user.git(["clone", "-q", "--shared", "--no-checkout", bare.as_str(), clone.as_str()]);
    for (commit, story) in listed.lines().filter_map(|line| line.split_once(' ')) {
        fleet.user.git_in(clone.as_std_path(), ["checkout", "-q", "--detach", commit]);
        if !story.is_empty() {
            *landed.entry(story).or_default() += 1;
            let holds = |folder: &str| clone.join(format!("{folder}/{story}.txt")).exists();
            if !holds("made") && !holds("counted") {
                found.push(format!("{commit} ({story}) does not hold its work"));
            }
        }
        if !clone.join("check.sh").exists() {
            continue;
        }
        let home = fleet.user.scratch().path("home");
        if !program("sh", &home).arg("check.sh").current_dir(&clone).status()?.success() {
            found.push(format!("{commit} ({story}) does not pass its check"));
        }
    }
    let wrong: Vec<String> = (1..=fleet.stories)
        .map(|number| format!("US-{number:03}"))
        .filter(|story| landed.get(story.as_str()) != Some(&1))
        .collect();
    if !wrong.is_empty() || landed.len() != fleet.stories {
        found.push(format!("these did not land once: {wrong:?}"));
    }
    Ok(found)
}
