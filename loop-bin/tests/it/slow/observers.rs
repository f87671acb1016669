//! The user's own observers: they get every event, and hold nothing up whatever they do.

use std::time::{Duration, Instant};

use crate::stage::{ONE, Stage, TWO, executable, is_alive, until};

fn with_observer(plan: &str, text: &str) -> Stage {
    let stage = Stage::new("works", plan);
    stage.repo.write(".ralph/observers/mine", text);
    stage.repo.chmod(".ralph/observers/mine", 0o755);
    stage.repo.commit_all("an observer");
    stage
}

/// The names of events, one a line.
fn names(lines: &str) -> Vec<String> {
    let name = |line: &str| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["event"].as_str().unwrap().to_owned()
    };
    lines.lines().map(name).collect()
}

#[test]
fn an_observer_gets_every_event_up_to_the_last() {
    let stage = with_observer(TWO, "#!/bin/sh\necho \"of $RALPH_RUN in $PWD\"\nexec cat >seen\n");
    stage.run(&["--verify", "true"]).ended(0);
    let (seen, journal) = (stage.read("seen"), stage.read(".ralph/events.jsonl"));
    let heard = names(&seen);
    for name in names(&journal) {
        assert!(heard.contains(&name), "{name} is not in {heard:?}");
    }
    assert_eq!(heard.last().map(String::as_str), Some("loop_finished"));
    assert!(journal.lines().all(|line| seen.contains(line)), "{seen}\n{journal}");
    let logs = stage.repo.root().join(".ralph/logs").read_dir_utf8().unwrap();
    let log = logs.flatten().find(|log| log.file_name().ends_with("-observer-mine.out")).unwrap();
    let said = fs_err::read_to_string(log.path()).unwrap();
    assert!(said.starts_with("of 20") && said.contains(stage.repo.root().as_str()), "{said}");
}

#[test]
fn an_observer_that_never_reads_or_ends_holds_nothing_up_and_is_killed() {
    let text = "#!/bin/sh\ntrap '' TERM\necho $$ >pid\nwhile :; do sleep 0.1; done\n";
    let stage = with_observer(ONE, text);
    let begun = Instant::now();
    let ran = stage.run(&["--verify", "true"]);
    ran.ended(0).says("the observer mine did not end within 2 s of the run, and was killed");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let pid = stage.read("pid").trim().to_owned();
    until("it is gone", || !is_alive(&pid));
}

#[test]
fn a_dead_observer_is_named_once() {
    let stage = with_observer(TWO, "#!/bin/sh\nexit 3\n");
    let ran = stage.run(&["--verify", "true"]);
    ran.ended(0);
    let all = format!("{}{}", ran.out, ran.err);
    assert_eq!(all.matches("the observer mine has ended").count(), 1, "{all}");
    stage.run(&["doctor", "--no-checks"]).says("observers/mine gets every event of a run");
    stage.repo.chmod(".ralph/observers/mine", 0o644);
    stage.run(&["doctor", "--no-checks"]).says("mine is not executable, so it gets no events");
}

#[test]
fn an_observer_ends_with_a_killed_loop() {
    let text = "#!/bin/sh\ntrap '' TERM\necho $$ >pid\nwhile :; do sleep 0.1; done\n";
    let stage = with_observer(ONE, text);
    let args = ["--verify", "true", "--agent", "sleep 60"];
    stage.killed_when(&args, "it runs", || !stage.read("pid").trim().is_empty());
    let pid = stage.read("pid").trim().to_owned();
    until("it is gone", || !is_alive(&pid));
}

#[test]
fn the_machine_is_kept_awake_while_a_run_lasts() {
    let stage = Stage::new("works", ONE);
    let script = "#!/bin/sh\necho \"$@\" >\"$AGENT_NOTES/asked\"\necho $$ >\"$AGENT_NOTES/pid\"\nexec sleep 300\n";
    executable(&stage.note_path("caffeinate"), script);
    let path = format!("{}:/usr/bin:/bin", stage.notes.root());
    let vars = [("PATH", path.as_str()), ("RALPH_KEEP_AWAKE", "true")];
    let pid = || stage.note("pid").trim().to_owned();
    stage
        .run_env(&vars, &["doctor", "--no-checks"])
        .says("this machine stays awake during a run (caffeinate)");
    assert!(pid().is_empty());
    stage.run_env(&vars, &["--verify", "true"]).ended(0);
    assert!(stage.note("asked").starts_with("-i -w "), "{}", stage.note("asked"));
    until("it is gone", || !is_alive(&pid()));
    fs_err::remove_file(stage.note_path("pid")).unwrap();
    stage.run_env(&[vars[0]], &["--verify", "true"]).ended(0);
    assert!(pid().is_empty());
}
