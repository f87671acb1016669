//! How the user learns what the sandbox refused.

use crate::sandbox::{ONE, is_missing, run_where};
use crate::stage::{Ran, Stage};

#[test]
fn a_check_that_the_sandbox_blocks_stops_the_start_with_a_remedy() {
    if is_missing() {
        return;
    }
    let stage = Stage::new("works", ONE);
    let other = stage.repo.scratch().dir("other");
    let run = |check: &str, writable: &str| {
        run_where(&stage, &["--verify", check, "--baseline", "check"], writable)
    };
    let check = format!("echo x >{other}/file");
    let ran = run(&check, "");
    ran.ended(9).says(&format!("fails in the sandbox, which refused {other}/file"));
    ran.says(&format!("under [sandbox], add `write = [\"{other}\"]`, or start with --sandbox off"));
    let secret = stage.repo.scratch().file("home/.netrc", "x");
    run("cat ~/.netrc", "").ended(9).says(&format!("add `show = [\"{secret}\"]`"));
    // No access is offered to home, other copies, settings of agents or system folders.
    stage.repo.scratch().file("home/.claude/settings.json", "{}");
    for path in ["~/new", "~/.claude/settings.json", "~/.cache/new", "/usr/bin/new"] {
        let ran = run(&format!("echo x >>{path}"), "");
        ran.ended(9).says("fails in the sandbox").says("list paths it writes in `write`");
    }
    // The check never runs outside the sandbox for comparison: the refused act would succeed.
    let precious = stage.repo.scratch().file("home/Documents/old", "x");
    let ran = run("rm ~/Documents/old; test -n \"$SSH_AUTH_SOCK\"", "");
    ran.ended(9).says("fails in the sandbox");
    run("rm -f ~/Documents/old 2>/dev/null; false", "").ended(9).says("if it passes without the");
    assert!(precious.exists());
    let missing = format!("{other}/missing");
    let ran = run(&check, &format!("{other}\n{missing}\n{}", stage.note_path("")));
    ran.ended(0).says("US-001 done");
    ran.says(&format!("{missing} in [sandbox] write does not exist"));
}

#[test]
fn sandbox_refusals_of_an_agent_are_in_the_report() {
    if is_missing() {
        return;
    }
    let stage = Stage::new("works", ONE);
    let other = stage.repo.scratch().dir("other");
    let agent = format!("cat >/dev/null; echo x >x.txt; echo x >{other}/file; true");
    run_where(&stage, &["--agent", &agent], "").ended(0);
    let report = stage.run(&["report", "--json"]);
    report.ended(0).says("sandbox").says(&format!("{other}/file"));
}

#[test]
fn the_sandbox_command_works_in_the_copy() {
    if is_missing() {
        return;
    }
    let stage = Stage::new("works", ONE);
    stage.run(&[]).ended(0);
    let copy = stage.copy().unwrap();
    let mut command = stage.command(&["sandbox", "--", "touch", "tried"]);
    let ran: Ran = command.current_dir(&copy).output().unwrap().into();
    ran.ended(0);
    assert!(copy.join("tried").exists());
}
