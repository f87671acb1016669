//! The checks run before the first story, so that a broken project is found before any agent is
//! paid for.

use crate::stage::{Ran, Stage, TWO};

/// A stand-in for pytest that reports the names in `failing.txt` as failed tests.
const PYTEST: &str = r#"#!/bin/sh
echo "collected 2 items"
if [ -s failing.txt ]; then
    while read -r name; do echo "FAILED test_a.py::$name - assert 0"; done <failing.txt
    echo "===== $(wc -l <failing.txt) failed, 1 passed in 0.01s ====="
    exit 1
fi
echo "===== 2 passed in 0.01s ====="
"#;

fn stage(failing: &str) -> Stage {
    let stage = Stage::new("works", TWO);
    write_runner(&stage, PYTEST);
    stage.repo.write("failing.txt", failing);
    stage.repo.commit_all("a project with tests");
    stage
}

fn write_runner(stage: &Stage, script: &str) {
    stage.repo.write("bin/pytest", script);
    stage.repo.chmod("bin/pytest", 0o755);
}

/// Runs as users do, with the baseline checks enabled.
fn run(stage: &Stage, args: &[&str]) -> Ran {
    let mut command = stage.command(args);
    command.env_remove("RALPH_BASELINE");
    command.output().expect("the loop runs").into()
}

const CHECK: [&str; 2] = ["--verify", "PATH=$PWD/bin:$PATH pytest"];

#[test]
fn failing_checks_stop_the_run_before_any_agent() {
    let stage = stage("test_old\n");
    let ran = run(&stage, &CHECK);
    ran.ended(9).says("failed with exit code 1 before any changes");
    ran.says("failing: test_a.py::test_old").says("--baseline=ignore").says("nothing was spent");
    assert_eq!(stage.note("prompt-1"), "", "no agent was started");
    assert_eq!(stage.subjects().first().map(String::as_str), Some("a project with tests"));
    assert!(stage.read(".ralph/events.jsonl").contains("\"finish_type\":\"error\""));
    run(&stage, &[&CHECK[..], &["--baseline", "skip", "--attempts", "1"]].concat()).ended(8);
}

#[test]
fn earlier_failures_do_not_count_with_baseline_ignore() {
    let stage = stage("test_old\n");
    let ran = run(&stage, &[&CHECK[..], &["--baseline=ignore"]].concat());
    ran.ended(0).says("ignored: 1 test fails already").says("US-002 done");
    assert!(!ran.out.contains("; failing:"), "lines stay lines: {}", ran.out);
    assert_eq!(ran.out.matches(", still failing (ignored): `").count(), 2, "{}", ran.out);
    assert_eq!(ran.out.matches(" still failing (ignored): `").count(), 3, "{}", ran.out);
    let body = stage.repo.git(["log", "--format=%B"]);
    assert!(body.contains("Ralph-Checks: PATH=$PWD/bin:$PATH pytest (failed as before)"), "{body}");
}

#[test]
fn new_failures_count_with_baseline_ignore() {
    let breaks = "cat >/dev/null; echo work >work.txt; echo test_new >>failing.txt";
    let fixes_and_breaks = "cat >/dev/null; if [ -s failing.txt ]; then : >failing.txt; \
                            else echo test_old >failing.txt; fi; echo more >>work.txt";
    for (agent, said) in [
        (breaks, "FAILED test_a.py::test_new"),
        // A fixed test may not fail again.
        (fixes_and_breaks, "US-001 done"),
    ] {
        let stage = stage("test_old\n");
        let args = ["--baseline=ignore", "--attempts", "1", "--agent", agent];
        let ran = run(&stage, &[&CHECK[..], &args].concat());
        ran.ended(8).says(said).says("US-002 is blocked");
        assert!(!stage.read("failing.txt").contains("test_new"));
    }
}

#[test]
fn a_check_that_runs_no_tests_does_not_pass() {
    let stage = stage("");
    write_runner(&stage, "#!/bin/sh\necho '===== no tests ran in 0.01s ====='\n");
    stage.repo.commit_all("no tests");
    let ran = run(&stage, &[&CHECK[..], &["--attempts", "1"]].concat());
    ran.ended(8).says("runs no tests yet").says("ran no test");
    run(&stage, &["retry", "US-001"]).ended(0);
    run(&stage, &[&CHECK[..], &["--allow-no-tests"]].concat()).says("US-001 done");
}

#[test]
fn doctor_runs_the_checks_unless_asked_not_to() {
    let stage = stage("test_old\n");
    let doctor = |args: &[&str]| run(&stage, &[&["doctor"], &CHECK[..], args].concat());
    doctor(&[]).ended(1).says("PROBLEM").says("failing: test_a.py::test_old");
    doctor(&["--no-checks"]).ended(0);
    stage.repo.write("failing.txt", "");
    stage.repo.commit_all("green");
    doctor(&[]).ended(0).says("passes before any changes");
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn a_forecast_is_based_on_earlier_stories() {
    let mut stage = stage("");
    stage.agent("client");
    let limited = [&CHECK[..], &["--max-cost", "9"]].concat();
    run(&stage, &[&limited[..], &["--max-iterations", "1"]].concat()).ended(0).says(
        "forecast: 2 stories; no earlier story here to estimate from; the run stops at $9.00",
    );
    let dry = run(&stage, &[&limited[..], &["--dry-run"]].concat());
    let expected = ["forecast: 1 story, about ", " s and $0.25, going by 1 earlier story here"];
    dry.ended(0).says(expected[0]).says(expected[1]).says("pytest` (took ").says(" s last time)");
    run(&stage, &limited).ended(0).says(expected[0]).says(expected[1]);
    let events = stage.read(".ralph/events.jsonl");
    assert!(events.contains(r#""event":"forecast","stories":1,"based_on":1"#), "{events}");
    assert!(events.contains(r#""ended":"passed","passed":2,"failed":0"#), "{events}");
}
