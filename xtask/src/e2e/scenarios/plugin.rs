//! The plugin: installed from a marketplace on disk, used, and taken out again.

use anyhow::Result;
use camino::Utf8PathBuf;
use ralph_project::install::{HOOK_NAMES, NOT_IN_PATH, plan_uninstall};
use scripted_model::{Answer, Script};
use serde_json::json;

use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::stage::Stage;
use crate::{plugin, run};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::new("plugin-comes-works-and-goes", &["ralph-pre-tool", "ralph-on-stop"], whole_life)
        .needing((2, 1, 101), UNKNOWN_EVENT),
    Scenario::new("plugin-without-binaries-says-so-once", &[], no_binaries)
        .needing((2, 1, 101), UNKNOWN_EVENT),
];

pub(super) const UNKNOWN_EVENT: &str = "one unknown event switches every hook of the plugin off";

/// The plugin with this stage's hooks inside, in a marketplace; the settings register none any more.
pub(super) fn built(stage: &Stage<'_>) -> Result<Utf8PathBuf> {
    let scratch = stage.repo.scratch();
    let (binaries, marketplace) = (scratch.dir("built"), scratch.path("marketplace"));
    for hook in HOOK_NAMES {
        fs_err::rename(stage.place().hooks.join(hook), binaries.join(hook))?;
    }
    let program = stage.binaries.join("ralph-loop");
    fs_err::os::unix::fs::symlink(program, binaries.join("ralph-loop"))?;
    plugin::build(&binaries, &marketplace)?;
    without_settings(stage)?;
    Ok(marketplace)
}

fn without_settings(stage: &Stage<'_>) -> Result<()> {
    plan_uninstall(&stage.place())?.apply()?;
    stage.repo.commit_all("no settings");
    Ok(())
}

fn install(stage: &Stage<'_>, marketplace: &str) -> Result<()> {
    stage.ask_client(&["plugin", "marketplace", "add", marketplace])?;
    stage.ask_client(&["plugin", "install", "ralph-loop@ralph"]).map(drop)
}

fn whole_life(stage: &mut Stage<'_>) -> Result<()> {
    let marketplace = built(stage)?;
    for part in [marketplace.clone(), marketplace.join("plugin"), run::root()] {
        stage.ask_client(&["plugin", "validate", "--strict", part.as_str()])?;
    }
    expect_guarded(stage, false)?;
    install(stage, marketplace.as_str())?;
    expect_guarded(stage, true)?;
    on_terminal(stage)?;
    stage.ask_client(&["plugin", "uninstall", "ralph-loop@ralph"])?;
    stage.ask_client(&["plugin", "marketplace", "remove", "ralph"])?;
    expect_guarded(stage, false)?;
    expect_gone(stage)
}

/// A print-mode session is guarded and offered the skills, or neither.
fn expect_guarded(stage: &mut Stage<'_>, is_guarded: bool) -> Result<()> {
    stage.repo.write("junk/file", "junk\n");
    let script = Script::of([Answer::bash("git clean -fd junk"), Answer::text("Done.")]);
    let run = stage.run("clean up", script)?;
    run.succeeded()?;
    let remains = stage.root().join("junk/file").exists();
    expect::same("whether the guard held the command back", &remains, &is_guarded)?;
    for skill in ["loop", "orchestrator", "plan", "status"] {
        let is_listed = run.stdout.contains(&format!("\"ralph-loop:{skill}\""));
        expect::same(skill, &is_listed, &is_guarded)?;
    }
    Ok(())
}

/// The guard and the gates act on a terminal, too.
fn on_terminal(stage: &mut Stage<'_>) -> Result<()> {
    let script = Script::of([
        Answer::bash("git clean -fd junk"),
        Answer::bash("ralph-loop verified --begin loop --task x"),
        Answer::text("I stop here."),
        Answer::bash("touch ~/held"),
    ]);
    let run = stage.run_on_terminal("held", "/ralph-loop:status", script)?;
    expect::contains(&run.told(0)?, "Run `ralph-loop status`")?;
    expect::contains(&run.told(1)?, "forbidden by rule git-discard")?;
    expect::contains(&run.told(2)?, "the session is held until")?;
    expect::contains(&run.told(3)?, "LOOP gate failed")
}

/// What remains is the client's own: it keeps the files of a plugin for some days, as orphaned.
fn expect_gone(stage: &Stage<'_>) -> Result<()> {
    let own = stage.home().join(".claude");
    for file in
        ["settings.json", "plugins/installed_plugins.json", "plugins/known_marketplaces.json"]
    {
        expect::lacks(&fs_err::read_to_string(own.join(file))?, "ralph")?;
    }
    let cache = own.join("plugins/cache/ralph/ralph-loop");
    for version in cache.read_dir_utf8().into_iter().flatten().flatten() {
        let is_orphaned = version.path().join(".orphaned_at").exists();
        expect::that(is_orphaned, "what the client keeps is marked for removal")?;
    }
    expect::that(!stage.root().join(".claude").exists(), "nothing is in the project")
}

/// The plugin of the sources, on a machine without our programs.
fn no_binaries(stage: &mut Stage<'_>) -> Result<()> {
    without_settings(stage)?;
    install(stage, run::root().as_str())?;
    let turns = ["echo one", "echo two; false"].map(Answer::bash);
    let run = stage.run("work", Script::of(turns.into_iter().chain([Answer::text("Done.")])))?;
    run.succeeded()?;
    run.had_turns(3)?;
    expect::contains(&run.told(1)?, "one")?;
    expect::contains(&run.told(2)?, "two")?;
    let told = json!({"systemMessage": NOT_IN_PATH}).to_string();
    let told = json!({"output": format!("{told}\n")}).to_string();
    let told = told.trim_matches(['{', '}']);
    expect::same("how often it is said", &run.stdout.matches(told).count(), &1)
}
