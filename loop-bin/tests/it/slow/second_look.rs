//! Work that passes its checks is examined further: its tests run without the change, and another
//! agent reviews it.

use crate::stage::{Ran, Stage};

const ONE: &str = "- [ ] US-001: Greet\n  - Acceptance: says hi\n";

/// Runs `tests/test_*.sh` and prints the messages of pytest.
const PYTEST: &str = r#"failed=0
for test in tests/test_*.sh; do
    sh "$test" || { echo "FAILED $test::it - assert 0"; failed=$((failed + 1)); }
done
[ "$failed" = 0 ] && { echo "===== 4 passed in 0.01s ====="; exit 0; }
echo "===== $failed failed, 1 passed in 0.01s ====="
exit 1
"#;

const CHECK: &str = "PATH=$PWD/bin:$PATH pytest";

fn stage() -> Stage {
    let stage = Stage::new("works", ONE);
    stage.repo.scratch().script("repo/bin/pytest", PYTEST);
    stage.repo.write("tests/test_old.sh", "true\n");
    stage.repo.write("greet.sh", "echo ho\n");
    stage.repo.write("old.sh", "echo old\n");
    stage.repo.commit_all("a project");
    stage
}

/// Changes the code, removes a file and adds one; the test is as given.
fn agent(test: &str) -> String {
    format!(
        "cat >/dev/null; echo 'echo hi' >greet.sh; rm -f old.sh; echo new >new.txt; \
         echo '{test}' >tests/test_new.sh"
    )
}

const GOOD: &str = r#"[ "$(sh greet.sh)" = hi ]"#;
const HOLLOW: &str = "sh greet.sh";

fn run(stage: &Stage, test: &str, args: &[&str]) -> Ran {
    stage.run(&[&["--verify", CHECK, "--agent", &agent(test)], args].concat())
}

fn body(stage: &Stage) -> String {
    stage.repo.git(["log", "-1", "--format=%B", "--grep=Ralph-Story"])
}

#[track_caller]
fn has_landed_whole(stage: &Stage) {
    stage.is_clean();
    assert_eq!(stage.read("greet.sh"), "echo hi\n");
    assert_eq!((stage.exists("old.sh"), stage.read("new.txt").as_str()), (false, "new\n"));
}

#[test]
fn tests_that_fail_without_the_change_prove_it() {
    let stage = stage();
    let ran = run(&stage, GOOD, &[]);
    ran.ended(0).says("US-001 proven: its new test fails without the change");
    has_landed_whole(&stage);
    let body = body(&stage);
    assert!(body.contains("Ralph-Proof: its new test fails without the change\n"), "{body}");
    assert!(stage.progress().contains("- Proof: its new test fails"), "{}", stage.progress());
    let report = stage.run(&["report", "--markdown"]);
    report.ended(0).says("its new test fails without the change");
}

#[test]
fn tests_that_pass_without_the_change_are_reported_or_refused() {
    let stage = stage();
    let ran = run(&stage, HOLLOW, &[]);
    ran.ended(0).says("US-001 not proven: its new tests also pass without the change");
    has_landed_whole(&stage);
    stage.run(&["status"]).ended(0).says("not proven: its new tests also pass without the change");
    let other = self::stage();
    let ran = run(&other, HOLLOW, &["--prove", "refuse", "--attempts", "1"]);
    ran.ended(8)
        .says("its new tests also pass without the change; make them fail")
        .says("tests/test_new.sh");
    other.is_clean();
    assert_eq!(other.repo.git(["show", "refs/ralph/attempts/PRD-1/US-001/1:new.txt"]), "new\n");
    let third = self::stage();
    let ran = run(&third, HOLLOW, &["--prove", "off"]);
    ran.ended(0);
    assert!(!ran.out.contains("proven"), "{}", ran.out);
}

#[test]
fn a_kill_during_the_proof_costs_nothing() {
    let stage = stage();
    // Without the change the check hangs.
    let check = r#"[ "$(sh greet.sh)" = hi ] || { touch "$AGENT_NOTES/trying"; sleep 60; }"#;
    let agent = agent(GOOD);
    let args = ["--verify", check, "--agent", &agent];
    stage.killed_when(&args, "it is tried", || stage.note_path("trying").exists());
    let ran = stage.run(&["--verify", CHECK, "--agent", "exit 1"]);
    ran.ended(0).says("US-001 proven");
    has_landed_whole(&stage);
}

