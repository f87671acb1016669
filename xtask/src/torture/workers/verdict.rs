//! What must be true when a run of several workers has ended.

use super::{PLAN, STORIES, plan_with};
use crate::torture::oracle;
use crate::torture::stage::{Ran, Stage};
use crate::torture::users_work::UsersWork;
use ralph_base::state::RunDir;

/// All that is wrong.
pub(super) fn of(stage: &Stage, ran: &Ran) -> Vec<String> {
    let mut found = Vec::new();
    if ran.hung || ran.code != Some(0) {
        found.push(format!("the run ended with {:?} (hung: {})", ran.code, ran.hung));
    }
    for (place, plan) in [
        ("on disk", stage.read(PLAN)),
        ("committed", stage.repo.git(["show", &format!("HEAD:{PLAN}")])),
    ] {
        if plan != plan_with("x") {
            found.push(format!("the plan {place} is\n{plan}"));
        }
    }
    found.extend(stories(stage));
    found.extend(progress(stage));
    found.extend(stage.work.differences(&UsersWork::read(&stage.repo)));
    found.extend(status(stage));
    found.extend(oracle::sound(&stage.repo));
    found.extend(oracle::leftovers(stage));
    found.extend(records(stage));
    if !found.is_empty() {
        found.push(format!("the loop said:\n{}", ran.said));
        found.push(stage.repo.git(["log", "--graph", "--format=%h %d %s", "-20"]));
    }
    found
}

/// Each story landed once, and each of those commits passes its check when it is checked out alone.
fn stories(stage: &Stage) -> Vec<String> {
    let mut found = Vec::new();
    let format = "--format=%H %(trailers:key=Ralph-Story,valueonly=true,separator=)";
    let listed = stage.repo.git(["log", "--reverse", format]);
    let landed: Vec<(&str, &str)> = listed
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(_, story)| !story.is_empty())
        .collect();
    let mut ids: Vec<&str> = landed.iter().map(|(_, story)| *story).collect();
    ids.sort_unstable();
    let wanted: Vec<String> = (1..=STORIES).map(|number| format!("US-{number:03}")).collect();
    if ids != wanted {
        found.push(format!("what landed is {ids:?}"));
    }
    // Apart from the project, which is looked at as it was left.
    let clone = stage.repo.scratch().path("checked-out");
    if clone.exists() && fs_err::remove_dir_all(&clone).is_err() {
        found.push(format!("{clone} cannot be removed"));
    }
    let (from, to) = (stage.repo.root().as_str(), clone.as_str());
    stage.repo.git(["clone", "-q", "--shared", "--no-checkout", from, to]);
    for (commit, story) in landed {
        stage.repo.git_in(clone.as_std_path(), ["checkout", "-q", "--detach", commit]);
        let holds = |folder: &str| clone.join(format!("{folder}/{story}.txt")).exists();
        if !holds("made") && !holds("counted") {
            found.push(format!("{commit} ({story}) does not hold its work"));
        }
        let checked = stage.program("sh").arg("check.sh").current_dir(&clone).status();
        if !checked.is_ok_and(|status| status.success()) {
            found.push(format!("{commit} ({story}) does not pass its check"));
        }
    }
    found
}

/// Each success is told of once, and no line of the journal is torn.
fn progress(stage: &Stage) -> Vec<String> {
    let mut found = Vec::new();
    let text = stage.read(&PLAN.replace("plan.md", "progress.md"));
    let told = text.matches("- Status: SUCCESS").count();
    if told != STORIES {
        found.push(format!("the progress tells of {told} successes:\n{text}"));
    }
    let journal = stage.read(".ralph/events.jsonl");
    let is_torn = |line: &&str| serde_json::from_str::<serde_json::Value>(line).is_err();
    found.extend(journal.lines().filter(is_torn).map(|line| format!("a torn line: {line}")));
    found
}

/// Git shows what is the user's and nothing of ours.
fn status(stage: &Stage) -> Option<String> {
    let shown = stage.repo.git(["status", "--porcelain", "--untracked-files=all"]);
    let is_ours = |line: &&str| line.get(3..).is_none_or(|path| !UsersWork::is_users(path));
    let ours: Vec<&str> = shown.lines().filter(is_ours).collect();
    if ours.is_empty() {
        return None;
    }
    Some(format!("git status shows\n{}", ours.join("\n")))
}

/// No worker has anything under way.
fn records(stage: &Stage) -> Vec<String> {
    let workers = RunDir::in_git_folder(&stage.path(".git")).workers();
    let attempts = workers.into_iter().map(|(_, folder)| folder.attempt());
    let mut found: Vec<String> =
        attempts.filter(|note| note.exists()).map(|note| format!("{note} is left")).collect();
    let begun = stage.repo.git(["for-each-ref", "refs/ralph/begun"]);
    if !begun.is_empty() {
        found.push(format!("refs are left:\n{begun}"));
    }
    found
}
