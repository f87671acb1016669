//! What people see of a fleet: what it refuses, how it ends, what it reports, and how they take part.

use std::process::{Child, Command};

use test_support::fixtures;

use crate::fleet_stage::{Fleet, OWN_FILE, PLAN, agent, ended};

#[test]
fn what_cannot_work_is_said_before_the_first_story() {
    let fleet = Fleet::new(1, 1);
    let agent = agent(OWN_FILE);
    let run = |more: &[&str]| fleet.run(0, &[&["--agent", &agent], more].concat());
    run(&["--branch", "other"]).ended(1).says("origin has no branch other; push it with");
    run(&["--workers", "2"]).ended(2).says("start it once for each in clones of their own");
    run(&["--in-place"]).ended(2).says("start without --in-place");
    run(&["--lease", "1"]).ended(2).says("--lease is too short");
    let unknown = run(&["--fleet", "nowhere"]);
    unknown.ended(1).says("nowhere cannot be reached: 'nowhere' does not appear to be a git repo");
    unknown.says("`git ls-remote nowhere` must work");
    fs_err::write(fleet.machine(0).join("prd.md"), "- [ ] US-001: Mine\n").unwrap();
    run(&["--plan", "prd.md"]).ended(1).says("prd.md is not on main of origin");
    assert_eq!(fleet.refs("refs/ralph"), [""; 0]);
}

#[test]
fn a_fleet_ends_though_a_story_is_given_up() {
    let fleet = Fleet::new(3, 2);
    let check = "! test -e US-002.txt";
    let args = ["--agent", &agent(OWN_FILE), "--verify", check, "--attempts", "1"];
    let machines: Vec<Child> = (0..2).map(|machine| fleet.start(machine, &args)).collect();
    for machine in machines {
        ended(machine).ended(8).says("1 blocked (US-002)");
    }
    let plan = fleet.at_server(&["show", &format!("main:{PLAN}")]);
    assert_eq!((plan.matches("[x]").count(), plan.matches("[!]").count()), (2, 1), "{plan}");
    // What was tried can be looked at from either.
    for machine in 0..2 {
        fleet.run(machine, &["attempts", "US-002"]).ended(0).says("US-002.txt");
    }
}

#[test]
fn a_machine_that_comes_too_late_changes_nothing() {
    let fleet = Fleet::new(2, 2);
    let args = ["--agent", &agent(OWN_FILE)];
    fleet.run(0, &args).ended(0);
    fs_err::write(fleet.machine(1).join(PLAN), "- [ ] US-001: Story 1\n- [ ] US-9: Mine\n")
        .unwrap();
    let late = fleet.run(1, &args);
    late.ended(0)
        .says("has lines here that it does not have there; to add them, commit and push it");
    let detached =
        fleet.user.git_in(fleet.machine(1).as_std_path(), ["checkout", "-q", "--detach"]);
    assert_eq!(detached, "");
    let report = fleet.run(1, &["report", "--markdown", "--branch", "main"]);
    report.ended(0).says("2 stories done");
    fleet.complete(2);
}

#[test]
fn fleets_on_two_branches_of_a_server_have_nothing_to_do_with_each_other() {
    let fleet = Fleet::new(2, 2);
    fleet.user.git(["push", "-q", "origin", "main:refs/heads/side/b"]);
    // The first story fails on one of them.
    let check = "! test -e US-001.txt";
    let args = ["--agent", &agent(OWN_FILE), "--verify", check, "--attempts", "1"];
    let blocked = fleet.start(0, &args);
    let args = ["--agent", &agent(OWN_FILE), "--branch", "side/b"];
    let other = fleet.start(1, &args);
    ended(blocked).ended(8).says("1 of 2 stories done, 1 blocked (US-001)");
    ended(other).ended(0).says("2 of 2 stories done");
    let plan = |branch: &str| fleet.at_server(&["show", &format!("{branch}:{PLAN}")]);
    assert_eq!(plan("main").matches("[!]").count(), 1, "{}", plan("main"));
    assert_eq!(plan("side/b").matches("[x]").count(), 2, "{}", plan("side/b"));
    fleet.run(1, &["status"]).ended(0).says("complete: 2 done, 0 open");
    let status = fleet.run(0, &["fleet", "status", "--branch", "side/b"]);
    status.ended(0).says("side/b of origin: 1 machine, 0 at work").says("2 stories landed");
    fleet.run(1, &["fleet", "status"]).ended(0).says("side/b of origin: 1 machine");
    let report = fleet.run(1, &["report", "--markdown"]);
    report.ended(0).says("2 stories done");
}

