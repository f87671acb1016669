//! Settings that a team commits: who has the hooks in PATH is guarded, and who lacks them is told.

use anyhow::Result;
use camino::Utf8PathBuf;
use ralph_project::install::{NOT_IN_PATH, plan_team, plan_uninstall};
use scripted_model::{Answer, Script};

use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::session::Run;
use crate::e2e::stage::Stage;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::new("team-settings-find-the-hooks-in-path", &["ralph-pre-tool"], with_hooks),
    Scenario::new("team-settings-tell-who-lacks-the-hooks", &[], without_hooks)
        .needing((2, 0, 77), "it does not show what a hook says at the start"),
    Scenario::new("strict-team-settings-refuse-who-lacks-the-hooks", &[], strict)
        .needing((2, 0, 77), "a refused prompt is not explained in print mode"),
];

/// Commits such settings; the hooks are in the folder that is returned.
fn installed(stage: &Stage<'_>, strict: bool) -> Result<Utf8PathBuf> {
    let hooks = stage.repo.scratch().path("tools");
    fs_err::rename(&stage.place().hooks, &hooks)?;
    plan_team(&stage.place(), stage.client.version, strict)?.apply()?;
    stage.repo.commit_all("for everybody");
    Ok(hooks)
}

/// A session in which this folder is in PATH, too; it would delete a file.
fn work(stage: &mut Stage<'_>, folder: &str) -> Result<(Run, bool)> {
    stage.repo.write("junk/file", "junk\n");
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let turns = ["git clean -fd junk", "true"].map(Answer::bash);
    let script = Script::of(turns.into_iter().chain([Answer::text("Done.")]));
    let run = stage.run_with("clean up", script, &[("PATH", &path)])?;
    let remains = stage.root().join("junk/file").exists();
    Ok((run, remains))
}

fn with_hooks(stage: &mut Stage<'_>) -> Result<()> {
    let hooks = installed(stage, false)?;
    let (run, remains) = work(stage, hooks.as_str())?;
    run.succeeded()?;
    expect::that(remains, "the guard held the command back")?;
    expect::lacks(&run.stdout, NOT_IN_PATH)?;
    plan_uninstall(&stage.place())?.apply()?;
    expect::that(!stage.root().join(".claude").exists(), "nothing remains where nothing was")
}

fn without_hooks(stage: &mut Stage<'_>) -> Result<()> {
    installed(stage, false)?;
    let (run, remains) = work(stage, "/nowhere")?;
    run.succeeded()?;
    run.had_turns(3)?;
    expect::that(!remains, "nothing was held back")?;
    let said = run.stdout.lines().filter(|line| line.contains(NOT_IN_PATH)).count();
    expect::same("how often it is said", &said, &1)
}

fn strict(stage: &mut Stage<'_>) -> Result<()> {
    let hooks = installed(stage, true)?;
    let (run, remains) = work(stage, "/nowhere")?;
    run.had_turns(0)?;
    expect::that(remains, "nothing ran")?;
    expect::contains(&run.stdout, NOT_IN_PATH)?;
    // Where only the guard is missing, its tool calls are refused.
    fs_err::remove_file(hooks.join("ralph-pre-tool"))?;
    let (run, remains) = work(stage, hooks.as_str())?;
    run.succeeded()?;
    expect::that(remains, "the command did not run")?;
    expect::contains(&run.told(1)?, NOT_IN_PATH)
}
