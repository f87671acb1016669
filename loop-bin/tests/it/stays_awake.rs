//! A run keeps the machine awake, and lets it sleep when it is over, however it ends.

use std::process::Command;

use crate::stage::{Ran, Stage, executable, is_alive, until};

const ONE: &str = "- [ ] US-001: First\n";

/// The loop with a keeper of its own on the search path.
fn command(stage: &Stage, args: &[&str], keeper: &str) -> Command {
    let bin = stage.note_path("bin");
    fs_err::create_dir_all(&bin).unwrap();
    executable(&bin.join("systemd-inhibit"), &format!("#!/bin/sh\n{keeper}\n"));
    let mut command = stage.command(args);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{bin}:{path}"));
    command
}

/// One that leaves its process id, and runs the program as the real one does.
const KEEPER: &str = r#"echo "$*" >$AGENT_NOTES/asked; echo $$ >$AGENT_NOTES/keeper
while [ "${1#--}" != "$1" ]; do shift; done; "$@"; echo over >>$AGENT_NOTES/over"#;

fn run(mut command: Command) -> Ran {
    command.output().unwrap().into()
}

#[test]
fn the_machine_is_kept_awake_until_the_run_ends() {
    let stage = Stage::new("works", ONE);
    let agent = "cat >/dev/null; cp $AGENT_NOTES/over . 2>/dev/null; echo x >x.txt";
    let ran = run(command(&stage, &["--agent", agent], KEEPER));
    ran.ended(0).says("the machine stays awake during the run (systemd-inhibit)");
    assert!(stage.note("asked").starts_with("--what=idle:sleep --who=ralph-loop "));
    assert!(!stage.exists("over"), "it was over while the agent worked");
    let keeper = stage.note("keeper");
    until("the keeper has ended", || !is_alive(keeper.trim()));
}

#[test]
fn it_may_sleep_after_the_loop_was_killed() {
    let stage = Stage::new("works", ONE);
    let agent = "cat >/dev/null; touch $AGENT_NOTES/works; sleep 600";
    let mut child = command(&stage, &["--agent", agent], KEEPER).spawn().unwrap();
    until("the agent works", || stage.note_path("works").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    until("sleep is allowed again", || stage.note("over") == "over\n");
    // What is left of the agent is ended by the next run.
    let ran = run(command(&stage, &["--agent", "cat >/dev/null; echo x >x.txt"], KEEPER));
    ran.ended(0);
}

#[test]
fn a_keeper_that_cannot_is_never_in_the_way() {
    for keeper in ["echo 'Failed to connect to bus' >&2; exit 1", "sleep 600", "echo what"] {
        let ran = run(command(&Stage::new("works", ONE), &[], keeper));
        assert!(!ran.ended(0).out.contains("awake") && !ran.err.contains("bus"), "{ran:?}");
    }
}

#[test]
fn nobody_is_asked_if_it_is_switched_off() {
    let stage = Stage::new("works", ONE);
    run(command(&stage, &["--no-inhibit"], KEEPER)).ended(0);
    assert_eq!(stage.note("asked"), "");
}