/// A reviewer that records its prompt, damages a file and prints this answer.
fn reviewer(answer: &str) -> String {
    format!("cat >\"$AGENT_NOTES/asked\"; echo spoilt >greet.sh; cat <<'END'\n{answer}\nEND\n")
}

fn reviewed(stage: &Stage, answer: &str, args: &[&str]) -> Ran {
    let reviewer = reviewer(answer);
    let review = ["--review", "--review-agent", &reviewer, "--prove", "off"];
    run(stage, GOOD, &[&review[..], args].concat())
}

const BLOCKING: &str = r#"{"approve": false, "findings": [
    {"kind": "blocking", "file": "greet.sh", "line": 1, "message": "greets nobody"}]}"#;

#[test]
fn approved_work_lands_with_the_reviewers_remarks() {
    let stage = stage();
    let answer = r#"Fine. {"approve": true, "findings": [{"kind": "advice", "file": "greet.sh", "line": 1, "message": "quote it"}]}"#;
    let ran = reviewed(&stage, answer, &[]);
    ran.ended(0).says("US-001 reviewed: approved with 1 remark");
    ran.says("US-001: greet.sh:1: quote it");
    has_landed_whole(&stage);
    let asked = stage.note("asked");
    for part in ["US-001: Greet", "Acceptance: says hi", "-echo ho\n+echo hi", "4 passed"] {
        assert!(asked.contains(part), "no {part} in {asked}");
    }
    assert!(body(&stage).contains("Ralph-Review: approved with 1 remark\n"), "{}", body(&stage));
    assert!(stage.progress().contains("- Remark: greet.sh:1: quote it\n"), "{}", stage.progress());
    stage.run(&["status"]).ended(0).says("review: greet.sh:1: quote it");
}

#[test]
fn a_blocking_finding_fails_the_attempt_and_is_in_the_next_prompt() {
    let stage = stage();
    let ran = reviewed(&stage, BLOCKING, &["--attempts", "2"]);
    ran.ended(8).says("failure: the review found: greet.sh:1: greets nobody");
    stage.is_clean();
    assert_eq!(stage.read("greet.sh"), "echo ho\n");
    assert_eq!(
        stage.repo.git(["show", "refs/ralph/attempts/PRD-1/US-001/2:greet.sh"]),
        "echo hi\n"
    );
    stage.run(&["attempts", "US-001/1"]).ended(0).says("greet.sh:1: greets nobody");
    let shown = r#"grep -q "greets nobody" && echo yes >"$AGENT_NOTES/shown"; echo x >x.txt"#;
    stage.run(&["retry", "US-001"]).ended(0);
    stage.run(&["--agent", shown, "--verify", "true"]).ended(0);
    assert_eq!(stage.note("shown"), "yes\n");
}

#[test]
fn a_failed_review_is_reported_and_does_not_block_landing() {
    let garbage = stage();
    let ran = reviewed(&garbage, "Looks good to me!", &[]);
    ran.ended(0).says("US-001 not reviewed: the answer could not be understood");
    has_landed_whole(&garbage);
    let body = body(&garbage);
    assert!(body.contains("Ralph-Review: none: the answer could not be understood\n"), "{body}");
    garbage.run(&["status"]).ended(0).says("not reviewed: the answer could not be understood");
    for (reviewer, why) in [
        ("cat >/dev/null; sleep 60", "it took longer than 5 s"),
        ("cat >/dev/null; echo out of order >&2; exit 3", "the reviewer failed: out of order"),
    ] {
        let stage = stage();
        let review = ["--review", "--review-agent", reviewer, "--timeout", "5"];
        run(&stage, GOOD, &review).ended(0).says(&format!("US-001 not reviewed: {why}"));
        has_landed_whole(&stage);
    }
}

#[test]
fn changes_by_a_reviewer_do_not_reach_the_work() {
    let harm = "cat >/dev/null; echo evil >greet.sh; echo evil >evil.txt; rm -rf .git tests; \
                git init -q . && git add -A; echo '{\"approve\": true}'";
    for args in [&[][..], &["--in-place"]] {
        let stage = stage();
        let review = ["--review", "--review-agent", harm];
        let ran = run(&stage, GOOD, &[&review[..], args].concat());
        ran.ended(0).says("US-001 reviewed: approved");
        has_landed_whole(&stage);
        assert!(!stage.exists("evil.txt") && stage.exists("tests/test_new.sh"));
        let changed = stage.repo.git(["show", "--name-only", "--format=", "HEAD"]);
        assert!(!changed.contains("evil"), "{changed}");
    }
}

