//! Several machines and one git server: every story lands once, whoever dies, comes back, is cut off or
//! is faster.

use std::collections::BTreeSet;
use std::process::Child;

use crate::fleet_stage::{Fleet, OWN_FILE, PLAN, agent, ended};
use crate::stage::{Ran, signal, until};

#[test]
fn every_story_lands_once_whichever_machine_does_it() {
    let fleet = Fleet::new(6, 3);
    let agent = agent(&format!("sleep 0.5; {OWN_FILE}"));
    let args = ["--agent", &agent, "--verify", "test -e README || true"];
    let machines: Vec<Child> = (0..3).map(|machine| fleet.start(machine, &args)).collect();
    for machine in machines {
        ended(machine).ended(0).says("6 of 6 stories done");
    }
    fleet.complete(6);
    assert_eq!(fleet.refs("refs/ralph/fleet/main/machines").len(), 3);
    // The user's own clone is left alone, and so are the machines' checkouts.
    let clean = fleet.user.git_in(fleet.machine(0).as_std_path(), ["status", "--porcelain"]);
    assert_eq!(clean, "");
}

#[test]
fn the_story_of_a_machine_that_vanished_is_taken_over() {
    let fleet = Fleet::new(2, 2);
    let hangs = agent("touch \"$NOTES/working\"; sleep 600");
    let mut first = fleet.start(0, &["--agent", &hangs]);
    until("the first one works", || fleet.has_note("working"));
    let claims = fleet.refs("refs/ralph/fleet/main/claims");
    assert_eq!(claims.len(), 1);
    signal("KILL", first.id());
    first.wait().unwrap();
    let works = agent(OWN_FILE);
    fleet.run(1, &["--agent", &works]).ended(0).says("2 of 2 stories done");
    let status = fleet.run(1, &["fleet", "status"]);
    status.ended(0).says("2 machines, 0 at work").says(": gone").says(": ended (complete);");
    // What it had begun is not lost, and the story is not done twice.
    fleet.run(0, &["--agent", &works]).ended(0).says("2 of 2 stories done");
    fleet.complete(2);
}

#[test]
fn work_on_a_story_that_another_machine_has_done_is_kept_and_not_landed() {
    let fleet = Fleet::new(1, 2);
    let waits = "touch \"$NOTES/working\"; while ! [ -e \"$NOTES/go\" ]; do sleep 0.1; done";
    let first = fleet.start(0, &["--agent", &agent(&format!("{OWN_FILE}; {waits}"))]);
    until("the first one works", || fleet.has_note("working"));
    // Somebody lands the story meanwhile, tick and all.
    fleet.user.write(PLAN, "- [x] US-001: Story 1\n");
    fleet.user.commit_all("by hand");
    fleet.user.git(["push", "-q", "origin", "main"]);
    fleet.notes.file("go", "");
    ended(first).ended(0).says("the fleet has done the story meanwhile");
    assert_eq!(
        fleet.refs("refs/ralph/fleet/main/attempts"),
        ["refs/ralph/fleet/main/attempts/US-001/1"]
    );
    let subjects = fleet.at_server(&["log", "--format=%s", "main"]);
    assert!(!subjects.contains("feat(US-001)"), "{subjects}");
}

#[test]
fn a_push_whose_answer_is_lost_is_not_made_twice() {
    let fleet = Fleet::new(3, 2);
    // The first push of a commit, and that of a claim, arrive, and the connection breaks right then.
    let script = "while read -r old new ref; do\n\
                  case $ref in refs/heads/main) note=main;; refs/ralph/fleet/*/claims/*) note=claim;; \
                  *) continue;; esac\n\
                  mkdir \"$GIT_DIR/lost-$note\" 2>/dev/null && kill -9 $PPID\n\
                  done; true";
    fleet.hook("post-receive", script);
    let args = ["--agent", &agent(OWN_FILE)];
    let machines: Vec<Child> = (0..2).map(|machine| fleet.start(machine, &args)).collect();
    for machine in machines {
        ended(machine).ended(0);
    }
    for note in ["lost-main", "lost-claim"] {
        assert!(fleet.server().join(note).exists(), "{note}");
    }
    fleet.complete(3);
}

#[test]
fn a_machine_that_is_killed_at_any_point_goes_on_where_it_was() {
    for fault in
        ["fleet.looked:2", "fleet.push:2", "fleet.push:3", "fleet.pushed:2", "fleet.pushed:3"]
    {
        let fleet = Fleet::new(2, 1);
        // A heart that beats would come to these points at any time.
        let args = ["--agent", &agent(OWN_FILE), "--lease", "600"];
        let mut command = fleet.command(0, &args);
        let killed: Ran = command.env("RALPH_INTERNAL__FAULT", fault).output().unwrap().into();
        assert_eq!(killed.code, None, "{fault}: {}", killed.out);
        fleet.run(0, &args).ended(0).says("2 of 2 stories done");
        fleet.complete(2);
    }
}

