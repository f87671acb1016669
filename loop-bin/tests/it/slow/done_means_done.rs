//! What landed is called by what is known about it: no test, the user's tests as they were, stories of the
//! agent's own, questions, and checks that come with the work.

use test_support::until;

use crate::stage::{ONE, Ran, Stage, TWO};

/// Runs `test_*.sh` and prints the messages of pytest.
const PYTEST: &str = r#"#!/bin/sh
failed=0; passed=0
for test in tests/test_*.sh; do
    [ -e "$test" ] || continue
    if sh "$test"; then passed=$((passed + 1)); else echo "FAILED $test::it - assert 0"; failed=$((failed + 1)); fi
done
[ "$passed$failed" = 00 ] && { echo "===== no tests ran in 0.01s ====="; exit 5; }
[ "$failed" = 0 ] && { echo "===== $passed passed in 0.01s ====="; exit 0; }
echo "===== $failed failed, $passed passed in 0.01s ====="
exit 1
"#;

const CHECK: [&str; 2] = ["--verify", "PATH=$PWD/bin:$PATH pytest"];

fn stage(plan: &str, tests: &[&str]) -> Stage {
    let stage = Stage::new("works", plan);
    stage.repo.scratch().script("repo/bin/pytest", PYTEST);
    stage.repo.write("price.sh", "echo 3\n");
    for name in tests {
        stage.repo.write(format!("tests/test_{name}.sh"), "[ \"$(sh price.sh)\" = 3 ]\n");
    }
    stage.repo.commit_all("a project");
    stage
}

/// Runs with the checks before the first story, and an agent that does this.
fn run(stage: &Stage, agent: &str, args: &[&str]) -> Ran {
    let agent = format!("cat >>\"$AGENT_NOTES/prompts\"; {agent}");
    let mut command = stage.command(&[&CHECK[..], &["--agent", &agent], args].concat());
    command.env_remove("RALPH_BASELINE").output().expect("the loop runs").into()
}

#[test]
fn a_suite_without_a_test_proves_nothing_done() {
    let stage = stage(TWO, &[]);
    let work = "echo work >>\"$(cat $RALPH_STORY_FILE).txt\"";
    let ran = run(&stage, work, &["--attempts", "1"]);
    ran.ended(8).says("runs no tests yet").says("US-001 is blocked").says("ran no test");
    assert!(!ran.out.contains(" done: "), "{}", ran.out);
    let noted = self::stage("- [ ] US-001: First (no tests)\n", &[]);
    let ran = run(&noted, work, &[]);
    ran.ended(0)
        .says("US-001 done")
        .says("1 to review (US-001); review 1 story")
        .says("no test ran");
    let again = self::stage("- [ ] US-001: First (no tests)\n", &[]);
    run(&again, work, &["--strict"]).ended(8);
}

#[test]
fn the_users_tests_as_they_were_are_run_once_more() {
    let stage = stage(ONE, &["a", "b"]);
    let cheat = "echo 'echo 4' >price.sh; rm -f tests/test_a.sh; \
                 echo '[ \"$(sh price.sh)\" = 4 ]' >tests/test_b.sh; echo true >tests/test_new.sh";
    let ran = run(&stage, cheat, &["--attempts", "1"]);
    let why = "tests that were there before do not pass as they were: tests/test_a.sh::it, tests/test_b.sh::it";
    ran.ended(8).says(why);
    let other = self::stage(ONE, &["a"]);
    let change = "echo 'echo 4' >price.sh; echo '[ \"$(sh price.sh)\" = 4 ]' >tests/test_a.sh";
    let ran = run(&other, change, &["--attempts", "2"]);
    // The agent was told, and stands by it.
    ran.ended(0)
        .says("US-001: tests that were there before")
        .says("to review")
        .says("review 1 story");
    assert!(other.note("prompts").contains("do not pass as they were: tests/test_a.sh::it"));
    let body = other.repo.git(["log", "-1", "--format=%B", "--grep=Ralph-Story"]);
    assert!(body.contains("\nRalph-Done: to review\n"), "{body}");
    other.is_clean();
}

#[test]
fn stories_of_the_agents_own_wait_until_a_person_accepts_them() {
    let stage = stage(ONE, &["a"]);
    let agent = "story=$(cat $RALPH_STORY_FILE); echo x >$story.txt; \
                 echo \"- [x] US-$(wc -l <\"$PLAN_PATH\")99: More\" >>\"$PLAN_PATH\"";
    let ran = run(&stage, agent, &[]);
    ran.ended(0).says("needs you: US-199 waits to be accepted: More (added by the agent)");
    assert!(stage.plan().contains("- [?] US-199: More (added by the agent)\n"), "{}", stage.plan());
    stage.run(&["retry", "US-199"]).ended(0);
    run(&stage, "echo y >y.txt", &[]).ended(0).says("US-199 done");
}

#[test]
fn a_question_sets_the_story_aside_and_its_answer_reopens_it_during_the_run() {
    let stage = stage(TWO, &["a"]);
    let agent = "case $(cat $RALPH_STORY_FILE) in \
                 US-001) if grep -q 'The answer: in euros' \"$AGENT_NOTES/prompts\"; then echo x >x.txt; \
                         else echo 'Which currency should it be?'; fi;; \
                 *) while [ ! -e \"$AGENT_NOTES/go\" ]; do sleep 0.1; done; echo y >y.txt;; esac";
    let agent = format!("cat >>\"$AGENT_NOTES/prompts\"; {agent}");
    let child = stage.start(&[&CHECK[..], &["--agent", &agent]].concat());
    let asks = "answer it with `ralph-loop answer US-001";
    until("it is asked", || stage.run(&["status"]).out.contains(asks));
    stage.run(&["answer", "US-002", "no"]).ended(1).says("no agent has asked about US-002");
    stage.run(&["answer", "US-001", "in euros"]).ended(0).says("US-001 is open again");
    std::fs::write(stage.note_path("go"), "").unwrap();
    let ran: Ran = child.wait_with_output().unwrap().into();
    ran.ended(0).says("the agent asks: Which currency should it be?").says("US-001 done");
    assert!(stage.note("prompts").contains("You asked: Which currency should it be?"));
}

#[test]
fn checks_that_come_with_the_work_hold_from_the_next_story_on() {
    let plan = "- [ ] US-001: First\n- [ ] US-002: Second\n";
    let stage = Stage::committed("works", plan);
    let agent = "cat >/dev/null; story=$(cat $RALPH_STORY_FILE); echo x >$story.txt; \
                 mkdir -p .github/workflows; echo 'echo checked >>\"$AGENT_NOTES/checked\"' >run_tests.sh; \
                 printf 'on: [push]\\njobs:\\n  test:\\n    steps:\\n      - run: sh run_tests.sh\\n' \
                 >.github/workflows/ci.yml";
    let ran = stage.run(&["--agent", agent]);
    ran.ended(0).says("from the next story on, `sh run_tests.sh` must pass");
    ran.says("US-002: checking with sh run_tests.sh").says("1 unchecked (US-001); review");
    assert_eq!(stage.note("checked"), "checked\n");
}