#[test]
fn changes_without_a_new_test_or_without_other_changes_need_no_proof() {
    let stage = stage();
    let acts = [
        "git mv tests/test_old.sh tests/test_moved.sh; echo more >more.txt",
        "chmod +x tests/test_old.sh; echo more >more.txt",
        "echo '{}' >tests/data.json; echo more >more.txt",
        "rm tests/test_gone.sh; echo code >code.sh",
        "echo 'true # more' >>tests/test_old.sh",
    ];
    for act in acts {
        let stage = self::stage();
        stage.repo.write("tests/test_gone.sh", "true\n");
        stage.repo.commit_all("one more");
        let agent = format!("cat >/dev/null; {act}");
        let ran = stage.run(&["--verify", CHECK, "--agent", &agent, "--prove", "refuse"]);
        ran.ended(0).says("US-001 done");
        assert!(!ran.out.contains("proven"), "{act}: {}", ran.out);
    }
    // Tests that hang without the change do not pass without it.
    let check = r#"[ "$(sh greet.sh)" = hi ] || sleep 60; echo '4 passed in 0.1s'"#;
    let limits = ["--verify-timeout", "2", "--prove", "refuse"];
    let ran = stage.run(&[&["--verify", check, "--agent", &agent(GOOD)], &limits[..]].concat());
    ran.ended(0).says("US-001 not proven: its new tests cannot run without the change");
}

#[test]
fn the_cost_of_a_review_is_counted() {
    let stage = stage();
    let result = r#"{"type":"result","subtype":"success","is_error":false,"session_id":"r","total_cost_usd":0.75,"usage":{"input_tokens":10,"output_tokens":5},"result":"{\"approve\": true}"}"#;
    let ran = reviewed(&stage, result, &[]);
    ran.ended(0).says("US-001 reviewed: approved").says("$0.75");
    assert!(body(&stage).contains("Ralph-Cost: $0.7500\n"), "{}", body(&stage));
    let other = self::stage();
    let ran = reviewed(&other, "{\"approve\": 1}", &["--max-cost", "0.5"]);
    ran.ended(0).says("not reviewed: the answer could not be understood");
}

#[test]
fn a_missing_reviewer_is_reported_before_the_first_story() {
    let stage = stage();
    let dry = stage.run(&["--review", "--review-agent", "true", "--dry-run"]);
    dry.ended(0).says("each story is reviewed before it lands: `true`");
    let ran = stage.run(&["--review", "--review-agent", "no-such-reviewer --now"]);
    ran.ended(1).says("the reviewer `no-such-reviewer` was not found");
    assert_eq!(stage.note("prompt-1"), "", "no agent was started");
}

#[test]
fn a_check_may_wait_for_a_ci_server() {
    let stage = stage();
    let server = stage.repo.scratch().path("server.git");
    stage.repo.git(["init", "--quiet", "--bare", server.as_str()]);
    stage.repo.git(["remote", "add", "origin", server.as_str()]);
    // The server tests a push in the background, as CI servers do.
    let hook = "#!/bin/sh\nread -r old new ref\n\
        (sleep 0.3; git show $new:new.txt >result.new 2>&1; mv result.new result-$new) \
        >/dev/null 2>&1 &\n";
    stage.repo.scratch().script("server.git/hooks/post-receive", hook);
    let wait = "set -e\n\
        server=$(git remote get-url origin)\n\
        commit=$(git commit-tree -p HEAD -m 'to be checked' \"$(git write-tree)\")\n\
        git push --quiet --force \"$server\" \"$commit:refs/heads/ci/ralph\"\n\
        until [ -f \"$server/result-$commit\" ]; do sleep 0.1; done\n\
        grep -q new \"$server/result-$commit\"\n";
    stage.repo.write("ci/wait.sh", wait);
    stage.repo.commit_all("ci");
    let ran = stage.run(&["--agent", &agent(GOOD), "--verify", "timeout 1m sh ci/wait.sh"]);
    ran.ended(0).says("US-001 done");
    has_landed_whole(&stage);
}
