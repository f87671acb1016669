//! Several machines and one git server: every story lands once, whoever dies, comes back, is cut off or
//! is faster.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use camino::Utf8PathBuf;
use test_support::{Scratch, TestRepo, fixtures, program};

use crate::stage::{LOOP, Ran, signal, until};

const PLAN: &str = "IMPLEMENTATION_PLAN.md";
const OWN_FILE: &str = "echo done >\"$story.txt\"";

struct Fleet {
    /// Where the user works.
    user: TestRepo,
    notes: Scratch,
}

fn agent(act: &str) -> String {
    format!("cat >/dev/null; story=$(cat \"$RALPH_STORY_FILE\"); {act}")
}

impl Fleet {
    /// A server with a plan of so many stories, and so many clones of it.
    fn new(stories: usize, machines: usize) -> Self {
        let user = TestRepo::new();
        user.introduce_user();
        let plan: String = (1..=stories).map(|n| format!("- [ ] US-{n:03}: Story {n}\n")).collect();
        user.write(PLAN, plan);
        user.write(".ralph/.gitignore", "*\n");
        user.commit_all("plan");
        let fleet = Self { user, notes: Scratch::new() };
        let server = fleet.server();
        fleet.user.git(["init", "-q", "--bare", "-b", "main", server.as_str()]);
        fleet.user.git(["remote", "add", "origin", server.as_str()]);
        fleet.user.git(["push", "-q", "origin", "main"]);
        for machine in 0..machines {
            let clone = fleet.machine(machine);
            fleet.user.git(["clone", "-q", server.as_str(), clone.as_str()]);
        }
        fleet
    }

    fn server(&self) -> Utf8PathBuf {
        self.user.scratch().path("server.git")
    }

    fn machine(&self, machine: usize) -> Utf8PathBuf {
        self.user.scratch().path(&format!("machine-{machine}"))
    }

    fn command(&self, machine: usize, args: &[&str]) -> Command {
        // Each has a home of its own, as machines do.
        let home = self.user.scratch().path(&format!("home-{machine}"));
        let mut command = program(LOOP, &home);
        fs_err::create_dir_all(&home).unwrap();
        fs_err::write(home.join(".gitconfig"), "[user]\nname = M\nemail = m@example.com\n")
            .unwrap();
        command
            .args(args)
            .current_dir(self.machine(machine))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("RALPH_BASELINE", "skip")
            .env("RALPH_FLEET", "origin")
            .env("RALPH_LEASE", "4")
            .env("NOTES", self.notes.root())
            .env("CLAUDECODE", "1");
        command
    }

    fn run(&self, machine: usize, args: &[&str]) -> Ran {
        self.command(machine, args).output().expect("the loop runs").into()
    }

    fn start(&self, machine: usize, args: &[&str]) -> Child {
        let mut command = self.command(machine, args);
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the loop starts")
    }

    fn at_server(&self, args: &[&str]) -> String {
        self.user.git_in(self.server().as_std_path(), args)
    }

    fn refs(&self, below: &str) -> Vec<String> {
        let listed = self.at_server(&["for-each-ref", "--format=%(refname)", below]);
        listed.lines().map(str::to_owned).collect()
    }

    fn has_note(&self, name: &str) -> bool {
        self.notes.path(name).exists()
    }

    /// Every story landed once and is ticked, and the progress has it once.
    #[track_caller]
    fn complete(&self, stories: usize) {
        let format = "--format=%(trailers:key=Ralph-Story,valueonly=true,separator=)";
        let log = self.at_server(&["log", format, "main"]);
        let landed: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
        let distinct: BTreeSet<&&str> = landed.iter().collect();
        assert_eq!((landed.len(), distinct.len()), (stories, stories), "{landed:?}");
        let plan = self.at_server(&["show", &format!("main:{PLAN}")]);
        assert_eq!(plan.matches("[x]").count(), stories, "{plan}");
        let progress = self.at_server(&["show", "main:progress.md"]);
        assert_eq!(progress.matches("- Status: SUCCESS").count(), stories, "{progress}");
        assert_eq!(self.refs("refs/ralph/fleet/main/claims"), [""; 0]);
    }

    fn hook(&self, name: &str, text: &str) {
        let path = self.server().join("hooks").join(name);
        self.user.scratch().file(path.as_str(), format!("#!/bin/sh\n{text}\n"));
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs_err::set_permissions(path, mode).unwrap();
    }
}

fn ended(child: Child) -> Ran {
    child.wait_with_output().expect("it was started").into()
}

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
