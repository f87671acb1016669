//! What must be true after a campaign's acts, whatever they were.

use std::time::Duration;

use anyhow::Result;
use camino::Utf8Path;
use ralph_base::linux;
use ralph_base::state::{Lock, RunDir, StateDir};
use test_support::TestRepo;

use super::stage::{Ran, Stage};
use super::users_work::UsersWork;

/// Where the work of a run ends up, and what a person left there.
pub(super) struct End<'a> {
    /// The branch with the work.
    pub(super) target: &'a str,
    /// Lines that a person added to the plan.
    pub(super) notes: &'a str,
    /// Whether an uncommitted path is the user's own.
    pub(super) is_users: &'a dyn Fn(&str) -> bool,
}

/// The branch that is checked out.
pub(super) const CHECKED_OUT: &str = "HEAD";

/// Checks after a kill and before the next start that nothing of the user's has changed.
pub(super) fn after_a_kill(stage: &Stage) -> Vec<String> {
    let mut found = stage.work.differences(&UsersWork::read(&stage.repo));
    found.extend(sound(&stage.repo));
    found
}

/// Checks after an undisturbed start that it completed, and that everything is as it should be.
pub(super) fn after_the_end(stage: &Stage, ran: &Ran) -> Vec<String> {
    let end = End { target: CHECKED_OUT, notes: "", is_users: &UsersWork::is_users };
    after(stage, ran, &end)
}

/// The same checks where a person worked in the project too.
pub(super) fn after(stage: &Stage, ran: &Ran, end: &End<'_>) -> Vec<String> {
    let mut found = Vec::new();
    if ran.hung || ran.code != Some(stage.code) {
        found.push(format!("the run ended with {:?} (hung: {})", ran.code, ran.hung));
    }
    found.extend(plan(stage, end));
    let landed = landed(stage, end.target);
    found.extend(landed.unwrap_or_else(|error| vec![format!("no commit to check: {error:#}")]));
    found.extend(records(stage, end.target));
    found.extend(stage.work.differences(&UsersWork::read(&stage.repo)));
    found.extend(uncommitted(stage, end.is_users));
    found.extend(sound(&stage.repo));
    found.extend(submodule(stage));
    found.extend(leftovers(stage));
    found
}

/// Checks that the plan is ticked for what landed, and contains what a person wrote.
fn plan(stage: &Stage, end: &End<'_>) -> Vec<String> {
    let committed = stage.git(&["show", &format!("{}:{}", end.target, stage.plan)]);
    let committed = committed.unwrap_or_default();
    if end.target != CHECKED_OUT {
        // The branch that is checked out may have diverged since.
        let is_right = committed.starts_with(&stage.done);
        return if is_right { Vec::new() } else { vec![format!("the plan is\n{committed}")] };
    }
    let wanted = format!("{}{}", stage.done, end.notes);
    let texts = [("on disk", stage.read(stage.plan)), ("committed", committed)];
    let wrong = texts.into_iter().filter(|(_, text)| *text != wanted);
    wrong.map(|(place, text)| format!("the plan {place} is\n{text}")).collect()
}

/// Checks that each story has exactly one commit, and that each commit contains its story and
/// nothing else, passes its check when it is checked out alone, and is what a check has run on.
fn landed(stage: &Stage, target: &str) -> Result<Vec<String>> {
    let format = "--format=%H %(trailers:key=Ralph-Story,valueonly=true,separator=)";
    let listed = stage.repo.git(["log", "--reverse", format, target]);
    let commits = listed.lines().filter_map(|line| line.split_once(' '));
    let commits: Vec<(&str, &str)> = commits.filter(|(_, story)| !story.is_empty()).collect();
    let mut ids: Vec<&str> = commits.iter().map(|(_, story)| *story).collect();
    ids.sort_unstable();
    let mut found = Vec::new();
    if ids != stage.stories {
        found.push(format!("what landed is {ids:?}"));
    }
    let clone = stage.repo.scratch().path("checked-out");
    if clone.exists() {
        fs_err::remove_dir_all(&clone)?;
    }
    let (from, to) = (stage.repo.root().as_str(), clone.as_str());
    stage.repo.git(["clone", "-q", "--shared", "--no-checkout", from, to]);
    for (commit, story) in commits {
        stage.repo.git_in(clone.as_std_path(), ["checkout", "-q", "--detach", commit]);
        let file = ["made", "counted"].map(|folder| clone.join(format!("{folder}/{story}.txt")));
        let texts = file.map(|file| fs_err::read_to_string(file).unwrap_or_default());
        if texts.concat() != format!("all of {story}\n") {
            found.push(format!("{commit} ({story}) holds {texts:?} as its work"));
        }
        let (passes, is_seen) = stage.check(&clone)?;
        if !passes || !is_seen {
            found.push(format!("{commit} ({story}): passes: {passes}, checked so: {is_seen}"));
        }
        let files = stage.repo.git(["show", "--format=", "--name-only", commit]);
        let others = files.lines().filter(|path| !may_be_committed(stage, path));
        found.extend(others.map(|path| format!("{commit} ({story}) holds {path}")));
    }
    Ok(found)
}

/// Whether a path may be in a commit of the loop.
fn may_be_committed(stage: &Stage, path: &str) -> bool {
    let below = path.strip_prefix(".ralph/").unwrap_or("state");
    let visible = [".gitignore", "config.toml", "guardrails.md"];
    path.starts_with("made/US-")
        || path.starts_with("counted/US-")
        || [stage.plan, "shared.txt", "count.txt", "progress.md"].contains(&path)
        // These are from an agent that harms its copy.
        || [".gitignore", ".gitattributes", ".gitmodules"].contains(&path)
        || below.starts_with("PRD-")
        || visible.contains(&below)
}

