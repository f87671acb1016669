//! An agent that harms its copy in every way we know, and a user whose git settings cause trouble.
//! Whatever an attempt wrote is kept, the user's repository stays as it is, and the stories land.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;
use test_support::{TestRepo, signal};

use super::campaign::Round;
use super::dice::Dice;
use super::oracle::{self, CHECKED_OUT, End};
use super::stage::{PLANS, Project, Ran, Stage};
use super::users_work::UsersWork;

/// What may be done to a copy. Some acts make the attempt fail; the next one is not affected.
const ACTS: &str = "fifo fifo-ignore fifo-exclude fifo-plan fifo-progress filter encoding crlf unreadable \
    locked-folder no-git gitmodules index-lock push hooks worktree elsewhere nested commit rebase late \
    ticks empties";

/// What may be done to the project itself without harming the user's own files.
const ACTS_IN_PLACE: &str = "fifo filter encoding unreadable gitmodules worktree nested ticks";

/// How long a run may take to end when asked to.
const ENDING: Duration = Duration::from_secs(20);

const FIVE: Project = Project {
    agent: "hostile",
    config: "",
    check: "! grep -qs late made/*.txt\n",
    depends: &[],
    stories: 5,
};

/// The user's files that no run may change.
const OWN: [&str; 3] = [".ralph/config.toml", ".ralph/guardrails.md", ".claude/settings.json"];

pub(super) fn stage(binaries: &Utf8Path, dice: &mut Dice) -> Stage {
    let mut stage = Stage::new(&FIVE, binaries, dice.pick(&PLANS));
    stage.workers = 1 + dice.below(3);
    stage
}

pub(super) fn stage_in_place(binaries: &Utf8Path, _: &mut Dice) -> Stage {
    let mut stage = Stage::around(TestRepo::new(), &FIVE, binaries, PLANS[0]);
    stage.repo.write("shared.txt", "");
    stage.repo.write(stage.plan, FIVE.plan());
    stage.repo.commit_all("a project");
    stage.options.push("--in-place".to_owned());
    stage
}

/// Creates the user's branches, settings, hooks and uncommitted edits, and lists the agent's acts.
fn prepare(stage: &Stage, dice: &mut Dice, acts: &str) -> Result<()> {
    let repo = &stage.repo;
    repo.git(["branch", "precious"]);
    repo.git(["branch", "side"]);
    repo.git(["config", "filter.broken.clean", "false"]);
    repo.git(["config", "filter.broken.required", "true"]);
    if dice.below(2) == 0 {
        repo.git(["config", "core.safecrlf", "true"]);
    }
    repo.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
    repo.chmod(".git/hooks/pre-commit", 0o755);
    let config = stage.read(OWN[0]);
    repo.write(OWN[0], format!("{config}# not committed\n"));
    repo.write(OWN[1], "# Guardrails\n\n- Not committed either.\n");
    repo.write(OWN[2], "{}\n");
    stage.leave("seed", &dice.roll().to_string())?;
    stage.leave(
        "allowed",
        &acts.split_whitespace().map(|act| format!("{act}\n")).collect::<String>(),
    )
}

pub(super) fn play(stage: &Stage, round: &mut Round) -> Result<()> {
    play_with(stage, round, ACTS)
}

pub(super) fn play_in_place(stage: &Stage, round: &mut Round) -> Result<()> {
    play_with(stage, round, ACTS_IN_PLACE)
}

/// Plays a round. In one of four, the loop is interrupted in the middle and started again.
fn play_with(stage: &Stage, round: &mut Round, acts: &str) -> Result<()> {
    prepare(stage, &mut round.dice, acts)?;
    let before = own(stage);
    if round.dice.below(4) == 0 {
        interrupt(stage, round)?;
    }
    let ran = stage.run(None)?;
    round.acts.extend(stage.note("acts").lines().map(str::to_owned));
    round.found.extend(judged(stage, &ran));
    round.found.extend(kept(stage));
    round.found.extend(misbooked(stage));
    let after = own(stage);
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    // Lessons are appended to what the user wrote.
    let is_kept = |name: &String| match (before.get(name), after.get(name)) {
        (Some(before), Some(after)) if name.ends_with(OWN[1]) => after.starts_with(before),
        (before, after) => before == after,
    };
    let changed = names.into_iter().filter(|name| !is_kept(name));
    let difference =
        |name: &String| format!("{name} was {:?} and is {:?}", before.get(name), after.get(name));
    round.found.extend(changed.map(difference));
    Ok(())
}

