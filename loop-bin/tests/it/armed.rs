//! The guards stay armed: what registers our hooks, and the hooks themselves, are not the agent's.

use std::os::unix::fs::PermissionsExt;

use crate::stage::Stage;

const SHARED: &str = ".claude/settings.json";
const LOCAL: &str = ".claude/settings.local.json";
const HOOK: &str = ".claude/hooks/ralph-pre-tool";
const GUARDED: &str = r#"{"model":"x","hooks":{"PreToolUse":[{"matcher":"*","hooks":[
{"type":"command","command":"\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/ralph-pre-tool"}]}]}}
"#;

/// A project with a hook of ours and settings that register it; uncommitted if not said otherwise.
fn armed(settings: &str, is_committed: bool) -> Stage {
    let stage = Stage::new("works", "- [ ] US-001: First\n");
    stage.repo.write(settings, GUARDED);
    stage.repo.write(HOOK, "#!/bin/sh\n");
    stage.repo.chmod(HOOK, 0o755);
    stage.repo.write(".claude/hooks/lint", "#!/bin/sh\n");
    if is_committed {
        stage.repo.commit_all("hooks");
    }
    stage
}

#[test]
fn what_an_agent_empties_replaces_or_removes_is_put_back_and_told_once() {
    for (settings, is_committed) in [(SHARED, true), (SHARED, false), (LOCAL, true)] {
        for (act, told) in [
            (format!("echo '{{}}' >{settings}; cp /bin/true {HOOK}"), "changed"),
            ("rm -r .claude".to_owned(), "removed"),
            (format!("sed -i s/ralph-/my-/ {settings}; chmod -x {HOOK}"), "changed"),
        ] {
            for end in ["true", "git add -A; git commit -qm all", "exit 1"] {
                let stage = armed(settings, is_committed);
                let agent = format!("echo x >x.txt; {act}; {end}");
                let ran = stage.run(&["--agent", &agent, "--attempts", "1", "--verify", "true"]);
                for file in [settings, HOOK] {
                    let told = format!("{file} was {told} while the agent worked; put back");
                    assert_eq!(ran.out.matches(&told).count(), 1, "{act}; {end}: {}", ran.out);
                    assert!(!ran.out.contains(&format!("{file}: ")), "{}", ran.out);
                }
                assert_eq!(stage.read(settings), GUARDED, "{act}; {end}");
                let mode = fs_err::metadata(stage.repo.root().join(HOOK)).unwrap().permissions();
                assert_eq!(
                    (stage.read(HOOK).as_str(), mode.mode() & 0o777),
                    ("#!/bin/sh\n", 0o755)
                );
                if is_committed {
                    let changed = stage.repo.git(["diff", "--name-only", "HEAD", settings, HOOK]);
                    assert_eq!(changed, "", "{act}; {end}");
                }
            }
        }
    }
}

#[test]
fn other_settings_and_hooks_of_the_project_are_a_storys_to_change() {
    let stage = armed(LOCAL, true);
    stage.repo.write(SHARED, "{\"model\":\"x\"}\n");
    stage.repo.commit_all("settings");
    let agent = format!("echo '{{\"model\":\"y\"}}' >{SHARED}; echo true >>.claude/hooks/lint");
    let ran = stage.run(&["--agent", &format!("{agent}; echo x >x.txt")]);
    ran.ended(0);
    assert!(!ran.out.contains("put back"), "{}", ran.out);
    let files = stage.repo.git(["show", "--format=", "--name-only"]);
    assert!(files.starts_with(".claude/hooks/lint\n.claude/settings.json\n"), "{files}");
}

#[test]
fn no_settings_that_switch_all_hooks_off_come_from_an_agent() {
    let off = "{\"disableAllHooks\": true}\n";
    let agent = format!("echo x >x.txt; printf '{off}' >{LOCAL}");
    let stage = armed(SHARED, true);
    stage.run(&["--agent", &agent]).ended(0).says("settings.local.json was made while the agent");
    assert!(!stage.exists(LOCAL));
    let stage = armed(SHARED, true);
    stage.repo.write(LOCAL, "{}\n");
    stage
        .run(&["--agent", &agent])
        .ended(0)
        .says("settings.local.json was changed while the agent");
    assert_eq!(stage.read(LOCAL), "{}\n");
    let stage = armed(SHARED, true);
    stage.repo.write(LOCAL, off);
    stage.run(&["--agent", &agent]).ended(0);
    assert_eq!(stage.read(LOCAL), off, "the user's own choice");
}