/// Checks that journal and progress are complete, and record each story once.
fn records(stage: &Stage, target: &str) -> Vec<String> {
    let journal = stage.read(".ralph/events.jsonl");
    let is_torn = |line: &&str| serde_json::from_str::<serde_json::Value>(line).is_err();
    let torn = journal.lines().filter(is_torn);
    let mut found: Vec<String> = torn.map(|line| format!("a torn line: {line}")).collect();
    let path = Utf8Path::new(stage.plan).with_file_name("progress.md");
    let progress = match target {
        CHECKED_OUT => stage.read(path.as_str()),
        _ => stage.git(&["show", &format!("{target}:{path}")]).unwrap_or_default(),
    };
    let done = progress.matches("- Status: SUCCESS").count();
    if done != stage.stories.len() {
        found.push(format!("the progress lists {done} successes:\n{progress}"));
    }
    let commits = progress.lines().filter_map(|line| line.strip_prefix("- Commit: "));
    for commit in commits.filter(|commit| *commit != "none") {
        let subject = stage.git(&["log", "-1", "--format=%s", commit, "--"]).unwrap_or_default();
        if !subject.starts_with("feat(") {
            found.push(format!("the progress names {commit}, which is {subject:?}"));
        }
    }
    found
}

/// Checks that git shows the user's uncommitted files and none of ours.
fn uncommitted(stage: &Stage, is_users: &dyn Fn(&str) -> bool) -> Option<String> {
    let shown = stage.repo.git(["status", "--porcelain", "--untracked-files=all"]);
    let is_ours = |line: &&str| line.get(3..).is_none_or(|path| !is_users(path));
    let ours: Vec<&str> = shown.lines().filter(is_ours).collect();
    (!ours.is_empty()).then(|| format!("git status shows\n{}", ours.join("\n")))
}

/// How often, and at which interval, `git fsck` is repeated while it reports errors.
const FSCK_TRIES: u32 = 5;
const FSCK_PAUSE: Duration = Duration::from_millis(300);

/// Checks that `git fsck` finds no errors. An object that another git is just writing is reported
/// as missing; one that really is missing stays so.
fn sound(repo: &TestRepo) -> Option<String> {
    let mut complaint = fsck(repo);
    for _ in 1..FSCK_TRIES {
        complaint.as_ref()?;
        std::thread::sleep(FSCK_PAUSE);
        complaint = fsck(repo);
    }
    complaint
}

fn fsck(repo: &TestRepo) -> Option<String> {
    let checked = repo.try_git(repo.root().as_std_path(), ["fsck", "--strict", "--no-dangling"]);
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    // A saved attempt contains what the agent wrote, for instance an invalid `.gitmodules`.
    let is_harmless = |line: &&str| line.starts_with("notice:") || line.contains("gitmodulesParse");
    let complaints = said.lines().filter(|line| !is_harmless(line)).count();
    let found = String::from_utf8_lossy(&checked.stdout);
    let is_sound = checked.status.success() && complaints == 0;
    (!is_sound).then(|| format!("git fsck ({}): {found}{said}", checked.status))
}

/// Checks that the submodule, if there is one, is unchanged.
fn submodule(stage: &Stage) -> Option<String> {
    if !stage.path(".gitmodules").exists() {
        return None;
    }
    let status = ["status", "--porcelain", "--branch"];
    let now = stage.repo.git_in(stage.path("lib").as_std_path(), status);
    (now != "## main...origin/main\n").then(|| format!("the submodule is at {now}"))
}

/// Checks that no lock, note of ours, temporary file or process is left.
fn leftovers(stage: &Stage) -> Vec<String> {
    let mut found = Vec::new();
    let state = StateDir::of_project(stage.repo.root());
    let run_dir = RunDir::in_git_folder(&stage.path(".git"));
    if Lock::holder(&run_dir.lock()).is_some() {
        found.push(format!("{} is still held", run_dir.lock()));
    }
    let attempt = run_dir.attempt();
    let notes = [state.current_story(), state.checkpoint()];
    walk(stage.repo.root(), &mut |path| {
        let name = path.file_name().unwrap_or_default();
        let is_attempt = path.starts_with(run_dir.root()) && attempt.file_name() == Some(name);
        let is_lock = path.starts_with(stage.path(".git")) && name.ends_with(".lock");
        let is_temporary = name.ends_with(".tmp") || name.starts_with(".ralph-");
        if is_attempt || is_lock || is_temporary || notes.iter().any(|note| note == path) {
            found.push(format!("{path} is left"));
        }
    });
    let refs = stage.repo.git(["for-each-ref", "refs/ralph/begun"]);
    if !refs.is_empty() {
        found.push(format!("refs are left:\n{refs}"));
    }
    found.extend(processes(stage));
    found
}

/// Reports the processes that are still running.
pub(super) fn processes(stage: &Stage) -> Option<String> {
    let names = stage.processes().into_iter().map(|pid| {
        String::from_utf8_lossy(&linux::arguments(pid.cast_signed()).join(&b' ')).into_owned()
    });
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| format!("processes are left: {}", names.join(", ")))
}

/// Calls `each` for every file below a folder.
fn walk(folder: &Utf8Path, each: &mut dyn FnMut(&Utf8Path)) {
    for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(entry.path(), each);
        } else {
            each(entry.path());
        }
    }
}
