//! What must be true afterwards, whatever was done to the loop.

use std::time::Duration;

use camino::Utf8Path;
use ralph_base::linux;
use ralph_base::state::{Lock, RunDir, StateDir};
use test_support::TestRepo;

use super::stage::{Ran, STORIES, Stage, plan_with};
use super::users_work::UsersWork;

/// After a kill and before the next start: nothing of the user's has changed.
pub(super) fn after_a_kill(stage: &Stage) -> Vec<String> {
    let mut found = stage.work.differences(&UsersWork::read(&stage.repo));
    found.extend(sound(&stage.repo));
    found
}

/// After a start that was left alone: it completed, and everything is as it should be.
pub(super) fn after_the_end(stage: &Stage, ran: &Ran) -> Vec<String> {
    let mut found = Vec::new();
    if ran.hung || ran.code != Some(0) {
        found.push(format!("the run ended with {:?} (hung: {})", ran.code, ran.hung));
    }
    let plan = stage.read(stage.plan);
    if plan != plan_with("x") {
        found.push(format!("the plan is\n{plan}"));
    }
    found.extend(commits(stage));
    found.extend(stage.work.differences(&UsersWork::read(&stage.repo)));
    found.extend(sound(&stage.repo));
    found.extend(submodule(stage));
    found.extend(records(stage));
    found.extend(leftovers(stage));
    if !found.is_empty() {
        found.push(format!("the loop said:\n{}", ran.said));
    }
    found
}

/// Each story has exactly one commit, each commit its story, and no file of the user's is in one.
fn commits(stage: &Stage) -> Vec<String> {
    let subjects = stage.repo.git(["log", "--format=%s"]);
    let mut made: Vec<&str> = subjects.lines().filter(|line| line.starts_with("feat(")).collect();
    made.sort_unstable();
    let wanted = STORIES.map(|id| format!("feat({id}): make the part of {id}"));
    let mut found = Vec::new();
    if made != wanted {
        found.push(format!("the commits are\n{subjects}"));
    }
    let files = stage.repo.git(["log", "--format=", "--name-only", "--grep=^feat("]);
    let of_others = |path: &&str| {
        let expected = path.starts_with("made/US-") || path.starts_with(".ralph/");
        let known = [stage.plan, "shared.txt", "progress.md"].contains(path);
        !path.is_empty() && (UsersWork::is_users(path) || !(expected || known))
    };
    found.extend(files.lines().filter(of_others).map(|path| format!("{path} was committed")));
    let state = files.lines().filter(|path| path.starts_with(".ralph/") && !is_visible(path));
    found.extend(state.map(|path| format!("{path} was committed, which is state")));
    for id in STORIES {
        let shown = ["show", &format!("HEAD:made/{id}.txt")];
        let shown = stage.repo.try_git(stage.repo.root().as_std_path(), shown).stdout;
        if shown != format!("all of {id}\n").as_bytes() {
            let shown = String::from_utf8_lossy(&shown);
            found.push(format!("made/{id}.txt is committed as {shown:?}"));
        }
    }
    found
}

/// What of `.ralph/` is for git to see.
fn is_visible(path: &str) -> bool {
    let below = path.trim_start_matches(".ralph/");
    let files = [".gitignore", "config.toml", "guardrails.md"];
    below.starts_with("PRD-") || below.starts_with("hooks/") || files.contains(&below)
}

/// How often, and after which pause, git is asked about a repository that it complains of.
const FSCK_TRIES: u32 = 5;
const FSCK_PAUSE: Duration = Duration::from_millis(300);

/// The repository is as git wants it. What a git that outlived its loop writes while another one
/// checks is called missing by the latter; what really is missing stays so.
pub(super) fn sound(repo: &TestRepo) -> Vec<String> {
    let mut complaint = fsck(repo);
    for _ in 1..FSCK_TRIES {
        if complaint.is_none() {
            break;
        }
        std::thread::sleep(FSCK_PAUSE);
        complaint = fsck(repo);
    }
    complaint.into_iter().collect()
}

