//! Installing, installing again and uninstalling, beside the user's own hook.

use anyhow::Result;
use ralph_project::install::{HOOK_NAMES, plan_install, plan_uninstall};
use scripted_model::{Answer, Script};

use super::whole_loop::{VERIFY, prepare};
use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::stage::Stage;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::new("install-twice-and-uninstall", &[], twice),
    Scenario::new("installed-guard-guards-until-it-is-uninstalled", &["ralph-pre-tool"], guards),
    Scenario::new("hooks-that-are-switched-off-are-named", &[], switched_off),
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
    expect_guarded(stage, &[], true)?;
    plan_uninstall(&stage.place())?.apply()?;
    expect_guarded(stage, &[], false)
}

/// A session with these arguments is guarded, or it is not.
fn expect_guarded(stage: &mut Stage<'_>, args: &[&str], is_guarded: bool) -> Result<()> {
    stage.repo.write("junk/file", "junk\n");
    let script = Script::of([Answer::bash("git clean -fd junk"), Answer::text("Done.")]);
    stage.run_given(args, "clean up", script)?.succeeded()?;
    let remains = stage.root().join("junk/file").exists();
    expect::same("whether the guard held the command back", &remains, &is_guarded)
}

/// Whichever settings say so, the client runs no hook, and the loop says it beforehand; of several
/// settings the narrowest counts.
fn switched_off(stage: &mut Stage<'_>) -> Result<()> {
    const SAID: &str = "set `disableAllHooks`, so no hooks guard the agent";
    prepare(stage, "# Plan\n\n- [ ] US-001: Write one\n", VERIFY)?;
    let (no, off, on) = ("{}", r#"{"disableAllHooks":true}"#, r#"{"disableAllHooks":false}"#);
    let ours = stage.read(".claude/settings.json");
    let ours_off = ours.replacen('{', r#"{"disableAllHooks": true,"#, 1);
    for (user, shared, local, args, is_off) in [
        (off, &ours, no, &[][..], true),
        (no, &ours_off, no, &[], true),
        (no, &ours, off, &[], true),
        (off, &ours, on, &[], false),
        (no, &ours, no, &["--settings", off], true),
    ] {
        stage.repo.scratch().file("home/.claude/settings.json", user);
        stage.repo.write(".claude/settings.json", shared);
        stage.repo.write(".claude/settings.local.json", local);
        stage.repo.git(["commit", "-qa", "--allow-empty", "-m", "settings"]);
        expect_guarded(stage, args, !is_off)?;
        let given: String = args.iter().map(|arg| format!(" '{arg}'")).collect();
        let agent = format!("claude -p --dangerously-skip-permissions{given}");
        for ask in ["doctor", "--dry-run"] {
            let answer = stage.ask_loop(ask, &agent)?;
            expect::same(ask, &answer.contains(SAID), &is_off)?;
        }
    }
    Ok(())
}
