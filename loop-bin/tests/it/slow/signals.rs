//! Ctrl-C and SIGTERM in every phase: exit codes, a clean tree, and no processes left.

use std::cell::Cell;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};

use std::time::Duration;

use ralph_base::linux;
use test_support::started_with;

use crate::stage::{LOOP, ONE, Stage, is_alive, signal, until};

const BOTH: [(&str, i32); 2] = [("INT", 130), ("TERM", 143)];
const ALL: [(&str, i32); 3] = [("INT", 130), ("TERM", 143), ("QUIT", 143)];

/// Starts the loop, waits until `reached`, sends the signal and returns the exit code.
fn interrupt(stage: &Stage, args: &[&str], name: &str, reached: impl Fn() -> bool) -> Option<i32> {
    let mut child = stage.start(args);
    until("the phase is reached", reached);
    signal(name, child.id());
    child.wait().unwrap().code()
}

fn continues(stage: &mut Stage) {
    stage.is_clean();
    stage.agent("works");
    stage.run(&[]).ended(0);
    assert_eq!(stage.subjects(), ["feat(US-001): First", "first"]);
    stage.is_clean();
}

#[test]
fn a_signal_while_the_agent_works_keeps_the_attempt() {
    for (name, code) in ALL {
        let mut stage = Stage::new("hangs", ONE);
        let ended = interrupt(&stage, &[], name, || stage.in_copy("half.txt"));
        assert_eq!(ended, Some(code));
        stage.run(&["attempts", "US-001"]).ended(0).says("US-001/1").says("interrupted");
        assert!(stage.progress().contains("- Status: INTERRUPTED"));
        assert_eq!(stage.discarded(), 1);
        let journal = stage.read(".ralph/events.jsonl");
        assert!(journal.contains("\"finish_type\":\"manual\""));
        assert_eq!(journal.matches("\"outcome\":\"interrupted\"").count(), 1, "{journal}");
        continues(&mut stage);
        assert_eq!(stage.read("half.txt"), "half\n", "nothing is paid for twice");
    }
}

/// The keeper of the agent is paused until the loop has searched for processes to end.
#[test]
fn an_interrupt_before_the_agent_starts_leaves_no_process() {
    let stage = Stage::new("works", ONE);
    let agent = "cat >/dev/null; echo half >half.txt; touch \"$AGENT_NOTES/begun\"; sleep 600";
    let mut child = stage.start(&["--agent", agent]);
    let notes = stage.note_path("");
    let of_stage =
        || started_with(&format!("AGENT_NOTES={}", notes.as_str().trim_end_matches('/')));
    let keeper = || {
        let is_keeper = |pid: &u32| {
            let arguments = linux::arguments(pid.cast_signed());
            arguments.get(1).is_some_and(|first| first == b"keep")
        };
        of_stage().into_iter().find(is_keeper)
    };
    // One of a git's may be gone when it is looked at again.
    let found = Cell::new(None);
    until("the keeper is there", || {
        found.set(keeper());
        found.get().is_some()
    });
    let keeper = found.get().unwrap();
    signal("STOP", keeper);
    signal("INT", child.id());
    std::thread::sleep(Duration::from_millis(500));
    signal("CONT", keeper);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(of_stage().is_empty());
    // The agent may be killed between writing the file and the note.
    let is_begun = stage.note_path("begun").exists();
    assert!(stage.discarded() == 1 || !is_begun, "what it wrote is kept");
}

#[test]
fn unrelated_signals_do_not_end_the_run() {
    let stage = Stage::new("works", ONE);
    let agent = "touch \"$AGENT_NOTES/begun\"; until [ -e \"$AGENT_NOTES/go\" ]; do sleep 0.02; done; echo x >x";
    let child = stage.start(&["--agent", agent]);
    until("the agent works", || stage.note_path("begun").exists());
    for name in ["USR1", "USR2", "ALRM", "PROF", "VTALRM", "IO"] {
        signal(name, child.id());
    }
    fs_err::write(stage.note_path("go"), "").unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    assert_eq!(stage.subjects(), ["feat(US-001): First", "first"]);
}

#[test]
fn a_signal_while_the_checks_run_keeps_the_work() {
    for (name, code) in BOTH {
        let stage = Stage::new("works", ONE);
        let begun = stage.note_path("begun");
        let check = format!("echo $$ >'{begun}'; sleep 600");
        let ended = interrupt(&stage, &["--verify", &check], name, || begun.exists());
        assert_eq!(ended, Some(code));
        until("the check is gone", || !is_alive(&stage.note("begun")));
        stage.run(&["status"]).ended(0).says("was interrupted; the next run continues it");
        is_landed_without_an_agent(&stage);
    }
}

/// The next start lands the existing work and starts no agent.
#[track_caller]
fn is_landed_without_an_agent(stage: &Stage) {
    stage.is_clean();
    let ran = stage.run(&["--agent", "touch \"$AGENT_NOTES/paid\""]);
    ran.ended(0).says("US-001 done").says("1 story landed in 1 iteration");
    assert!(!stage.note_path("paid").exists());
    assert_eq!(stage.subjects(), ["feat(US-001): First", "first"]);
    stage.is_clean();
}

#[test]
fn an_interrupt_while_hook_changes_are_checked_keeps_the_work() {
    let stage = Stage::new("works", ONE);
    stage.install_hook("pre-commit", "echo more >hooked.txt\ngit add hooked.txt");
    let begun = stage.note_path("begun");
    let check = format!("[ ! -e hooked.txt ] || {{ echo $$ >'{begun}'; sleep 600; }}");
    assert_eq!(interrupt(&stage, &["--verify", &check], "INT", || begun.exists()), Some(130));
    is_landed_without_an_agent(&stage);
}

