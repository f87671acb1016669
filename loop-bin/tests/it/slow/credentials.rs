//! What of the user's credentials an attempt can get, by settings, commits and copies.

use std::os::unix::fs::symlink;

use crate::sandbox::is_missing;
use crate::stage::{ONE, Ran, Stage};

/// Runs the loop with only the notes additionally writable.
fn run(stage: &Stage, args: &[&str]) -> Ran {
    let mut command = stage.command(args);
    command.env("RALPH_SANDBOX_WRITE", stage.note_path("")).output().unwrap().into()
}

#[test]
fn values_in_git_settings_stay_outside() {
    if is_missing() {
        return;
    }
    let stage = Stage::new("works", ONE);
    let secret = "x1y2z3w4x1y2z3w4";
    for (key, value) in [
        ("remote.origin.url", format!("https://ada:{secret}@git.example/a.git")),
        ("http.https://git.example/.extraheader", format!("AUTHORIZATION: basic {secret}")),
        ("credential.helper", format!("!echo password={secret}")),
        (&format!("url.https://ada:{secret}@git.example/.insteadof"), "https://g/".to_owned()),
        ("sendemail.smtppass", secret.to_owned()),
        ("alias.st", "status".to_owned()),
    ] {
        stage.repo.git(["config", key, &value]);
    }
    let home = stage.repo.scratch().path("home");
    let user = home.join(".gitconfig");
    let known = fs_err::read_to_string(&user).unwrap_or_default();
    let more = format!("{known}[github]\n\ttoken = {secret}\n[alias]\n\tci = commit\n");
    fs_err::write(&user, more).unwrap();
    let look = format!(
        "{{ cat {0}/.git/config; cat .git/config; git config --list; cat ~/.gitconfig; cat \
         \"$GIT_CONFIG_GLOBAL\"; }} >\"$AGENT_NOTES/seen\" 2>/dev/null; git status",
        stage.repo.root()
    );
    let agent = format!("cat >/dev/null; {look}; echo x >x.txt");
    run(&stage, &["--agent", &agent, "--verify", "true"]).ended(0).says("US-001 done");
    let seen = stage.note("seen");
    assert!(!seen.contains(secret), "{seen}");
    for known in
        ["alias.st=status", "alias.ci=commit", "remote.origin.url=https://git.example/a.git"]
    {
        assert!(seen.contains(known), "{known}: {seen}");
    }
}

#[test]
fn a_copy_does_not_choose_the_settings_of_its_sandbox() {
    if is_missing() {
        return;
    }
    let stage = Stage::new("works", ONE);
    let scratch = stage.repo.scratch();
    scratch.file("home/.ssh/id", "secret");
    stage.run(&[]).ended(0);
    let copy = stage.copy().unwrap();
    // Another project with settings of an agent's, which the copy says it belongs to.
    let evil = scratch.dir("evil/.git/objects");
    scratch.file("evil/.ralph/config.toml", "[sandbox]\nshow = [\"~/.ssh\"]\n");
    fs_err::write(copy.join(".git/objects/info/alternates"), format!("{evil}\n")).unwrap();
    fs_err::create_dir_all(copy.join(".ralph")).unwrap();
    let settings = "[sandbox]\nmode = \"off\"\nshow = [\"~/.ssh\"]\n";
    fs_err::write(copy.join(".ralph/config.toml"), settings).unwrap();
    let tried = stage.run_in(&copy, &["sandbox", "--", "sh", "-c", "cat ~/.ssh/id; touch tried"]);
    assert!(!tried.out.contains("secret") && copy.join("tried").exists(), "{}", tried.out);
    // Without a record of ours, no settings are taken from the copy.
    fs_err::remove_dir_all(scratch.path("home/.cache/ralph/copies")).unwrap();
    let tried = stage.run_in(&copy, &["sandbox", "--", "sh", "-c", "cat ~/.ssh/id"]);
    tried.ended(1).says("a copy whose project is not known");
}

#[test]
fn files_that_other_tools_execute_are_to_be_reviewed() {
    let stage = Stage::new("works", ONE);
    let agent = "cat >/dev/null; mkdir -p .github/workflows; echo 'on: push' >.github/workflows/ci.yml; \
                 echo '{}' >.mcp.json; echo x >x.txt";
    let ran = stage.run(&["--agent", agent, "--verify", "true"]);
    ran.ended(0).says("US-001 done");
    let report = stage.run(&["report", "--markdown"]);
    report.says("tools outside of the sandbox execute or obey .github/workflows/ci.yml, .mcp.json");
}

#[test]
fn data_folders_of_plugins_exist_before_the_sandbox_closes() {
    if is_missing() {
        return;
    }
    let stage = Stage::new("works", ONE);
    let scratch = stage.repo.scratch();
    let list =
        r#"{"version":2,"plugins":{"ralph-loop@ralph":[{"installPath":"/x"}],"a.b@c":[{}]}}"#;
    scratch.file("home/.claude/plugins/installed_plugins.json", list);
    run(&stage, &["--verify", "true"]).ended(0);
    for name in ["ralph-loop-ralph", "a-b-c"] {
        assert!(scratch.path("home/.claude/plugins/data").join(name).is_dir(), "{name}");
    }
}

/// Tools in folders that the sandbox hides, but that the `PATH` names, work as outside.
#[test]
fn a_check_can_run_a_tool_of_the_home_folder() {
    if is_missing() {
        return;
    }
    let stage = Stage::new("works", ONE);
    let scratch = stage.repo.scratch();
    scratch.script("home/.strange/1.0/bin/tool", "#!/bin/sh\ncat ~/.strange/1.0/lib/data\n");
    scratch.file("home/.strange/1.0/lib/data", "data");
    scratch.file("home/.strange/token", "secret");
    let bin = scratch.dir("home/.local/bin");
    symlink(scratch.path("home/.strange/1.0/bin/tool"), bin.join("tool")).unwrap();
    let check = "tool && ! cat ~/.strange/token";
    let mut command = stage.command(&["--verify", check]);
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    command.env("PATH", path).env("RALPH_SANDBOX_WRITE", stage.note_path(""));
    Ran::from(command.output().unwrap()).ended(0).says("US-001 done");
    // What is not shown is named, with the line that shows it.
    let stage = Stage::new("works", ONE);
    stage.repo.scratch().file("home/.strange/1.0/lib/data", "data");
    let check = ["--verify", "cat ~/.strange/1.0/lib/data", "--baseline", "check"];
    let refused = run(&stage, &check);
    refused.ended(9).says("show = [\"").says("home/.strange\"]");
}