#[test]
fn what_a_person_asks_for_reaches_the_agent_from_a_new_clone_too() {
    let fleet = Fleet::new(1, 2);
    let fails = ["--agent", &agent("echo try >>tried.txt; exit 1"), "--attempts", "2"];
    fleet.run(0, &fails).ended(8);
    let clone = fleet.machine(1);
    fleet.user.git_in(clone.as_std_path(), ["pull", "-q"]);
    fleet.run(1, &["retry", "US-001", "--hint", "mind the gap"]).ended(0).says("open again");
    let reads = "cat >\"$NOTES/prompt\"; story=US-001; ";
    fleet.run(1, &["--agent", &format!("{reads}{OWN_FILE}")]).ended(0);
    assert!(fleet.notes.read("prompt").contains("mind the gap"), "{}", fleet.notes.read("prompt"));
}

#[test]
fn what_the_manual_says_removes_all_of_a_fleet_and_nothing_else() {
    let fleet = Fleet::new(1, 1);
    let manual = fs_err::read_to_string(fixtures().join("../docs/fleet.md")).unwrap();
    let command = manual.lines().find(|line| line.starts_with("git ls-remote")).unwrap();
    fleet.run(0, &["--agent", &agent(OWN_FILE)]).ended(0);
    let main = fleet.at_server(&["rev-parse", "main"]);
    fleet.user.write("mine.txt", "mine\n");
    fleet.user.commit_all("not to be pushed");
    for _ in 0..2 {
        let mut shell = Command::new("sh");
        shell.args(["-ec", command]).current_dir(fleet.user.root()).envs(fleet.user.isolation());
        let ran = shell.output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        assert_eq!(fleet.refs("refs/ralph"), [""; 0]);
        assert_eq!(fleet.at_server(&["rev-parse", "main"]), main);
    }
}

#[test]
fn a_report_of_all_machines_can_be_had_in_any_clone() {
    let fleet = Fleet::new(4, 2);
    let act = format!("sleep 0.5; mkdir \"$NOTES/once\" 2>/dev/null && exit 0; {OWN_FILE}");
    let args = ["--agent", &agent(&act), "--verify", "true"];
    let machines: Vec<Child> = (0..2).map(|machine| fleet.start(machine, &args)).collect();
    for machine in machines {
        ended(machine).ended(0);
    }
    let clone = fleet.machine(2);
    fleet.user.git(["clone", "-q", fleet.server().as_str(), clone.as_str()]);
    let report = fleet.run(2, &["report", "--markdown"]);
    report.ended(0).says("4 stories done, nothing needs you");
    for story in 1..=4 {
        report.says(&format!("US-{story:03}: Story {story}"));
    }
    // All of it is undone by what it says, whichever machine landed first.
    let (_, rest) = report.out.split_once("```sh\n").expect("how to undo it");
    let (undo, _) = rest.split_once("```").expect("an end");
    let mut shell = Command::new("sh");
    shell.args(["-ec", undo]).current_dir(&clone).envs(fleet.user.isolation());
    shell.env("GIT_AUTHOR_NAME", "M").env("GIT_AUTHOR_EMAIL", "m@example.com");
    shell.env("GIT_COMMITTER_NAME", "M").env("GIT_COMMITTER_EMAIL", "m@example.com");
    let undone = shell.output().unwrap();
    assert!(undone.status.success(), "{undone:?}");
    assert!(!clone.join("US-001.txt").exists() && !clone.join("US-004.txt").exists());
}