fn fsck(repo: &TestRepo) -> Option<String> {
    let checked = repo.try_git(repo.root().as_std_path(), ["fsck", "--strict", "--no-dangling"]);
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    let complaints = said.lines().filter(|line| !line.starts_with("notice:")).count();
    // What is missing or broken is told on the other channel.
    let found = String::from_utf8_lossy(&checked.stdout);
    let is_sound = checked.status.success() && complaints == 0;
    (!is_sound).then(|| format!("git fsck ({}): {found}{said}", checked.status))
}

/// The submodule, if there is one, is as it was.
fn submodule(stage: &Stage) -> Option<String> {
    let folder = stage.path("lib");
    let status = ["status", "--porcelain", "--branch"];
    let said = |status| stage.repo.git_in(folder.as_std_path(), status);
    let now = stage.path(".gitmodules").exists().then(|| said(status))?;
    (now != "## main...origin/main\n").then(|| format!("the submodule is at {now}"))
}

/// Journal and progress are whole, and tell of each story once.
fn records(stage: &Stage) -> Vec<String> {
    let mut found = Vec::new();
    let journal = stage.read(".ralph/events.jsonl");
    for line in journal.lines() {
        if serde_json::from_str::<serde_json::Value>(line).is_err() {
            found.push(format!("a line of the journal is torn: {line}"));
        }
    }
    let progress = stage.path(stage.plan).with_file_name("progress.md");
    let progress = fs_err::read_to_string(progress).unwrap_or_default();
    let done = progress.matches("- Status: SUCCESS").count();
    if done != STORIES.len() {
        found.push(format!("the progress tells of {done} successes:\n{progress}"));
    }
    let commits = progress.lines().filter_map(|line| line.strip_prefix("- Commit: "));
    for commit in commits.filter(|commit| *commit != "none") {
        let shown = ["log", "-1", "--format=%s", commit, "--"];
        let shown = stage.repo.try_git(stage.repo.root().as_std_path(), shown).stdout;
        if !shown.starts_with(b"feat(") {
            let shown = String::from_utf8_lossy(&shown);
            found.push(format!("the progress names {commit}, which is {shown:?}"));
        }
    }
    found
}

/// No lock, no note of ours, no temporary file and no process is left.
pub(super) fn leftovers(stage: &Stage) -> Vec<String> {
    let mut found = Vec::new();
    let state = StateDir::of_project(stage.repo.root());
    let run_dir = RunDir::in_git_folder(&stage.path(".git"));
    if Lock::holder(&run_dir.lock()).is_some() {
        found.push(format!("{} is still held", run_dir.lock()));
    }
    for note in [run_dir.attempt(), state.current_story(), state.checkpoint()] {
        if note.exists() {
            found.push(format!("{note} is left"));
        }
    }
    walk(stage.repo.root(), &mut |path| {
        let name = path.file_name().unwrap_or_default();
        let in_git = path.starts_with(stage.path(".git"));
        let is_lock = in_git && name.ends_with(".lock");
        let is_temporary = name.ends_with(".tmp") || name.starts_with(".ralph-");
        if is_lock || is_temporary {
            found.push(format!("{path} is left"));
        }
    });
    found.extend(processes(stage));
    found
}

/// Whoever lives on.
pub(super) fn processes(stage: &Stage) -> Option<String> {
    let names = stage.processes().into_iter().map(|pid| {
        String::from_utf8_lossy(&linux::arguments(pid.cast_signed()).join(&b' ')).into_owned()
    });
    let names: Vec<String> = names.collect();
    if names.is_empty() {
        return None;
    }
    Some(format!("processes are left: {}", names.join(", ")))
}

/// Every file below a folder.
pub(super) fn walk(folder: &Utf8Path, each: &mut dyn FnMut(&Utf8Path)) {
    for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(entry.path(), each);
        } else {
            each(entry.path());
        }
    }
}
