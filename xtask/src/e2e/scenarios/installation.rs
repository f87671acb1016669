//! Installing, installing again and uninstalling, beside the user's own hook.

use anyhow::Result;
use ralph_project::install::{HOOK_NAMES, plan_install, plan_uninstall};
use scripted_model::{Answer, Script};

use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::stage::Stage;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::new("install-twice-and-uninstall", &[], twice),
    Scenario::new("installed-guard-guards-until-it-is-uninstalled", &["ralph-pre-tool"], guards),
];

/// Settings with a hook that leaves a line for each shell command.
const OWN: &str = r#"{
    "env": {"COLOUR": "none"},
    "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "echo own >> \"$CLAUDE_PROJECT_DIR\"/own.log"}]}
        ]
    }
}
"#;

/// Replaces our hooks by the user's own settings, then installs into them.
fn install_beside_own(stage: &Stage<'_>) -> Result<()> {
    plan_uninstall(&stage.place())?.apply()?;
    expect::that(!stage.root().join(".claude").exists(), "nothing remains where nothing was")?;
    stage.repo.write(".claude/settings.json", OWN);
    stage.install(&stage.place(), false)
}

fn twice(stage: &mut Stage<'_>) -> Result<()> {
    install_beside_own(stage)?;
    let again = plan_install(&stage.place(), stage.binaries, stage.client.version, false)?;
    expect::that(again.is_empty(), "installing twice changes nothing")?;
    for hook in HOOK_NAMES {
        let says_so = r#">> "$CLAUDE_PROJECT_DIR"/ours.log"#;
        stage.stand_in(hook, &format!("cat > /dev/null; echo {hook} {says_so}"))?;
    }
    let script = || Script::of([Answer::bash("true"), Answer::text("Done.")]);
    stage.run("work", script())?.succeeded()?;
    for hook in HOOK_NAMES {
        expect::contains(&stage.read("ours.log"), hook)?;
    }
    expect::same("the user's own hook", &stage.read("own.log"), &"own\n".to_owned())?;
    plan_uninstall(&stage.place())?.apply()?;
    expect::same("the settings", &stage.read(".claude/settings.json"), &OWN.to_owned())?;
    expect::that(!stage.place().hooks.exists(), "the binaries are gone")?;
    let fired = stage.read("ours.log");
    stage.run("work on", script())?.succeeded()?;
    expect::same("what our hooks left", &stage.read("ours.log"), &fired)?;
    expect::same("the user's own hook", &stage.read("own.log"), &"own\nown\n".to_owned())
}

fn guards(stage: &mut Stage<'_>) -> Result<()> {
    let script = || Script::of([Answer::bash("git clean -fd junk"), Answer::text("Done.")]);
    stage.repo.write("junk/file", "junk\n");
    stage.run("clean up", script())?.succeeded()?;
    expect::that(stage.root().join("junk/file").exists(), "the guard held the command back")?;
    plan_uninstall(&stage.place())?.apply()?;
    stage.run("clean up", script())?.succeeded()?;
    expect::that(!stage.root().join("junk/file").exists(), "without the guard it runs")
}