#[test]
fn a_signal_during_the_setup_ends_it() {
    for (name, code) in BOTH {
        let mut stage = Stage::new("works", ONE);
        let setup = "setup = ['echo $$ >\"$AGENT_NOTES/begun\"; exec sleep 600']";
        stage.repo.write(".ralph/config.toml", format!("[workspace]\n{setup}\n"));
        let ended = interrupt(&stage, &[], name, || !stage.note("begun").is_empty());
        assert_eq!(ended, Some(code));
        assert!(!is_alive(&stage.note("begun")));
        let journal = stage.read(".ralph/events.jsonl");
        assert!(journal.contains("\"finish_type\":\"manual\""), "{journal}");
        stage.repo.remove(".ralph/config.toml");
        continues(&mut stage);
    }
}

/// A terminal sends Ctrl-C to the whole process group; a hook that ignores it is ended, and with
/// it the commit.
#[test]
fn a_signal_while_git_commits_keeps_the_work() {
    for (name, code) in BOTH {
        let stage = Stage::new("works", ONE);
        let wait = "trap '' INT; echo $$ >\"$AGENT_NOTES/begun\"; sleep 600";
        stage.install_hook("pre-commit", wait);
        let mut child = stage.start(&[]);
        until("git commits", || !stage.note("begun").is_empty());
        let group = format!("-{}", child.id());
        std::process::Command::new("kill").args(["-s", name, "--", &group]).status().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert!(!is_alive(&stage.note("begun")));
        assert_eq!((stage.plan().as_str(), stage.discarded()), (ONE, 1));
        stage.repo.remove(".git/hooks/pre-commit");
        is_landed_without_an_agent(&stage);
    }
}

#[test]
fn a_signal_while_a_script_runs_ends_it() {
    for name in ["started", "next_iteration", "post_iteration"] {
        for (signal, code) in BOTH {
            let mut stage = Stage::new("fails", ONE);
            let begun = stage.note_path("begun");
            stage.script(name, "echo $$ >\"$AGENT_NOTES/begun\"; sleep 600");
            stage.script("finished", "touch \"$AGENT_NOTES/finished\"");
            let ended = interrupt(&stage, &[], signal, || begun.exists());
            assert_eq!(ended, Some(code), "{name}");
            assert!(!is_alive(&stage.note("begun")));
            assert!(stage.note_path("finished").exists(), "finished runs after {name}");
            stage.repo.remove(".ralph/hooks");
            continues(&mut stage);
        }
    }
}

/// All work is done by then, but the exit code shows that a script was interrupted.
#[test]
fn a_signal_while_the_last_script_runs_sets_the_exit_code() {
    for (signal, code) in BOTH {
        let stage = Stage::new("works", ONE);
        stage.script("finished", "echo $$ >\"$AGENT_NOTES/begun\"; sleep 600");
        let ended = interrupt(&stage, &[], signal, || stage.note_path("begun").exists());
        assert_eq!(ended, Some(code));
        assert!(!is_alive(&stage.note("begun")));
        assert_eq!(stage.subjects(), ["feat(US-001): First", "first"]);
        stage.is_clean();
    }
}

#[test]
fn a_signal_while_waiting_for_the_service_ends_the_run() {
    for (signal, code) in BOTH {
        let mut stage = Stage::new("works", ONE);
        let agent = "echo 'usage limit reached, try again in 5 hours'; exit 1";
        let reached = || stage.read(".ralph/events.jsonl").contains("\"outcome\":\"quota\"");
        assert_eq!(interrupt(&stage, &["--agent", agent], signal, reached), Some(code));
        continues(&mut stage);
    }
}

/// The client exits with 0 when it is interrupted; that is not a success.
#[test]
fn an_interrupted_agent_that_exits_with_0_is_not_done() {
    let mut stage = Stage::new("works", ONE);
    let agent = "trap 'exit 0' TERM; cat >/dev/null; echo half >half.txt; sleep 600 & wait";
    let ended = interrupt(&stage, &["--agent", agent], "INT", || stage.in_copy("half.txt"));
    assert_eq!((ended, stage.plan().as_str()), (Some(130), ONE));
    continues(&mut stage);
}

/// The test process may have inherited an ignored SIGHUP, so each test sets its handling.
fn start_with_hangups(stage: &Stage, setting: &str) -> Child {
    let mut command = stage.command_of("/usr/bin/env", &[setting, LOOP]);
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn closing_the_terminal_ends_the_run() {
    let mut stage = Stage::new("hangs", ONE);
    let mut child = start_with_hangups(&stage, "--default-signal=HUP");
    until("the agent works", || stage.in_copy("half.txt"));
    signal("HUP", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(143));
    continues(&mut stage);
}

#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    let stage = Stage::new("hangs", ONE);
    let mut child = start_with_hangups(&stage, "--ignore-signal=HUP");
    until("the agent works", || stage.in_copy("half.txt"));
    signal("HUP", child.id());
    signal("INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130), "the first one that counts is the second");
}

#[test]
fn the_first_interrupt_is_reported_and_a_second_one_kills_at_once() {
    let stage = Stage::new("ignores-term", ONE);
    let child = stage.start(&["--grace", "600"]);
    until("the agent works", || !stage.note("child").is_empty());
    signal("INT", child.id());
    until("the agent is asked to end", || stage.note_path("asked").exists());
    stage.run(&["status"]).says("stopping: ").says("Stopping  now");
    signal("INT", child.id());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    assert!(!is_alive(&stage.note("child")));
    let said = String::from_utf8_lossy(&ended.stdout);
    let stopping = "stopping: the agent has 600 seconds to finish; press Ctrl-C again to kill it \
                    now";
    assert!(said.contains(stopping), "{said}");
}
