//! Operations that an attempt needs and that the sandbox allows.

use sandbox::Limits;

use super::world::{SECRET, Side, World, text};

#[test]
fn ordinary_work_is_possible() {
    for script in include_str!("ordinary.txt").lines().filter(|line| !line.starts_with('#')) {
        for side in [Side::Outside, Side::Inside] {
            let mut world = World::new();
            world.env.insert("TMPDIR".to_owned(), world.path("tmp").into_string());
            let output = world.run(side, script);
            assert!(output.status.success(), "{side:?} {script}: {}", text(&output));
        }
    }
}

#[test]
fn an_agent_reads_its_own_credentials_and_writes_its_own_data() {
    let mut world = World::new();
    world.agent = Some("claude");
    sandbox::create_folders(&[world.policy()]);
    assert!(world.run(Side::Inside, "cat \"$HOME/.claude/settings.json\"").status.success());
    let read = "cat \"$HOME/.claude/.credentials.json\"";
    assert_eq!(text(&world.run(Side::Inside, read)), SECRET);
    let write = "cd \"$HOME/.claude/projects/-copies-own\" && echo x >> old.jsonl && mkdir new && \
                 echo x > \"$HOME/.claude/.credentials.json\" && echo x > \"$HOME/.claude/todos/1\"";
    let output = world.run(Side::Inside, write);
    assert!(output.status.success(), "{}", text(&output));
    for name in [".codex/auth.json", ".ssh/id_ed25519"] {
        assert!(!world.run(Side::Inside, &format!("cat \"$HOME/{name}\"")).status.success());
    }
    let before = world.protected();
    let settings = "echo x >> \"$HOME\"/.claude/projects/-copies-other/memory/MEMORY.md; \
                    mkdir \"$HOME/.claude/projects/new\"; echo x > \"$HOME/.claude/settings.json\"; echo x > \"$HOME/.claude.json\"; \
                    mkdir \"$HOME/.claude/skills\"; rm -rf \"$HOME/.claude\"/*.json";
    world.run(Side::Inside, settings);
    assert_eq!(world.protected(), before);
    world.agent = Some("codex");
    assert!(!world.run(Side::Inside, read).status.success());
}

#[test]
fn caches_are_created_only_for_installed_programs() {
    let world = World::new();
    let script = "echo x > \"$HOME/.cache/pip/new\" && cat \"$HOME/.cache/pip/new\"";
    let output = world.run(Side::Inside, script);
    assert!(output.status.success(), "{}", text(&output));
    assert!(!world.path("home/.stack").exists());
}

#[test]
fn settings_widen_and_narrow_the_sandbox() {
    let mut world = World::new();
    world.scratch.dir("home/.tool");
    world.scratch.file("copies/own/.env", SECRET);
    world.scratch.file("home/.ssh/known_hosts", "hosts");
    world.settings.write = vec!["~/.tool".to_owned()];
    world.settings.hide = vec![".env".to_owned()];
    world.settings.show = vec!["~/.ssh/known_hosts".to_owned(), "~/.npmrc".to_owned()];
    let script =
        "echo x > \"$HOME/.tool/x\" && cat main.c \"$HOME/.ssh/known_hosts\" \"$HOME/.npmrc\"";
    let output = world.run(Side::Inside, script);
    assert!(output.status.success(), "{}", text(&output));
    for name in ["\"$COPY/.env\"", "\"$HOME/.ssh/id_ed25519\"", "\"$HOME/.pypirc\""] {
        let output = world.run(Side::Inside, &format!("cat {name}"));
        assert!(!output.status.success(), "{name}");
    }
}

#[test]
fn a_program_that_cannot_be_started_is_reported() {
    let world = World::new();
    let mut command = world.shell(Side::Inside, "");
    assert_eq!(command.output().unwrap().status.code(), Some(0));
    let door = command.get_program().to_owned();
    let mut command = sandbox::door(door.as_ref(), Some(&world.policy()), Limits::default())
        .command("no-such-program");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(126));
    assert!(text(&output).contains("sandbox: no-such-program: No such file"), "{}", text(&output));
    let output = command.env("RALPH_INTERNAL__SANDBOX", "{").output().unwrap();
    assert_eq!(output.status.code(), Some(126), "{}", text(&output));
}