#[test]
fn a_server_that_cannot_be_reached_is_waited_for() {
    let fleet = Fleet::new(2, 1);
    let waits = "touch \"$NOTES/working\"; while ! [ -e \"$NOTES/go\" ]; do sleep 0.1; done";
    let machine = fleet.start(0, &["--agent", &agent(&format!("{OWN_FILE}; {waits}"))]);
    until("it works", || fleet.has_note("working"));
    let away = fleet.user.scratch().path("away.git");
    fs_err::rename(fleet.server(), &away).unwrap();
    fleet.notes.file("go", "");
    std::thread::sleep(std::time::Duration::from_secs(6));
    fs_err::rename(&away, fleet.server()).unwrap();
    ended(machine)
        .ended(0)
        .says("origin cannot be reached; trying again for 30 m")
        .says("landing on main of origin")
        .says("origin can be reached again");
    fleet.complete(2);
}

#[test]
fn a_server_that_takes_nothing_but_branches_will_do() {
    let fleet = Fleet::new(2, 2);
    fleet.hook("update", "case $1 in refs/heads/*) exit 0;; *) echo only branches; exit 1;; esac");
    let args = ["--agent", &agent(OWN_FILE)];
    let machines: Vec<Child> = (0..2).map(|machine| fleet.start(machine, &args)).collect();
    for machine in machines {
        ended(machine).ended(0);
    }
    fleet.complete(2);
    assert_eq!(fleet.refs("refs/heads/ralph-fleet/main/machines").len(), 2);
    fleet.run(0, &["fleet", "status", "--json"]).ended(0).says("\"state\": \"complete\"");
}

#[test]
fn attempts_count_wherever_they_were_made_and_outlive_their_machine() {
    let fleet = Fleet::new(1, 2);
    let act = "if mkdir \"$NOTES/once\"; then echo bad >bad.txt; else touch \"$NOTES/again\"; \
               sleep 600; fi";
    let args = ["--agent", &agent(act), "--verify", "! test -e bad.txt", "--attempts", "2"];
    let mut first = fleet.start(0, &args);
    until("the second attempt", || fleet.has_note("again"));
    signal("KILL", first.id());
    first.wait().unwrap();
    let args = ["--agent", &agent("echo bad >bad.txt"), "--verify", "! test -e bad.txt"];
    let ran = fleet.run(1, &[&args[..], &["--attempts", "2"]].concat());
    ran.ended(8).says("US-001 is blocked: gave up after 2 failed attempts");
    let kept =
        ["refs/ralph/fleet/main/attempts/US-001/1", "refs/ralph/fleet/main/attempts/US-001/2"];
    assert_eq!(fleet.refs("refs/ralph/fleet/main/attempts"), kept);
    let plan = fleet.at_server(&["show", &format!("main:{PLAN}")]);
    assert!(plan.contains("[!]"), "{plan}");
}

#[test]
fn stories_that_touch_one_file_all_land() {
    let fleet = Fleet::new(6, 3);
    let agent = agent("sleep 0.2; echo \"$story\" >>shared.txt");
    let args = ["--agent", &agent];
    let machines: Vec<Child> = (0..3).map(|machine| fleet.start(machine, &args)).collect();
    for machine in machines {
        ended(machine).ended(0);
    }
    fleet.complete(6);
    let lines = fleet.at_server(&["show", "main:shared.txt"]);
    assert_eq!(lines.lines().collect::<BTreeSet<_>>().len(), 6, "{lines}");
}

#[test]
fn a_machine_that_was_killed_goes_on_in_its_fleet_whatever_it_is_started_with() {
    let fleet = Fleet::new(2, 1);
    let agent = agent(OWN_FILE);
    let alone = |args: &[&str]| {
        let mut command =
            fleet.command(0, &[&["--agent", &agent, "--lease", "600"], args].concat());
        command.env_remove("RALPH_FLEET");
        command
    };
    let mut killed = alone(&["--fleet", "origin"]);
    let killed: Ran =
        killed.env("RALPH_INTERNAL__FAULT", "fleet.pushed:3").output().unwrap().into();
    assert_eq!(killed.code, None, "{}", killed.out);
    let ran: Ran = alone(&[]).output().unwrap().into();
    ran.ended(0).says("landing on main of origin").says("2 of 2 stories done");
    ran.says("`git pull origin main` where main is checked out");
    fleet.complete(2);
}
