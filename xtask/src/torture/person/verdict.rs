//! What must be true when a run has ended that a person worked beside.

use std::process::Stdio;

use super::life::{MAIN, Person};
use super::{BLOCKED, BLOCKED_CODE, PLAN, STORIES, plan_text};
use crate::torture::oracle;
use crate::torture::stage::{Ran, Stage};

/// Where work waits that the person was in the way of.
const WAITING: &str = "ralph/main";

/// All that is wrong.
pub(super) fn of(stage: &Stage, person: &Person<'_>, ran: &Ran) -> Vec<String> {
    let mut found = person.found.clone();
    if ran.hung || ran.code != Some(BLOCKED_CODE) {
        found.push(format!("the run ended with {:?} (hung: {})", ran.code, ran.hung));
    }
    let waits = stage
        .repo
        .try_git(stage.repo.root().as_std_path(), ["rev-parse", "--verify", "--quiet", WAITING]);
    let waits = waits.status.success();
    if waits && person.obstacle.is_none() {
        found.push(format!("work waits on {WAITING}, and nobody was in its way"));
    }
    let target = if waits { WAITING } else { MAIN };
    found.extend(stories(stage, target));
    found.extend(plan(stage, person, target));
    found.extend(progress(stage, target));
    for (branch, commit) in &person.commits {
        let is_there = ["merge-base", "--is-ancestor", commit, branch];
        if !stage.repo.try_git(stage.repo.root().as_std_path(), is_there).status.success() {
            found.push(format!("their commit {commit} is not on {branch} any more"));
        }
    }
    found.extend(status(stage, person));
    found.extend(oracle::sound(&stage.repo));
    found.extend(oracle::leftovers(stage));
    if !found.is_empty() {
        found.push(format!("the person:\n{}", person.told()));
        found.push(format!("the loop said:\n{}", ran.said));
        found.push(stage.repo.git(["log", "--graph", "--all", "--format=%h %d %s", "-40"]));
    }
    found
}

/// Each story landed once, and each of those commits is what a check has seen.
fn stories(stage: &Stage, target: &str) -> Vec<String> {
    let mut found = Vec::new();
    let listed = stage.repo.git(["log", "--reverse", "--format=%H %s", target]);
    let ours = listed.lines().filter(|line| line.contains(" feat("));
    let ours: Vec<(&str, &str)> = ours.filter_map(|line| line.split_once(' ')).collect();
    for story in STORIES {
        let wanted = usize::from(story != BLOCKED);
        let landed = ours.iter().filter(|(_, subject)| subject.contains(&format!("feat({story})")));
        let landed = landed.count();
        if landed != wanted {
            found.push(format!("{story} landed {landed} times"));
        }
    }
    let clone = stage.repo.scratch().path("checked-out");
    let (from, to) = (stage.repo.root().as_str(), clone.as_str());
    stage.repo.git(["clone", "-q", "--shared", "--no-checkout", from, to]);
    let checked = stage.note("checked");
    for (commit, subject) in ours {
        stage.repo.git_in(clone.as_std_path(), ["checkout", "-q", "--detach", commit]);
        let sum =
            ["-c", "cat made/* mine/* shared.txt 2>/dev/null | cksum; ! grep -qs broken made/*"];
        let output =
            stage.program("sh").args(sum).current_dir(&clone).stderr(Stdio::null()).output();
        let Ok(output) = output else { continue };
        let sum = String::from_utf8_lossy(&output.stdout).into_owned();
        let story = subject.split(['(', ')']).nth(1).unwrap_or_default();
        let made = fs_err::read_to_string(clone.join(format!("made/{story}.txt")));
        if made.unwrap_or_default() != format!("all of {story}\n") {
            found.push(format!("{commit} ({subject}) does not hold its work"));
        }
        if !output.status.success() {
            found.push(format!("{commit} ({subject}) does not pass its check"));
        }
        if !checked.lines().any(|line| line == sum.trim_end()) {
            found.push(format!("{commit} ({subject}) was never checked as it is"));
        }
    }
    found
}

/// The plan is ticked for what landed, and holds what the person wrote.
fn plan(stage: &Stage, person: &Person<'_>, target: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut texts = vec![("committed", stage.repo.git(["show", &format!("{target}:{PLAN}")]))];
    if target == MAIN {
        texts.push(("on disk", stage.read(PLAN)));
    }
    for (place, text) in texts {
        let wanted = plan_text("x", "!");
        let notes: String = person.notes.iter().map(|line| format!("{line}\n")).collect();
        let is_right = match target {
            MAIN => text == format!("{wanted}{notes}"),
            // The branch may have gone its own way since.
            _ => text.starts_with(&wanted),
        };
        if !is_right {
            found.push(format!("the plan {place} is\n{text}"));
        }
    }
    found
}

/// Each success is told of once.
fn progress(stage: &Stage, target: &str) -> Option<String> {
    let path = PLAN.replace("plan.md", "progress.md");
    let shown = ["show", &format!("{target}:{path}")];
    let text = stage.repo.try_git(stage.repo.root().as_std_path(), shown).stdout;
    let text = String::from_utf8_lossy(&text).into_owned();
    let told = text.matches("- Status: SUCCESS").count();
    if told + 1 == STORIES.len() {
        return None;
    }
    Some(format!("the progress tells of {told} successes:\n{text}"))
}

/// Git shows nothing of ours.
fn status(stage: &Stage, person: &Person<'_>) -> Option<String> {
    let shown = stage.repo.git(["status", "--porcelain", "--untracked-files=all"]);
    // Not staged: untracked, or in the place of the story's where that landed in the same instant.
    let obstacle = person.obstacle.as_ref().map(|(name, _)| *name);
    let is_obstacle = |line: &str| {
        let path = line.strip_prefix("?? ").or_else(|| line.strip_prefix(" M "));
        path.is_some() && path == obstacle
    };
    let others: Vec<&str> = shown.lines().filter(|line| !is_obstacle(line)).collect();
    if others.is_empty() {
        return None;
    }
    Some(format!("git status shows\n{}", others.join("\n")))
}
