//! Several stories at once: every commit on the target was checked as it is, no story lands twice,
//! and the limits of a run apply to all its workers together.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::stage::{ONE, Stage, is_alive, signal, until};

fn plan(stories: usize) -> String {
    (1..=stories).map(|n| format!("- [ ] US-{n:03}: Story {n}\n")).collect()
}

/// An agent that sleeps for a moment and then runs `act`.
fn agent(act: &str) -> String {
    format!("cat >/dev/null; story=$(cat \"$RALPH_STORY_FILE\"); sleep 0.3; {act}")
}

const OWN_FILE: &str = "echo done >\"$story.txt\"";
const ONE_FILE: &str = "echo \"$story\" >>shared.txt";

/// The stories that landed, oldest first.
fn landed(stage: &Stage) -> Vec<String> {
    let format = "--format=%(trailers:key=Ralph-Story,valueonly=true,separator=)";
    let log = stage.repo.git(["log", "--reverse", format]);
    log.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Every story has landed once and is ticked, and no files of the loop are left.
#[track_caller]
fn complete(stage: &Stage, stories: usize) {
    let landed = landed(stage);
    let distinct: BTreeSet<&String> = landed.iter().collect();
    assert_eq!((landed.len(), distinct.len()), (stories, stories), "{landed:?}");
    assert_eq!(stage.plan().matches("[x]").count(), stories, "{}", stage.plan());
    let logged = stage.progress().matches("- Status: SUCCESS").count();
    assert_eq!(logged, stories, "{}", stage.progress());
    stage.is_clean();
    let left = stage.repo.git(["for-each-ref", "refs/ralph/begun"]);
    assert_eq!(left, "");
}

#[test]
fn each_worker_has_its_own_copy_and_every_commit_is_checked() {
    let stage = Stage::new("works", &plan(6));
    // The check records the tree that it sees.
    let check = "git write-tree >>\"$AGENT_NOTES/checked\"; \
                 echo \"$RALPH_WORKER $PWD\" >>\"$AGENT_NOTES/where\"";
    let agent = agent(&format!("echo \"$RALPH_WORKER $PWD\" >>\"$AGENT_NOTES/where\"; {OWN_FILE}"));
    stage.script("next_iteration", "echo $RALPH_WORKER >>\"$AGENT_NOTES/scripts\"");
    let ran = stage.run(&["--workers", "3", "--agent", &agent, "--verify", check]);
    ran.ended(0).says("finished (complete): 6 stories landed in 6 iterations");
    complete(&stage, 6);
    let places = stage.note("where");
    let places: BTreeSet<&str> = places.lines().collect();
    assert_eq!(places.len(), 3, "{places:?}");
    let scripts = stage.note("scripts");
    let workers: BTreeSet<&str> = scripts.lines().collect();
    assert_eq!(workers, BTreeSet::from(["1", "2", "3"]));
    let checked = stage.note("checked");
    for commit in stage.repo.git(["rev-list", "--grep=^Ralph-Story", "HEAD"]).lines() {
        // The loop makes the tick itself, so the checks need not see it.
        let files_of = |tree: &str| stage.repo.git(["ls-tree", "-r", "--name-only", tree]);
        let seen = checked.lines().any(|tree| files_of(tree) == files_of(commit));
        assert!(seen, "{commit} was not checked as it is");
    }
}

#[test]
fn a_story_starts_from_the_work_that_it_depends_on() {
    let text = "- [ ] US-001: First\n- [ ] US-002: Second (depends: US-001)\n- [ ] US-003: Third\n";
    let stage = Stage::new("works", text);
    let act = format!("[ $story != US-002 ] || [ -e US-001.txt ] || exit 1; {OWN_FILE}");
    let ran = stage.run(&["--workers", "3", "--agent", &agent(&act), "--attempts", "1"]);
    ran.ended(0).says("finished (complete)");
    complete(&stage, 3);
    let order = landed(&stage);
    let place = |story: &str| order.iter().position(|one| one == story);
    assert!(place("US-001") < place("US-002"), "{order:?}");
}

#[test]
fn conflicting_stories_all_land_and_conflicts_cost_no_attempt() {
    let stage = Stage::new("works", &plan(8));
    let ran = stage.run(&["--workers", "4", "--agent", &agent(ONE_FILE), "--attempts", "1"]);
    ran.ended(0).says("the work conflicts with work that has landed since (US-00");
    complete(&stage, 8);
    let text = stage.read("shared.txt");
    let lines: BTreeSet<&str> = text.lines().collect();
    assert_eq!((text.lines().count(), lines.len()), (8, 8), "{text}");
}

/// Two stories may merge without a conflict and still fail together.
#[test]
fn work_that_fails_only_with_other_work_costs_no_attempt() {
    let stage = Stage::new("works", &plan(8));
    let count = "mkdir -p counted; touch counted/$story; ls counted | wc -l >count.txt";
    let check = "[ \"$(cat count.txt)\" -eq \"$(ls counted | wc -l)\" ]";
    let (agent, four) = (agent(count), ["--workers", "4", "--attempts", "1"]);
    let ran = stage.run(&[&four[..], &["--agent", &agent, "--verify", check]].concat());
    ran.ended(0).says("checks failed together with the work that has landed since (US-00");
    complete(&stage, 8);
    assert_eq!(stage.read("count.txt").trim(), "8");
}

#[test]
fn the_iteration_limit_applies_to_all_workers_together() {
    let stage = Stage::new("works", &plan(9));
    let agent = agent(OWN_FILE);
    let ran = stage.run(&["--workers", "3", "--max-iterations", "4", "--agent", &agent]);
    ran.ended(0).says("finished (iteration limit): 4 stories landed in 4 iterations");
    assert_eq!(landed(&stage).len(), 4);
}

#[test]
fn status_and_report_name_the_workers() {
    let stage = Stage::committed("works", &plan(4));
    let go = stage.note_path("go");
    // The first story lands last.
    let act = format!(
        "echo $story >>\"$AGENT_NOTES/begun\"; until [ -e {go} ]; do sleep 0.05; done; \
         until [ $story != US-001 ] || [ -e \"$RALPH_ROOT/US-004.txt\" ]; do sleep 0.05; done; \
         {OWN_FILE}"
    );
    let child = stage.start(&["--workers", "2", "--agent", &agent(&act)]);
    until("two work", || stage.note("begun").lines().count() == 2);
    let status: Value = serde_json::from_str(&stage.run(&["status", "--json"]).out).unwrap();
    let under_way = status["now"]["workers"].as_array().unwrap();
    let mut stories: Vec<&str> = under_way.iter().filter_map(|one| one["story"].as_str()).collect();
    assert_eq!(status["story"], stories.join(", "));
    stories.sort_unstable();
    assert_eq!(stories, ["US-001", "US-002"]);
    for (one, name) in under_way.iter().zip(["1", "2"]) {
        assert_eq!((&one["worker"], &one["attempt"]), (&name.into(), &1.into()), "{one}");
        assert!(one["since"].is_string(), "{one}");
    }
    fs_err::write(go, "").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    let page: Value = serde_json::from_str(&stage.run(&["report", "--json"]).out).unwrap();
    let of = |key: &str| -> Vec<String> {
        let all = page["stories"].as_array().unwrap().iter();
        all.map(|done| done[key].as_str().unwrap().to_owned()).collect()
    };
    let mut expected = landed(&stage);
    expected.sort();
    assert_eq!(of("story"), expected, "in the order of the plan");
    let workers = of("worker");
    assert!(workers.iter().all(|worker| worker == "1" || worker == "2"), "{workers:?}");
    let done = format!(", worker {}: US-001 Story 1: success", workers[0]);
    stage.run(&["report", "--markdown"]).says(&done);
    stage.run(&["status", "--run", "last"]).says(&format!(", worker {})", workers[0]));
}

#[test]
fn an_interrupted_landing_is_reported_once() {
    let stage = Stage::committed("works", &plan(2));
    // The commit of the run's own files is rejected.
    stage.install_hook("commit-msg", "! grep -q '^chore(ralph)' \"$1\"");
    let agent = agent(OWN_FILE);
    let ran =
        stage.run_env(&[(super::FAULT, "land.logged")], &["--workers", "2", "--agent", &agent]);
    assert_eq!(ran.code, None, "{}", ran.out);
    stage.repo.remove(".git/hooks/commit-msg");
    stage.run(&["--agent", &agent]).ended(0);
    complete(&stage, 2);
}

#[test]
fn work_left_in_a_workers_copy_lands_with_the_next_run() {
    let stage = Stage::committed("works", &plan(2));
    // Once the other story has landed, the first worker cannot save its agent's work.
    let act = format!(
        "if [ $RALPH_WORKER = 1 ]; then \
         until ls \"$RALPH_ROOT\" | grep -q ^US-; do sleep 0.05; done; \
         echo $story >\"$AGENT_NOTES/left\"; \
         echo x >\"$RALPH_ROOT/.git/refs/ralph/attempts/PRD-1/$story\"; fi; {OWN_FILE}"
    );
    stage.run(&["--workers", "2", "--agent", &agent(&act)]).ended(1);
    let left = stage.note("left");
    let in_the_way = format!(".git/refs/ralph/attempts/PRD-1/{}", left.trim());
    fs_err::remove_file(stage.repo.root().join(in_the_way)).unwrap();
    let doctor = stage.run_env(&[("RALPH_BASELINE", "check")], &["doctor", "--verify", "true"]);
    doctor.says("the copy is in use");
    let ran = stage.run(&["--mode", "planning", "--agent", &agent("exit 1")]);
    ran.ended(1).says("the copy holds an interrupted attempt");
    // No agent has to work again.
    stage.run(&["--agent", &agent("exit 1")]).ended(0);
    complete(&stage, 2);
    assert!(stage.exists(&format!("{}.txt", left.trim())));
}

#[test]
fn a_killed_run_can_be_continued_with_fewer_workers() {
    let stage = Stage::new("works", &plan(5));
    let act = "echo half >\"$story-half.txt\"; echo $$ >>\"$AGENT_NOTES/begun\"; sleep 60";
    let begun = || stage.note("begun").lines().count() == 3;
    stage.killed_when(&["--workers", "3", "--agent", &agent(act)], "three work", begun);
    // The workers notice that the loop is gone, and end their agents.
    let agents = stage.note("begun");
    until("the agents have ended", || agents.lines().all(|pid| !is_alive(pid)));
    let ran = stage.run(&["--agent", &agent(OWN_FILE)]);
    ran.ended(0).says("finished (complete)");
    complete(&stage, 5);
    let files = stage.repo.git(["ls-files"]);
    assert_eq!(files.matches("-half.txt").count(), 3, "work goes on where it was: {files}");
}

#[test]
fn an_interrupt_reaches_all_workers_and_the_next_start_continues() {
    let stage = Stage::new("works", &plan(4));
    let act = "echo $$ >>\"$AGENT_NOTES/begun\"; sleep 60";
    let child = stage.start(&["--workers", "2", "--agent", &agent(act)]);
    until("two work", || stage.note("begun").lines().count() == 2);
    signal("INT", child.id());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    let said = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
    assert_eq!(said.matches("press Ctrl-C again").count(), 1, "{said}");
    assert!(stage.note("begun").lines().all(|pid| !is_alive(pid)));
    stage.run(&["--workers", "2", "--agent", &agent(OWN_FILE)]).ended(0);
    complete(&stage, 4);
}

#[test]
fn interrupted_work_that_waits_to_land_lands_with_the_next_start() {
    let stage = Stage::new("works", &plan(2));
    let go = stage.note_path("go");
    let act = format!(
        "echo $story >>\"$AGENT_NOTES/begun\"; until [ -e {go} ]; do sleep 0.05; done; {OWN_FILE}"
    );
    let child = stage.start(&["--workers", "2", "--agent", &agent(&act)]);
    until("two work", || stage.note("begun").lines().count() == 2);
    // The commit of the story that lands first hangs.
    stage.install_hook("pre-commit", "sleep 60");
    fs_err::write(go, "").unwrap();
    let waits = "waiting for another story to land";
    until("one waits", || stage.run(&["status"]).out.matches(waits).count() == 1);
    signal("INT", child.id());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    stage.repo.remove(".git/hooks/pre-commit");
    // No agent has to work again.
    stage.run(&["--workers", "2", "--agent", &agent("exit 1")]).ended(0);
    complete(&stage, 2);
}

#[test]
fn progress_written_while_another_story_lands_is_not_lost() {
    let stage = Stage::committed("works", &plan(2));
    // The second story fails while the commit of the first one waits for its hook.
    let wait =
        "touch \"$AGENT_NOTES/landing\"; until [ -e \"$AGENT_NOTES/failed\" ]; do sleep 0.05; done";
    stage.install_hook("pre-commit", &format!("{wait}\nsleep 1"));
    let act = format!(
        "if [ $story = US-002 ]; then until [ -e \"$AGENT_NOTES/landing\" ]; do sleep 0.05; done; \
         echo x >x.txt; touch \"$AGENT_NOTES/failed\"; exit 1; fi; {OWN_FILE}"
    );
    stage.run(&["--workers", "2", "--attempts", "1", "--agent", &agent(&act)]).ended(8);
    let progress = stage.progress();
    assert!(progress.contains("- Status: SUCCESS") && progress.contains("- Status: BLOCKED"));
    assert_eq!(progress.matches("## Iteration").count(), 2, "{progress}");
    let lessons = stage.read(".ralph/guardrails.md");
    assert!(lessons.contains("PRD-1/US-002: the agent exited"), "{lessons}");
    stage.is_clean();
}

#[test]
fn stop_lets_current_stories_land_and_starts_no_others() {
    let stage = Stage::new("works", &plan(6));
    let act = format!("echo $$ >>\"$AGENT_NOTES/begun\"; sleep 1; {OWN_FILE}");
    let child = stage.start(&["--workers", "2", "--agent", &agent(&act)]);
    until("two work", || stage.note("begun").lines().count() == 2);
    stage.run(&["stop"]).ended(0);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(landed(&stage).len(), 2);
    stage.is_clean();
}

#[test]
fn a_usage_limit_pauses_all_workers() {
    let stage = Stage::new("meets-limit", &plan(4));
    let ran = stage.run(&["--workers", "2", "--attempts", "1"]);
    ran.ended(0).says("usage limit reached; waiting");
    assert_eq!(landed(&stage).len(), 4);
}

#[test]
fn in_place_allows_only_one_worker() {
    let stage = Stage::new("works", &plan(2));
    let ran = stage.run(&["--workers", "2", "--in-place"]);
    ran.ended(1).says("with --in-place there is one tree, so one story at a time");
    stage.run(&["--workers", "0"]).ended(2).says("the minimum is 1");
}

#[test]
fn a_temporary_file_left_by_a_killed_worker_is_removed() {
    let stage = Stage::new("works", ONE);
    let left = ".git/ralph/workers/3/.attempt.json.4194303-83.tmp";
    stage.repo.write(left, "{");
    stage.run(&["--workers", "3"]).ended(0).says("1 story landed");
    assert!(!stage.exists(left));
}