fn interrupt(stage: &Stage, round: &mut Round) -> Result<()> {
    let instant = round.dice.part_of(round.usual);
    round.acts.push(format!("interrupted after {} ms", instant.as_millis()));
    let child = stage.start(None)?;
    std::thread::sleep(instant);
    let asked = Instant::now();
    signal("INT", child.id());
    let ran = stage.wait(child, asked)?;
    if ran.hung || ran.took > ENDING {
        round.found.push(format!("it took {:?} to end:\n{}", ran.took, ran.said));
    }
    // A signal before the loop handles signals ends it at once, and its git a little later.
    let since = Instant::now();
    while !stage.processes().is_empty() && since.elapsed() < ENDING {
        std::thread::sleep(Duration::from_millis(20));
    }
    round.found.extend(oracle::processes(stage));
    Ok(())
}

fn judged(stage: &Stage, ran: &Ran) -> Vec<String> {
    let is_users = |path: &str| {
        // In place, a repository that the agent created is not removed.
        let is_agents = path.starts_with("nested/") && !stage.options.is_empty();
        let is_own = path.starts_with(".claude/") || OWN.contains(&path);
        is_agents || is_own || UsersWork::is_users(path)
    };
    oracle::after(stage, ran, &End { target: CHECKED_OUT, notes: "", is_users: &is_users })
}

/// Checks that what every attempt wrote can be reached from a ref.
fn kept(stage: &Stage) -> Vec<String> {
    let Some(listed) = stage.git(&["rev-list", "--objects", "--all"]) else {
        return vec!["not every object can be reached".to_owned()];
    };
    let texts = stage.note("texts");
    let is_lost = |text: &&str| {
        let file = stage.repo.scratch().path("text");
        let _ = fs_err::write(&file, format!("{text}\n"));
        let id = stage.git(&["hash-object", "--no-filters", file.as_str()]).unwrap_or_default();
        id.trim().is_empty() || !listed.contains(id.trim())
    };
    texts.lines().filter(is_lost).map(|text| format!("no ref leads to \"{text}\"")).collect()
}

/// Checks that the tokens that the agents used are recorded, each once.
fn misbooked(stage: &Stage) -> Option<String> {
    let served: u64 =
        stage.note("served").lines().filter_map(|line| line.parse::<u64>().ok()).sum();
    let journal = stage.read(".ralph/events.jsonl");
    let events = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let is_finished = |event: &Value| event.get("event") == Some(&"iteration_finished".into());
    let booked = events.filter(is_finished).filter_map(|event| event.get("tokens")?.as_u64());
    let booked: u64 = booked.sum();
    (served != booked).then(|| format!("{served} tokens were served, and {booked} are booked"))
}

/// Returns the user's branches, settings, hooks and files.
fn own(stage: &Stage) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let refs = stage.repo.git(["for-each-ref", "--format=%(refname) %(objectname)"]);
    for (name, id) in refs.lines().filter_map(|line| line.split_once(' ')) {
        let is_loops = ["refs/ralph/", "refs/heads/ralph/", "refs/notes/ralph"]
            .iter()
            .any(|own| name.starts_with(own));
        // In place, the agent's branches are created in the project.
        let is_agents = name.starts_with("refs/heads/side-") && !stage.options.is_empty();
        if !is_loops && !is_agents && name != "refs/heads/main" {
            found.insert(name.to_owned(), id.to_owned());
        }
    }
    let hooks = stage.path(".git/hooks");
    let hooks = hooks.read_dir_utf8().into_iter().flatten().flatten();
    let mut files: Vec<Utf8PathBuf> = hooks.map(|hook| hook.path().to_owned()).collect();
    files.extend(OWN.map(|name| stage.path(name)));
    files.push(stage.path(".git/config"));
    for file in files {
        let text = fs_err::read(&file).unwrap_or_default();
        found.insert(file.into_string(), String::from_utf8_lossy(&text).into_owned());
    }
    found
}
